// New tensors: those of plain memory are made here, all others by the host.
// opweave-native function: empty/options zeros/options ones/options full/options empty_like/options zeros_like/options
// opweave-native function: ones_like/options empty_strided/options full_like/options scalar_tensor/options
#pragma once
#include <cmath>
#include <limits>

#include "tensor_inl.h"

namespace OPWEAVE_HIDDEN opweave {
namespace detail {
inline Tensor finish(Tensor made, const TensorOptions& o) {
  if (o.requires_grad()) made.set_requires_grad(true);
  return made;
}
template <class F>
Tensor like(const Tensor& t, TensorOptions o, F&& make) {
  TensorOptions all = o.dtype(o.dtype_opt().value_or(t.scalar_type())).device(o.device_opt().value_or(t.device()));
  return make(t.sizes(), all);
}
inline void fill(Tensor& t, const Scalar& v) {
  switch (t.scalar_type()) {
#define OPWEAVE_ENTRY(name, ctype, number, code)                                                \
  case ScalarType::name:                                                                        \
    if constexpr (std::is_same_v<ctype, Half> || std::is_same_v<ctype, BFloat16>)               \
      std::fill_n(static_cast<ctype*>(t.data_ptr()), t.numel(), ctype(v.to<float>()));          \
    else                                                                                        \
      std::fill_n(static_cast<ctype*>(t.data_ptr()), t.numel(), v.to<ctype>());                 \
    break;
    OPWEAVE_COMPUTED_TYPES(OPWEAVE_ENTRY)
#undef OPWEAVE_ENTRY
    default:
      break;
  }
}
}  // namespace detail

inline Tensor empty(IntArrayRef size, TensorOptions o = {}, std::optional<MemoryFormat> format = std::nullopt) {
  if (detail::made_here(o) && format.value_or(MemoryFormat::Contiguous) == MemoryFormat::Contiguous)
    return detail::new_block(size, {}, o.dtype());
  return detail::finish(OPWEAVE_CALL("aten::empty.memory_format").arg(size).arg(o.dtype_opt()).none()
                            .arg(o.device_opt()).none().arg(format).tensor(), o);
}
inline Tensor empty_strided(IntArrayRef size, IntArrayRef stride, TensorOptions o = {}) {
  return detail::finish(OPWEAVE_CALL("aten::empty_strided").arg(size).arg(stride).arg(o.dtype_opt()).none()
                            .arg(o.device_opt()).none().tensor(), o);
}
inline Tensor full(IntArrayRef size, const Scalar& value, TensorOptions o = {}) {
  if (!o.has_dtype() && !value.isFloatingPoint()) o = o.dtype(value.type());
  if (detail::made_here(o) && !isFloat8Type(o.dtype())) {
    Tensor made = detail::new_block(size, {}, o.dtype());
    detail::fill(made, value);
    return made;
  }
  return detail::finish(OPWEAVE_CALL("aten::full").arg(size).arg(value).arg(o.dtype_opt()).none().arg(o.device_opt())
                            .none().tensor(), o);
}
inline Tensor zeros(IntArrayRef size, TensorOptions o = {}) {
  if (!detail::made_here(o))
    return detail::finish(OPWEAVE_CALL("aten::zeros").arg(size).arg(o.dtype_opt()).none().arg(o.device_opt()).none().tensor(), o);
  Tensor made = detail::new_block(size, {}, o.dtype());
  std::memset(made.data_ptr(), 0, made.nbytes());
  return made;
}
inline Tensor empty_symint(IntArrayRef size, TensorOptions o = {}) { return empty(size, o); }
inline Tensor zeros_symint(IntArrayRef size, TensorOptions o = {}) { return zeros(size, o); }
inline Tensor ones(IntArrayRef size, TensorOptions o = {}) {
  return full(size, 1, o.dtype(o.dtype_opt().value_or(kFloat)));
}
inline Tensor empty_like(const Tensor& self, TensorOptions o = {}, std::optional<MemoryFormat> format = std::nullopt) {
  auto wanted = format.value_or(MemoryFormat::Preserve);
  if (!self.is_of_host() && self.is_cpu() && detail::made_here(o) &&
      (wanted == MemoryFormat::Contiguous || (wanted == MemoryFormat::Preserve && self.is_contiguous())))
    return detail::new_block(self.sizes(), {}, o.dtype_opt().value_or(self.scalar_type()));
  return detail::finish(OPWEAVE_CALL("aten::empty_like").arg(self).arg(o.dtype_opt()).none().arg(o.device_opt()).none()
                            .arg(format).tensor(), o);
}
inline Tensor full_like(const Tensor& self, const Scalar& value, TensorOptions o = {},
                        std::optional<MemoryFormat> format = std::nullopt) {
  return detail::finish(OPWEAVE_CALL("aten::full_like").arg(self).arg(value).arg(o.dtype_opt()).none()
                            .arg(o.device_opt()).none().arg(format).tensor(), o);
}
inline Tensor zeros_like(const Tensor& self, TensorOptions o = {}, std::optional<MemoryFormat> format = std::nullopt) {
  if (!self.is_of_host() && self.is_cpu() && self.is_contiguous() && !format && detail::made_here(o))
    return detail::like(self, o, [](IntArrayRef size, TensorOptions all) { return zeros(size, all); });
  return full_like(self, 0, o, format);
}
inline Tensor ones_like(const Tensor& self, TensorOptions o = {}, std::optional<MemoryFormat> format = std::nullopt) {
  return full_like(self, 1, o, format);
}

// ---- tensors of values that are given
namespace detail {
template <class T>
Tensor of_values(ArrayRef<T> values, TensorOptions o) {
  Tensor made = new_block(int64_t(values.size()), {}, CppTypeToScalarType<T>::value);
  std::copy(values.begin(), values.end(), static_cast<T*>(made.data_ptr()));
  Tensor converted = made.to(o.dtype_opt().value_or(made.scalar_type()));
  if (o.has_device()) converted = converted.to(o.device());
  return finish(converted, o);
}
// Whole numbers make a tensor of int64, real ones one of the default dtype, as in Python.
template <class T>
using stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, std::conditional_t<std::is_integral_v<T>, int64_t, double>>;
template <class T>
TensorOptions stored_as(TensorOptions o) {
  return o.dtype(o.dtype_opt().value_or(std::is_same_v<T, bool> ? kBool : std::is_integral_v<T> ? kLong : kFloat));
}
}  // namespace detail
template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
Tensor tensor(ArrayRef<T> values, TensorOptions o = {}) {
  std::vector<detail::stored<T>> copy(values.begin(), values.end());
  return detail::of_values(ArrayRef<detail::stored<T>>(copy), detail::stored_as<T>(o));
}
template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
Tensor tensor(std::initializer_list<T> values, TensorOptions o = {}) { return tensor(ArrayRef<T>(values), o); }
template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
Tensor tensor(const std::vector<T>& values, TensorOptions o = {}) {
  std::vector<detail::stored<T>> copy(values.begin(), values.end());
  return detail::of_values(ArrayRef<detail::stored<T>>(copy), detail::stored_as<T>(o));
}
template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
Tensor tensor(T value, TensorOptions o = {}) { return tensor(ArrayRef<T>(value), o).view(IntArrayRef()); }
inline Tensor scalar_tensor(const Scalar& v, TensorOptions o = {}) { return full(IntArrayRef(), v, o.dtype(o.dtype_opt().value_or(kFloat))); }

inline Tensor norm(const Tensor& self, const Scalar& p = 2) { return self.norm(p); }
inline Tensor norm(const Tensor& self, const std::optional<Scalar>& p, ScalarType type) { return self.norm(p, type); }
inline Tensor norm(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim = false) {
  return self.norm(p, dim, keepdim);
}

}  // namespace opweave
