// Elements by index, without the address arithmetic.
#pragma once
#include "tensor_inl.h"

namespace OPWEAVE_HIDDEN opweave {

template <class T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
#if defined(__CUDACC__)
template <class T>
struct RestrictPtrTraits {
  using PtrType = T* __restrict__;
};
#else
template <class T>
struct RestrictPtrTraits {
  using PtrType = T*;
};
#endif

// Over sizes and strides that somebody else keeps.
template <class T, size_t N, class I = int64_t>
class TensorAccessor {
 public:
  OPWEAVE_HOST_DEVICE TensorAccessor(T* data, const I* sizes, const I* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  OPWEAVE_HOST_DEVICE decltype(auto) operator[](I i) const {
    if constexpr (N == 1) return static_cast<T&>(data_[strides_[0] * i]);
    else return TensorAccessor<T, N - 1, I>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }
  OPWEAVE_HOST_DEVICE I size(int d) const { return sizes_[d]; }
  OPWEAVE_HOST_DEVICE I stride(int d) const { return strides_[d]; }
  OPWEAVE_HOST_DEVICE T* data() const { return data_; }
  IntArrayRef sizes() const { return {sizes_, N}; }
  IntArrayRef strides() const { return {strides_, N}; }

 private:
  T* data_;
  const I *sizes_, *strides_;
};

// With sizes and strides of its own, so that a kernel can be given it by value.
template <class T, size_t N, class I>
class PackedTensorAccessor {
 public:
  PackedTensorAccessor(T* data, IntArrayRef sizes, IntArrayRef strides) : data_(data) {
    for (size_t d = 0; d < N; d++) sizes_[d] = I(sizes[d]), strides_[d] = I(strides[d]);
  }
  OPWEAVE_HOST_DEVICE decltype(auto) operator[](I i) const {
    if constexpr (N == 1) return static_cast<T&>(data_[strides_[0] * i]);
    else return TensorAccessor<T, N - 1, I>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }
  OPWEAVE_HOST_DEVICE I size(int d) const { return sizes_[d]; }
  OPWEAVE_HOST_DEVICE I stride(int d) const { return strides_[d]; }
  OPWEAVE_HOST_DEVICE T* data() const { return data_; }

 private:
  T* data_;
  I sizes_[N], strides_[N];
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = PackedTensorAccessor<T, N, int32_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = PackedTensorAccessor<T, N, int64_t>;

namespace detail {
inline void require_dim(const Tensor& t, size_t n) {
  if (size_t(t.dim()) != n) throw ValueError(cat("accessor: expected ", n, " dimensions but the tensor has ", t.dim()));
}
}  // namespace detail

template <class T, size_t N>
auto Tensor::accessor() const& {
  static_assert(N > 0, "an accessor is for tensors with dimensions; *data_ptr<T>() is the element of one without");
  detail::require_dim(*this, N);
  return TensorAccessor<T, N>(data_ptr<T>(), sizes().data(), strides().data());
}
template <class T, size_t N, template <class> class Traits>
auto Tensor::packed_accessor32() const& {
  detail::require_dim(*this, N);
  for (size_t d = 0; d < N; d++)
    if (sizes()[d] > INT32_MAX || strides()[d] > INT32_MAX) throw ValueError("packed_accessor32: a size is over 2^31");
  return PackedTensorAccessor<T, N, int32_t>(data_ptr<T>(), sizes(), strides());
}
template <class T, size_t N>
auto Tensor::packed_accessor32() const& { return packed_accessor32<T, N, DefaultPtrTraits>(); }
template <class T, size_t N>
auto Tensor::packed_accessor64() const& {
  detail::require_dim(*this, N);
  return PackedTensorAccessor<T, N, int64_t>(data_ptr<T>(), sizes(), strides());
}

}  // namespace opweave
