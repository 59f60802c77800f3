// Element types that C++ has none of: half precision and bfloat16.
#pragma once
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>

#include "abi.h"
#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace OPWEAVE_HIDDEN opweave {
namespace detail {
OPWEAVE_HOST_DEVICE inline uint32_t float_bits(float f) {
  uint32_t u;
  std::memcpy(&u, &f, 4);
  return u;
}
OPWEAVE_HOST_DEVICE inline float bits_float(uint32_t u) {
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}
// IEEE binary16, rounding to nearest even.
OPWEAVE_HOST_DEVICE inline uint16_t half_bits(float f) {
  uint32_t x = float_bits(f), sign = (x >> 16) & 0x8000u;
  x &= 0x7fffffffu;
  if (x > 0x7f800000u) return uint16_t(sign | 0x7e00u);
  if (x >= 0x477ff000u) return uint16_t(sign | 0x7c00u);
  if (x < 0x38800000u) {  // a subnormal: let the adder round it
    float magic = bits_float(0x3f000000u);
    return uint16_t(sign | (float_bits(bits_float(x) + magic) - 0x3f000000u));
  }
  uint32_t odd = (x >> 13) & 1;
  return uint16_t(sign | ((x + 0xc8000fffu + odd) >> 13));
}
OPWEAVE_HOST_DEVICE inline float half_value(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000u) << 16, rest = h & 0x7fffu;
  if (rest >= 0x7c00u) return bits_float(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  if (rest < 0x400u) {
    float value = float(rest) * 5.9604644775390625e-8f;  // 2^-24
    return sign ? -value : value;
  }
  return bits_float(sign | ((rest << 13) + 0x38000000u));
}
OPWEAVE_HOST_DEVICE inline uint16_t bfloat_bits(float f) {
  uint32_t x = float_bits(f);
  if ((x & 0x7fffffffu) > 0x7f800000u) return uint16_t((x >> 16) | 0x40u);
  return uint16_t((x + 0x7fffu + ((x >> 16) & 1)) >> 16);
}
OPWEAVE_HOST_DEVICE inline float bfloat_value(uint16_t b) { return bits_float(uint32_t(b) << 16); }
}  // namespace detail

// To CUDA's own type of the same bits and from it.
#if defined(__CUDACC__)
#define OPWEAVE_HALF_NATIVE(T, Native, how) \
  OPWEAVE_HOST_DEVICE T(const Native& v) { std::memcpy(&x, &v, 2); } \
  OPWEAVE_HOST_DEVICE how operator Native() const { \
    Native made; \
    std::memcpy(&made, &x, 2); \
    return made; \
  }
#else
#define OPWEAVE_HALF_NATIVE(T, Native, how)
#endif
#define OPWEAVE_IMPLICIT
#define OPWEAVE_HALF_CLASS(T, to_bits, to_value, Native, how) \
  struct alignas(2) T { \
    uint16_t x = 0; \
    struct from_bits_t {}; \
    OPWEAVE_HOST_DEVICE static constexpr from_bits_t from_bits() { return {}; } \
    T() = default; \
    OPWEAVE_HOST_DEVICE constexpr T(uint16_t bits, from_bits_t) : x(bits) {} \
    OPWEAVE_HOST_DEVICE T(float v) : x(detail::to_bits(v)) {} \
    OPWEAVE_HOST_DEVICE operator float() const { return detail::to_value(x); } \
    OPWEAVE_HALF_NATIVE(T, Native, how) \
    OPWEAVE_HOST_DEVICE T& operator+=(T o) { return *this = T(float(*this) + float(o)); } \
    OPWEAVE_HOST_DEVICE T& operator-=(T o) { return *this = T(float(*this) - float(o)); } \
    OPWEAVE_HOST_DEVICE T& operator*=(T o) { return *this = T(float(*this) * float(o)); } \
    OPWEAVE_HOST_DEVICE T& operator/=(T o) { return *this = T(float(*this) / float(o)); } \
  }; \
  OPWEAVE_HOST_DEVICE inline T operator+(T a, T b) { return T(float(a) + float(b)); } \
  OPWEAVE_HOST_DEVICE inline T operator-(T a, T b) { return T(float(a) - float(b)); } \
  OPWEAVE_HOST_DEVICE inline T operator*(T a, T b) { return T(float(a) * float(b)); } \
  OPWEAVE_HOST_DEVICE inline T operator/(T a, T b) { return T(float(a) / float(b)); } \
  OPWEAVE_HOST_DEVICE inline T operator-(T a) { return T(-float(a)); } \
  OPWEAVE_HALF_MIXED(T, float, float) \
  OPWEAVE_HALF_MIXED(T, double, double) \
  OPWEAVE_HALF_MIXED(T, int, T) \
  OPWEAVE_HALF_MIXED(T, int64_t, T) \
  inline std::ostream& operator<<(std::ostream& out, T v) { return out << float(v); }
#define OPWEAVE_HALF_MIXED(T, U, R) \
  OPWEAVE_HOST_DEVICE inline R operator+(T a, U b) { return R(R(a) + R(b)); } \
  OPWEAVE_HOST_DEVICE inline R operator-(T a, U b) { return R(R(a) - R(b)); } \
  OPWEAVE_HOST_DEVICE inline R operator*(T a, U b) { return R(R(a) * R(b)); } \
  OPWEAVE_HOST_DEVICE inline R operator/(T a, U b) { return R(R(a) / R(b)); } \
  OPWEAVE_HOST_DEVICE inline R operator+(U a, T b) { return R(R(a) + R(b)); } \
  OPWEAVE_HOST_DEVICE inline R operator-(U a, T b) { return R(R(a) - R(b)); } \
  OPWEAVE_HOST_DEVICE inline R operator*(U a, T b) { return R(R(a) * R(b)); } \
  OPWEAVE_HOST_DEVICE inline R operator/(U a, T b) { return R(R(a) / R(b)); }
OPWEAVE_HALF_CLASS(Half, half_bits, half_value, __half, OPWEAVE_IMPLICIT)
OPWEAVE_HALF_CLASS(BFloat16, bfloat_bits, bfloat_value, __nv_bfloat16, explicit)
#undef OPWEAVE_HALF_CLASS
#undef OPWEAVE_HALF_NATIVE
#undef OPWEAVE_IMPLICIT
#undef OPWEAVE_HALF_MIXED
#if defined(__CUDACC__)
inline __device__ Half __ldg(const Half* p) { return Half(::__ldg(reinterpret_cast<const __half*>(p))); }
inline __device__ BFloat16 __ldg(const BFloat16* p) {
  return BFloat16(::__ldg(reinterpret_cast<const __nv_bfloat16*>(p)));
}
#endif

// The type that sums and products of elements are formed in.
template <class T>
struct OpMathType {
  using type = T;
};
template <>
struct OpMathType<Half> {
  using type = float;
};
template <>
struct OpMathType<BFloat16> {
  using type = float;
};
template <class T>
using opmath_type = typename OpMathType<T>::type;

}  // namespace opweave

namespace std {
template <class T>
class OPWEAVE_HIDDEN opweave_half_limits {
 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
  static constexpr int radix = 2;
};
template <>
class OPWEAVE_HIDDEN numeric_limits<opweave::Half> : public opweave_half_limits<opweave::Half> {
  using T = opweave::Half;
  OPWEAVE_HOST_DEVICE static constexpr T bits(uint16_t x) { return {x, T::from_bits()}; }

 public:
  static constexpr int digits = 11, max_exponent = 16, min_exponent = -13;
  OPWEAVE_HOST_DEVICE static constexpr T min() { return bits(0x0400); }
  OPWEAVE_HOST_DEVICE static constexpr T max() { return bits(0x7bff); }
  OPWEAVE_HOST_DEVICE static constexpr T lowest() { return bits(0xfbff); }
  OPWEAVE_HOST_DEVICE static constexpr T epsilon() { return bits(0x1400); }
  OPWEAVE_HOST_DEVICE static constexpr T infinity() { return bits(0x7c00); }
  OPWEAVE_HOST_DEVICE static constexpr T quiet_NaN() { return bits(0x7e00); }
};
template <>
class OPWEAVE_HIDDEN numeric_limits<opweave::BFloat16> : public opweave_half_limits<opweave::BFloat16> {
  using T = opweave::BFloat16;
  OPWEAVE_HOST_DEVICE static constexpr T bits(uint16_t x) { return {x, T::from_bits()}; }

 public:
  static constexpr int digits = 8, max_exponent = 128, min_exponent = -125;
  OPWEAVE_HOST_DEVICE static constexpr T min() { return bits(0x0080); }
  OPWEAVE_HOST_DEVICE static constexpr T max() { return bits(0x7f7f); }
  OPWEAVE_HOST_DEVICE static constexpr T lowest() { return bits(0xff7f); }
  OPWEAVE_HOST_DEVICE static constexpr T epsilon() { return bits(0x3c00); }
  OPWEAVE_HOST_DEVICE static constexpr T infinity() { return bits(0x7f80); }
  OPWEAVE_HOST_DEVICE static constexpr T quiet_NaN() { return bits(0x7fc0); }
};
}  // namespace std
