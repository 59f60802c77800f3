// Compiled where nvcc is; run where there is a GPU.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/detail/IndexUtils.cuh>
#include <ATen/cuda/detail/TensorInfo.cuh>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

__global__ void k(const float* a, float* o, int64_t n) { int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; if (i < n) o[i] = 2 * a[i]; }
__global__ void half_sum(const c10::Half* a, c10::Half* o) { o[0] = a[0] + a[1] * c10::Half(2.0f); }
__global__ void acc(torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> a) { a[0][threadIdx.x] += 1; }
template <class T>
__global__ void copy(const at::cuda::detail::TensorInfo<const T, int> a, T* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = a.data[at::cuda::detail::IndexToOffset<const T, int, -1>::get(i, a)];
}
__global__ void shift(const at::Half* a, at::Half* o, at::BFloat16* b) {
  o[0] = __shfl_up_sync(0xffffffff, a[0].operator __half(), 1);
  b[0] = __nv_bfloat16(b[1]);
}
static at::Tensor dense(const at::Tensor& a) {
  auto out = at::empty(a.sizes(), a.options());
  TORCH_CHECK(at::cuda::detail::canUse32BitIndexMath(a) && !at::cuda::detail::maybeOverlappingIndices(a));
  auto info = at::cuda::detail::getTensorInfo<const float, int>(a);
  info.collapseDims();
  int n = int(a.numel());
  copy<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(info, out.data_ptr<float>(), n);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}
static at::Tensor twice(const at::Tensor& a) {
  const at::cuda::OptionalCUDAGuard guard(at::device_of(a));
  auto in = a.contiguous(), out = at::empty_like(in);
  k<<<(in.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(in.data_ptr<float>(), out.data_ptr<float>(), in.numel());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  acc<<<1, 2, 0, at::cuda::getCurrentCUDAStream()>>>(out.packed_accessor32<float, 2, torch::RestrictPtrTraits>());
  return out;
}
TORCH_LIBRARY(cuda_ext, m) {
  m.def("twice(Tensor a) -> Tensor");
  m.def("dense(Tensor a) -> Tensor");
}
TORCH_LIBRARY_IMPL(cuda_ext, CUDA, m) {
  m.impl("twice", twice);
  m.impl("dense", dense);
}
