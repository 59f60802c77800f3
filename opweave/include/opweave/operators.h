// Operators between tensors and numbers, and indexing as Python has it.
#pragma once
#include "generated/functions.h"

namespace OPWEAVE_HIDDEN opweave {

#define OPWEAVE_BINARY(op, method, reversed)                                               \
  inline Tensor operator op(const Tensor& a, const Tensor& b) { return a.method(b); }      \
  inline Tensor operator op(const Tensor& a, const Scalar& b) { return a.method(b); }      \
  inline Tensor operator op(const Scalar& a, const Tensor& b) { return reversed; }
OPWEAVE_BINARY(+, add, b.add(a))
OPWEAVE_BINARY(-, sub, b.neg().add(a))
OPWEAVE_BINARY(*, mul, b.mul(a))
OPWEAVE_BINARY(/, div, b.reciprocal().mul(a))
OPWEAVE_BINARY(%, remainder, remainder(a, b))
OPWEAVE_BINARY(&, bitwise_and, b.bitwise_and(a))
OPWEAVE_BINARY(|, bitwise_or, b.bitwise_or(a))
OPWEAVE_BINARY(^, bitwise_xor, b.bitwise_xor(a))
OPWEAVE_BINARY(==, eq, b.eq(a))
OPWEAVE_BINARY(!=, ne, b.ne(a))
OPWEAVE_BINARY(<, lt, b.gt(a))
OPWEAVE_BINARY(<=, le, b.ge(a))
OPWEAVE_BINARY(>, gt, b.lt(a))
OPWEAVE_BINARY(>=, ge, b.le(a))
#undef OPWEAVE_BINARY

namespace indexing {
struct None_ {};
struct Ellipsis_ {};
inline constexpr None_ None{};
inline constexpr Ellipsis_ Ellipsis{};
struct Slice {
  std::optional<int64_t> start, stop;
  int64_t step = 1;
  Slice(std::optional<int64_t> start = std::nullopt, std::optional<int64_t> stop = std::nullopt, int64_t step = 1)
      : start(start), stop(stop), step(step) {}
  Slice(None_) {}
  Slice(None_, std::optional<int64_t> stop, int64_t step = 1) : stop(stop), step(step) {}
  Slice(std::optional<int64_t> start, None_, int64_t step = 1) : start(start), step(step) {}
};
struct TensorIndex {
  enum class Kind { None, Ellipsis, Int, Bool, Slice, Tensor } kind;
  int64_t number = 0;
  indexing::Slice slice;
  opweave::Tensor tensor;
  TensorIndex(None_) : kind(Kind::None) {}
  TensorIndex(std::nullopt_t) : kind(Kind::None) {}
  TensorIndex(Ellipsis_) : kind(Kind::Ellipsis) {}
  TensorIndex(const char*) : kind(Kind::Ellipsis) {}
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  TensorIndex(T i) : kind(std::is_same_v<T, bool> ? Kind::Bool : Kind::Int), number(int64_t(i)) {}
  TensorIndex(indexing::Slice s) : kind(Kind::Slice), slice(s) {}
  TensorIndex(opweave::Tensor t) : kind(Kind::Tensor), tensor(std::move(t)) {}
};
// Views for numbers, slices and the like; what is left are index tensors by dimension.
inline Tensor view_of(Tensor x, ArrayRef<TensorIndex> indices, std::vector<std::optional<Tensor>>& by_dim) {
  int64_t taken = 0;
  for (auto& i : indices)
    taken += i.kind == TensorIndex::Kind::Tensor && (i.tensor.scalar_type() == kBool || i.tensor.scalar_type() == kByte)
                 ? std::max<int64_t>(i.tensor.dim(), 1)
                 : i.kind != TensorIndex::Kind::None && i.kind != TensorIndex::Kind::Ellipsis && i.kind != TensorIndex::Kind::Bool;
  int64_t dim = 0, dims = x.dim();
  if (taken > dims) throw IndexError(detail::cat("too many indices for a tensor with ", dims, " dimensions"));
  for (auto& i : indices) {
    switch (i.kind) {
      case TensorIndex::Kind::Int:
        x = x.select(dim, i.number);
        break;
      case TensorIndex::Kind::Slice:
        x = x.slice(dim++, i.slice.start, i.slice.stop, i.slice.step);
        break;
      case TensorIndex::Kind::None:
        x = x.unsqueeze(dim++);
        break;
      case TensorIndex::Kind::Ellipsis:
        dim += dims - taken;
        break;
      case TensorIndex::Kind::Bool:
        throw UnsupportedError("index: true and false as indices; use a tensor");
      case TensorIndex::Kind::Tensor:
        by_dim.resize(size_t(dim));
        by_dim.push_back(i.tensor);
        dim += i.tensor.scalar_type() == kBool || i.tensor.scalar_type() == kByte ? std::max<int64_t>(i.tensor.dim(), 1) : 1;
        break;
    }
  }
  return x;
}
}  // namespace indexing

inline Tensor Tensor::operator[](const Tensor& i) const {
  if (i.dim() == 0 && isIntegralType(i.scalar_type(), false)) return select(0, i.item().toLong());
  return index({indexing::TensorIndex(i)});
}
inline Tensor Tensor::index(std::initializer_list<indexing::TensorIndex> indices) const {
  std::vector<std::optional<Tensor>> tensors;
  Tensor x = indexing::view_of(*this, indices, tensors);
  return tensors.empty() ? x : x.index(ArrayRef<std::optional<Tensor>>(tensors));
}
inline Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& values) const {
  std::vector<std::optional<Tensor>> tensors;
  Tensor x = indexing::view_of(*this, indices, tensors);
  if (tensors.empty()) x.copy_(values);
  else x.index_put_(ArrayRef<std::optional<Tensor>>(tensors), values);
  return const_cast<Tensor&>(*this);
}
inline Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value) const {
  return index_put_(indices, full(IntArrayRef(), value, options()));
}

}  // namespace opweave
