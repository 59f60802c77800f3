// A tensor as CUDA kernels take it by value, and where in its memory its n-th element is.
#pragma once
#include "cuda.h"

#define MAX_TENSORINFO_DIMS 25

namespace OPWEAVE_HIDDEN opweave {
namespace cuda {
namespace detail {

template <class T, class Index>
struct TensorInfo {
  TensorInfo() = default;
  TensorInfo(T* memory, int count, const Index* size, const Index* stride) : data(memory), dims(count) {
    OPWEAVE_CHECK(count < MAX_TENSORINFO_DIMS, "CUDA kernels take tensors with fewer than ", MAX_TENSORINFO_DIMS,
                  " dimensions, not ", count);
    for (int d = 0; d < count; d++) sizes[d] = size[d], strides[d] = stride[d];
  }
  // Go over all but one dimension.
  void reduceDim(int d) {
    OPWEAVE_CHECK(d >= 0 && d < dims, "expected a dimension from 0 to ", dims - 1, ", not ", d);
    sizes[d] = 1;
  }
  // Make neighbours one dimension where memory allows, never the one that is excluded; where that is then, or -1.
  int collapseDims(int excluded = -1) {
    int count = 0, found = -1;
    bool may_join = false;
    for (int d = 0; d < dims; d++) {
      if (d == excluded) {
        sizes[count] = sizes[d], strides[count] = strides[d], found = count++, may_join = false;
      } else if (sizes[d] != 1) {
        if (may_join && strides[count - 1] == sizes[d] * strides[d]) sizes[count - 1] *= sizes[d], strides[count - 1] = strides[d];
        else sizes[count] = sizes[d], strides[count] = strides[d], count++;
        may_join = true;
      }
    }
    if (count == 0) sizes[0] = 1, strides[0] = 1, count = 1;
    dims = count;
    return found;
  }
  OPWEAVE_HOST_DEVICE bool isContiguous() const { return dims == 1 && strides[0] == 1; }

  T* data = nullptr;
  Index sizes[MAX_TENSORINFO_DIMS];
  Index strides[MAX_TENSORINFO_DIMS];
  int dims = 0;
};

// How many elements behind the first the one is that has a number; `Dims` of -1 is any number of dimensions.
template <class T, class Index, int Dims>
struct IndexToOffset {
  static OPWEAVE_HOST_DEVICE Index get(Index number, const TensorInfo<T, Index>& info) {
    Index offset = 0;
    for (int d = (Dims < 0 ? info.dims : Dims) - 1; d > 0; d--) {
      Index rest = number / info.sizes[d];
      offset += (number - rest * info.sizes[d]) * info.strides[d];
      number = rest;
    }
    return offset + number * info.strides[0];
  }
};

template <class T, class Index>
TensorInfo<T, Index> getTensorInfo(const Tensor& t) {
  Index sizes[MAX_TENSORINFO_DIMS], strides[MAX_TENSORINFO_DIMS];
  int dims = int(t.dim());
  OPWEAVE_CHECK(dims < MAX_TENSORINFO_DIMS, "CUDA kernels take tensors with fewer than ", MAX_TENSORINFO_DIMS,
                " dimensions, not ", dims);
  for (int d = 0; d < dims; d++) sizes[d] = Index(t.size(d)), strides[d] = Index(t.stride(d));
  using V = std::remove_const_t<T>;
  if constexpr (std::is_const_v<T>) return {t.const_data_ptr<V>(), dims, sizes, strides};
  else return {t.mutable_data_ptr<V>(), dims, sizes, strides};
}

// Whether the numbers of elements and their places fit 32 bits.
inline bool canUse32BitIndexMath(const Tensor& t, int64_t most = INT32_MAX) {
  if (t.numel() == 0) return true;
  int64_t last = 0;
  for (int64_t d = 0; d < t.dim(); d++) last += (t.size(d) - 1) * t.stride(d);
  return t.numel() < most && last < most;
}

// Whether two elements may lie in one place: dimensions by their steps, each within one of the next.
inline bool maybeOverlappingIndices(const Tensor& t) {
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (int64_t d = 0; d < t.dim(); d++)
    if (t.size(d) > 1) steps.emplace_back(t.stride(d), t.size(d));
  std::sort(steps.begin(), steps.end());
  if (!steps.empty() && steps[0].first < 1) return true;
  for (size_t d = 1; d < steps.size(); d++)
    if ((steps[d - 1].second - 1) * steps[d - 1].first >= steps[d].first) return true;
  return false;
}

}  // namespace detail
}  // namespace cuda
}  // namespace opweave
