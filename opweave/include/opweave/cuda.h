// The current stream and device of CUDA, for kernels that are launched by hand.
#pragma once
#include <cuda_runtime.h>

#include "compat.h"

#define OPWEAVE_CUDA_CHECK(call)                                                                     \
  do {                                                                                               \
    cudaError_t opweave_status = (call);                                                             \
    if (opweave_status != cudaSuccess)                                                               \
      throw ::opweave::Error(OPWEAVE_HERE, ::opweave::detail::cat("CUDA error: ", cudaGetErrorString(opweave_status))); \
  } while (0)

namespace OPWEAVE_HIDDEN opweave {
namespace cuda {

class CUDAStream {
 public:
  explicit CUDAStream(cudaStream_t stream) : stream_(stream) {}
  operator cudaStream_t() const { return stream_; }
  cudaStream_t stream() const { return stream_; }
  void synchronize() const { OPWEAVE_CUDA_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_;
};
inline DeviceIndex current_device() {
  int device = 0;
  OPWEAVE_CUDA_CHECK(cudaGetDevice(&device));
  return DeviceIndex(device);
}
// The stream that the caller's work is on: what Python's side has made current for the call.
inline CUDAStream getCurrentCUDAStream(DeviceIndex device = -1) {
  int number = device < 0 ? current_device() : device;
  return CUDAStream(static_cast<cudaStream_t>(TVMFFIEnvGetStream(kDLCUDA, number)));
}
inline cudaDeviceProp* getCurrentDeviceProperties() {
  static thread_local cudaDeviceProp properties;
  OPWEAVE_CUDA_CHECK(cudaGetDeviceProperties(&properties, current_device()));
  return &properties;
}

// Makes a device current, and the one before again at the end.
class CUDAGuard {
 public:
  explicit CUDAGuard(DeviceIndex device) : before_(current_device()) {
    if (device >= 0 && device != before_) OPWEAVE_CUDA_CHECK(cudaSetDevice(device));
  }
  explicit CUDAGuard(Device device) : CUDAGuard(device.index()) {}
  CUDAGuard(const CUDAGuard&) = delete;
  ~CUDAGuard() { (void)cudaSetDevice(before_); }

 private:
  int before_;
};
class OptionalCUDAGuard {
 public:
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<Device> d) {
    if (d && d->is_cuda()) guard_.emplace(*d);
  }

 private:
  std::optional<CUDAGuard> guard_;
};

}  // namespace cuda
inline std::optional<Device> device_of(const Tensor& t) {
  return t.defined() ? std::optional<Device>(t.device()) : std::nullopt;
}
}  // namespace opweave
namespace OPWEAVE_HIDDEN at {
namespace cuda {
using namespace ::opweave::cuda;
}
}  // namespace at
namespace OPWEAVE_HIDDEN c10 {
namespace cuda {
using namespace ::opweave::cuda;
}
}  // namespace c10

#define C10_CUDA_CHECK OPWEAVE_CUDA_CHECK
#define AT_CUDA_CHECK OPWEAVE_CUDA_CHECK
#define C10_CUDA_KERNEL_LAUNCH_CHECK() OPWEAVE_CUDA_CHECK(cudaGetLastError())
