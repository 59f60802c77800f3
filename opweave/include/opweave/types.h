// What describes tensors and calls: element types, devices, layouts, numbers, options, tags.
#pragma once
#include <optional>
#include <string>

#include "array_ref.h"
#include "half.h"

namespace OPWEAVE_HIDDEN opweave {

// Types that values are only kept in, as their bits.
struct Float8_e5m2 { uint8_t x; };
struct Float8_e4m3fn { uint8_t x; };
struct Float8_e5m2fnuz { uint8_t x; };
struct Float8_e4m3fnuz { uint8_t x; };
struct Float8_e8m0fnu { uint8_t x; };

// ---- element types, with PyTorch's numbers: name, C++ type, number, DLPack code
#define OPWEAVE_COMPUTED_TYPES(_)                  \
  _(Byte, uint8_t, 0, kDLUInt)                     \
  _(Char, int8_t, 1, kDLInt)                       \
  _(Short, int16_t, 2, kDLInt)                     \
  _(Int, int32_t, 3, kDLInt)                       \
  _(Long, int64_t, 4, kDLInt)                      \
  _(Half, ::opweave::Half, 5, kDLFloat)            \
  _(Float, float, 6, kDLFloat)                     \
  _(Double, double, 7, kDLFloat)                   \
  _(ComplexFloat, std::complex<float>, 9, kDLComplex)    \
  _(ComplexDouble, std::complex<double>, 10, kDLComplex) \
  _(Bool, bool, 11, kDLBool)                       \
  _(BFloat16, ::opweave::BFloat16, 15, kDLBfloat)  \
  _(UInt16, uint16_t, 27, kDLUInt)                 \
  _(UInt32, uint32_t, 28, kDLUInt)                 \
  _(UInt64, uint64_t, 29, kDLUInt)
#define OPWEAVE_SCALAR_TYPES(_)                                          \
  OPWEAVE_COMPUTED_TYPES(_)                                              \
  _(Float8_e5m2, ::opweave::Float8_e5m2, 23, kDLFloat8_e5m2)             \
  _(Float8_e4m3fn, ::opweave::Float8_e4m3fn, 24, kDLFloat8_e4m3fn)       \
  _(Float8_e5m2fnuz, ::opweave::Float8_e5m2fnuz, 25, kDLFloat8_e5m2fnuz) \
  _(Float8_e4m3fnuz, ::opweave::Float8_e4m3fnuz, 26, kDLFloat8_e4m3fnuz) \
  _(Float8_e8m0fnu, ::opweave::Float8_e8m0fnu, 44, kDLFloat8_e8m0fnu)

enum class ScalarType : int8_t {
#define OPWEAVE_ENTRY(name, type, number, code) name = number,
  OPWEAVE_SCALAR_TYPES(OPWEAVE_ENTRY)
#undef OPWEAVE_ENTRY
      Undefined = 46
};
using Dtype = ScalarType;
#define OPWEAVE_ENTRY(name, type, number, code) inline constexpr ScalarType k##name = ScalarType::name;
OPWEAVE_SCALAR_TYPES(OPWEAVE_ENTRY)
#undef OPWEAVE_ENTRY
inline constexpr ScalarType kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort, kInt32 = kInt, kInt64 = kLong,
                            kFloat16 = kHalf, kFloat32 = kFloat, kFloat64 = kDouble, kComplexFloat64 = kComplexFloat,
                            kComplexFloat128 = kComplexDouble;

template <class T>
struct CppTypeToScalarType;
template <ScalarType S>
struct ScalarTypeToCPPType;
#define OPWEAVE_ENTRY(name, ctype, number, code)                             \
  template <>                                                                \
  struct CppTypeToScalarType<ctype> {                                        \
    static constexpr ScalarType value = ScalarType::name;                    \
    constexpr operator ScalarType() const { return value; }                  \
  };                                                                         \
  template <>                                                                \
  struct ScalarTypeToCPPType<ScalarType::name> {                             \
    using type = ctype;                                                      \
  };
OPWEAVE_SCALAR_TYPES(OPWEAVE_ENTRY)
#undef OPWEAVE_ENTRY
template <>
struct CppTypeToScalarType<std::conditional_t<std::is_same_v<int64_t, long>, long long, long>> {
  static constexpr ScalarType value = ScalarType::Long;
};
template <ScalarType S>
using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<S>::type;

inline const char* toString(ScalarType t) {
  switch (t) {
#define OPWEAVE_ENTRY(name, type, number, code) \
  case ScalarType::name:                        \
    return #name;
    OPWEAVE_SCALAR_TYPES(OPWEAVE_ENTRY)
#undef OPWEAVE_ENTRY
    default:
      return "Undefined";
  }
}
inline std::ostream& operator<<(std::ostream& out, ScalarType t) { return out << toString(t); }
inline int64_t elementSize(ScalarType t) {
  switch (t) {
#define OPWEAVE_ENTRY(name, type, number, code) \
  case ScalarType::name:                        \
    return sizeof(type);
    OPWEAVE_SCALAR_TYPES(OPWEAVE_ENTRY)
#undef OPWEAVE_ENTRY
    default:
      throw DTypeError("elementSize: an undefined element type has none");
  }
}
inline bool isComplexType(ScalarType t) { return t == kComplexFloat || t == kComplexDouble; }
inline bool isFloat8Type(ScalarType t) {
  return (int8_t(t) >= int8_t(kFloat8_e5m2) && int8_t(t) <= int8_t(kFloat8_e4m3fnuz)) || t == kFloat8_e8m0fnu;
}
inline bool isFloatingType(ScalarType t) {
  return t == kHalf || t == kBFloat16 || t == kFloat || t == kDouble || isFloat8Type(t);
}
inline bool isBarebonesUnsignedType(ScalarType t) { return t == kUInt16 || t == kUInt32 || t == kUInt64; }
inline bool isIntegralType(ScalarType t, bool include_bool) {
  return (int8_t(t) >= 0 && int8_t(t) <= int8_t(kLong)) || isBarebonesUnsignedType(t) || (include_bool && t == kBool);
}
inline DLDataType toDLDataType(ScalarType t) {
  switch (t) {
#define OPWEAVE_ENTRY(name, type, number, code) \
  case ScalarType::name:                        \
    return DLDataType{code, uint8_t(sizeof(type) * 8), 1};
    OPWEAVE_SCALAR_TYPES(OPWEAVE_ENTRY)
#undef OPWEAVE_ENTRY
    default:
      throw DTypeError("an undefined element type has no DLPack code");
  }
}
inline ScalarType toScalarType(DLDataType d) {
#define OPWEAVE_ENTRY(name, type, number, dl)                                              \
  if (d.code == dl && d.bits == sizeof(type) * 8 && d.lanes == 1) return ScalarType::name;
  OPWEAVE_SCALAR_TYPES(OPWEAVE_ENTRY)
#undef OPWEAVE_ENTRY
  throw DTypeError(detail::cat("there is no element type of DLPack code ", int(d.code), " with ", int(d.bits),
                               " bits and ", d.lanes, " lanes"));
}
// How an element type crosses: DLPack's code, bits and lanes in one number.
inline int64_t toWord(ScalarType t) {
  DLDataType d = toDLDataType(t);
  return int64_t(d.code) | int64_t(d.bits) << 8 | int64_t(d.lanes) << 16;
}
inline ScalarType fromWord(int64_t w) { return toScalarType(DLDataType{uint8_t(w), uint8_t(w >> 8), uint16_t(w >> 16)}); }

// ---- devices
enum class DeviceType : int8_t { CPU = 0, CUDA = 1, Meta = 14 };
using DeviceIndex = int8_t;
inline constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kMeta = DeviceType::Meta;
inline std::ostream& operator<<(std::ostream& out, DeviceType t) {
  return out << (t == kCPU ? "cpu" : t == kCUDA ? "cuda" : "meta");
}
class Device {
 public:
  Device() = default;
  Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
  Device(const std::string& text) {
    std::string name = text.substr(0, text.find(':'));
    if (name == "cpu") type_ = kCPU;
    else if (name == "cuda") type_ = kCUDA;
    else if (name == "meta") type_ = kMeta;
    else throw ValueError(detail::cat("unknown device \"", text, "\": it is cpu, cuda or meta"));
    if (name.size() < text.size()) {
      try {
        index_ = DeviceIndex(std::stoi(text.substr(name.size() + 1)));
      } catch (const std::logic_error&) {
        throw ValueError(detail::cat("malformed device \"", text, "\""));
      }
    }
  }
  Device(const char* text) : Device(std::string(text)) {}
  DeviceType type() const { return type_; }
  DeviceIndex index() const { return index_; }
  bool has_index() const { return index_ >= 0; }
  bool is_cpu() const { return type_ == kCPU; }
  bool is_cuda() const { return type_ == kCUDA; }
  bool is_meta() const { return type_ == kMeta; }
  std::string str() const {
    std::ostringstream out;
    out << type_;
    if (has_index()) out << ':' << int(index_);
    return out.str();
  }
  bool operator==(const Device& o) const { return type_ == o.type_ && index_ == o.index_; }
  bool operator!=(const Device& o) const { return !(*this == o); }

 private:
  DeviceType type_ = kCPU;
  DeviceIndex index_ = -1;
};
inline std::ostream& operator<<(std::ostream& out, const Device& d) { return out << d.str(); }

enum class Layout : int8_t { Strided = 0 };
inline constexpr Layout kStrided = Layout::Strided;
inline std::ostream& operator<<(std::ostream& out, Layout) { return out << "Strided"; }
enum class MemoryFormat : int8_t { Contiguous = 0, Preserve = 1, ChannelsLast = 2, ChannelsLast3d = 3 };
inline std::ostream& operator<<(std::ostream& out, MemoryFormat f) { return out << int(f); }

// ---- numbers
class Scalar {
 public:
  Scalar() : Scalar(int64_t(0)) {}
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Scalar(T v) {
    if constexpr (std::is_same_v<T, bool>) kind_ = Kind::Bool, int_ = v;
    else if constexpr (std::is_floating_point_v<T>) kind_ = Kind::Double, real_ = double(v);
    else kind_ = Kind::Int, int_ = int64_t(v);
  }
  Scalar(Half v) : Scalar(double(float(v))) {}
  Scalar(BFloat16 v) : Scalar(double(float(v))) {}
  template <class T>
  Scalar(const std::complex<T>& v) : kind_(Kind::Complex), real_(v.real()), imag_(v.imag()) {}

  bool isFloatingPoint() const { return kind_ == Kind::Double; }
  bool isIntegral(bool include_bool) const { return kind_ == Kind::Int || (include_bool && kind_ == Kind::Bool); }
  bool isBoolean() const { return kind_ == Kind::Bool; }
  bool isComplex() const { return kind_ == Kind::Complex; }
  ScalarType type() const {
    return kind_ == Kind::Int ? kLong : kind_ == Kind::Bool ? kBool : kind_ == Kind::Double ? kDouble : kComplexDouble;
  }
  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
      if (kind_ == Kind::Complex) return T(typename T::value_type(real_), typename T::value_type(imag_));
      return T(typename T::value_type(real()));
    } else {
      if (kind_ == Kind::Complex && imag_ != 0) throw ValueError("a complex number was asked for as a real one");
      if constexpr (std::is_same_v<T, bool>) return kind_ == Kind::Int || kind_ == Kind::Bool ? int_ != 0 : real_ != 0;
      else if (kind_ == Kind::Int || kind_ == Kind::Bool) return T(int_);
      else return T(real_);
    }
  }
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  int64_t toLong() const { return to<int64_t>(); }
  int32_t toInt() const { return to<int32_t>(); }
  bool toBool() const { return to<bool>(); }
  std::complex<double> toComplexDouble() const { return to<std::complex<double>>(); }
  Scalar operator-() const {
    if (kind_ == Kind::Complex) return std::complex<double>(-real_, -imag_);
    return kind_ == Kind::Double ? Scalar(-real_) : Scalar(-int_);
  }

 private:
  enum class Kind : int8_t { Int, Bool, Double, Complex };
  double real() const { return kind_ == Kind::Int || kind_ == Kind::Bool ? double(int_) : real_; }
  Kind kind_ = Kind::Int;
  int64_t int_ = 0;
  double real_ = 0, imag_ = 0;
};

// ---- options of a new tensor
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType t) : dtype_(t) {}
  TensorOptions(Device d) : device_(d) {}
  TensorOptions(DeviceType d) : device_(Device(d)) {}
  TensorOptions(Layout l) : layout_(l) {}
  TensorOptions(std::optional<ScalarType> t, std::optional<Device> d) : dtype_(t), device_(d) {}
  [[nodiscard]] TensorOptions dtype(std::optional<ScalarType> t) const { return with(&TensorOptions::dtype_, t); }
  template <class T>
  [[nodiscard]] TensorOptions dtype() const { return dtype(CppTypeToScalarType<T>::value); }
  [[nodiscard]] TensorOptions device(std::optional<Device> d) const { return with(&TensorOptions::device_, d); }
  [[nodiscard]] TensorOptions device(DeviceType t, DeviceIndex i = -1) const { return device(Device(t, i)); }
  [[nodiscard]] TensorOptions layout(std::optional<Layout> l) const { return with(&TensorOptions::layout_, l); }
  [[nodiscard]] TensorOptions requires_grad(std::optional<bool> r) const {
    return with(&TensorOptions::requires_grad_, r);
  }
  [[nodiscard]] TensorOptions pinned_memory(std::optional<bool> p) const { return with(&TensorOptions::pinned_, p); }
  [[nodiscard]] TensorOptions memory_format(std::optional<MemoryFormat> f) const {
    return with(&TensorOptions::format_, f);
  }
  ScalarType dtype() const { return dtype_.value_or(kFloat); }
  Device device() const { return device_.value_or(Device()); }
  Layout layout() const { return layout_.value_or(kStrided); }
  bool requires_grad() const { return requires_grad_.value_or(false); }
  std::optional<ScalarType> dtype_opt() const { return dtype_; }
  std::optional<Device> device_opt() const { return device_; }
  std::optional<Layout> layout_opt() const { return layout_; }
  std::optional<bool> pinned_memory_opt() const { return pinned_; }
  std::optional<MemoryFormat> memory_format_opt() const { return format_; }
  bool has_dtype() const { return dtype_.has_value(); }
  bool has_device() const { return device_.has_value(); }

 private:
  template <class T>
  TensorOptions with(std::optional<T> TensorOptions::*member, std::optional<T> value) const {
    TensorOptions made = *this;
    made.*member = value;
    return made;
  }
  std::optional<ScalarType> dtype_;
  std::optional<Device> device_;
  std::optional<Layout> layout_;
  std::optional<bool> requires_grad_, pinned_;
  std::optional<MemoryFormat> format_;
};
inline TensorOptions dtype(ScalarType t) { return TensorOptions(t); }
template <class T>
TensorOptions dtype() { return TensorOptions(CppTypeToScalarType<T>::value); }
inline TensorOptions device(Device d) { return TensorOptions(d); }
inline TensorOptions device(DeviceType t, DeviceIndex i = -1) { return TensorOptions(Device(t, i)); }
inline TensorOptions requires_grad(bool r = true) { return TensorOptions().requires_grad(r); }

}  // namespace opweave
