// Compiled where nvcc is; run where there is a GPU.
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

__global__ void k(const float* a, float* o, int64_t n) { int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; if (i < n) o[i] = 2 * a[i]; }
__global__ void half_sum(const c10::Half* a, c10::Half* o) { o[0] = a[0] + a[1] * c10::Half(2.0f); }
__global__ void acc(torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> a) { a[0][threadIdx.x] += 1; }
static at::Tensor twice(const at::Tensor& a) {
  const at::cuda::OptionalCUDAGuard guard(at::device_of(a));
  auto in = a.contiguous(), out = at::empty_like(in);
  k<<<(in.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(in.data_ptr<float>(), out.data_ptr<float>(), in.numel());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  acc<<<1, 2, 0, at::cuda::getCurrentCUDAStream()>>>(out.packed_accessor32<float, 2, torch::RestrictPtrTraits>());
  return out;
}
TORCH_LIBRARY(cuda_ext, m) { m.def("twice(Tensor a) -> Tensor"); }
TORCH_LIBRARY_IMPL(cuda_ext, CUDA, m) { m.impl("twice", twice); }
