// A tvm-ffi library as others ship them: it knows nothing of opweave.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace ffi = tvm::ffi;
using ffi::TensorView;

static float* floats(TensorView x) {
  if (x.dtype().code != kDLFloat || x.dtype().bits != 32)
    TVM_FFI_THROW(TypeError) << "float32 is wanted";
  return static_cast<float*>(x.data_ptr());
}

// out[i] = x[i] / sqrt(mean(x[i]^2) + eps) * w, over rows
void rms(TensorView out, TensorView x, TensorView w, double eps) {
  int64_t columns = x.size(-1), rows = columns ? x.numel() / columns : 0;
  if (w.numel() != columns) TVM_FFI_THROW(ValueError) << "w has " << w.numel() << " elements, x " << columns << " columns";
  float *o = floats(out), *a = floats(x), *b = floats(w);
  for (int64_t i = 0; i < rows; ++i, a += columns, o += columns) {
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j) sum += double(a[j]) * a[j];
    float scale = 1 / std::sqrt(sum / columns + eps);
    for (int64_t j = 0; j < columns; ++j) o[j] = a[j] * scale * b[j];
  }
}

void rms_backward(TensorView dx, TensorView dw, TensorView grad, TensorView x, TensorView w, double eps) {
  int64_t columns = x.size(-1), rows = columns ? x.numel() / columns : 0;
  float *p = floats(dx), *q = floats(dw), *g = floats(grad), *a = floats(x), *b = floats(w);
  for (int64_t j = 0; j < columns; ++j) q[j] = 0;
  for (int64_t i = 0; i < rows; ++i, a += columns, p += columns, g += columns) {
    double sum = 0, dot = 0;
    for (int64_t j = 0; j < columns; ++j) sum += double(a[j]) * a[j], dot += double(g[j]) * b[j] * a[j];
    double scale = 1 / std::sqrt(sum / columns + eps), cube = scale * scale * scale / columns;
    for (int64_t j = 0; j < columns; ++j) {
      p[j] = scale * g[j] * b[j] - cube * dot * a[j];
      q[j] += g[j] * a[j] * scale;
    }
  }
}

// in place, in any layout
void scale(TensorView x, double by) {
  float* p = floats(x);
  std::vector<int64_t> at(x.ndim(), 0);
  for (int64_t n = x.numel(); n > 0; --n) {
    int64_t offset = 0;
    for (int d = 0; d < x.ndim(); ++d) offset += at[d] * x.stride(d);
    p[offset] *= by;
    for (int d = x.ndim() - 1; d >= 0 && ++at[d] == x.size(d); --d) at[d] = 0;
  }
}

// memory of the caller's
ffi::Tensor doubled(TensorView x) {
  ffi::Tensor out = ffi::Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, x.shape(), x.dtype(), x.device());
  float *a = floats(x), *o = static_cast<float*>(out.data_ptr());
  for (int64_t i = 0; i < x.numel(); ++i) o[i] = 2 * a[i];
  return out;
}

// memory of its own
struct Own {
  void AllocData(DLTensor* t) { t->data = std::malloc(1024); ++living; }
  void FreeData(DLTensor* t) { std::free(t->data); --living; }
  static int living;
};
int Own::living = 0;

ffi::Tensor counted(int64_t n) {
  ffi::Tensor out = ffi::Tensor::FromNDAlloc(Own(), ffi::Shape({n}), DLDataType{kDLInt, 64, 1}, DLDevice{kDLCPU, 0});
  for (int64_t i = 0; i < n; ++i) static_cast<int64_t*>(out.data_ptr())[i] = i;
  return out;
}
int64_t living() { return Own::living; }

ffi::Array<ffi::Tensor> many(ffi::Array<ffi::Tensor> xs) {
  ffi::Array<ffi::Tensor> out;
  for (ffi::Tensor x : xs) out.push_back(doubled(x));
  return out;
}

ffi::Tensor same(ffi::Tensor x) { return x; }

int64_t summed(ffi::Array<int64_t> xs, ffi::Optional<int64_t> extra) {
  int64_t sum = extra.value_or(0);
  for (int64_t x : xs) sum += x;
  return sum;
}

ffi::String described(DLDataType dtype, DLDevice device, ffi::String name, bool loud) {
  return name + ": code " + std::to_string(dtype.code) + ", " + std::to_string(dtype.bits) + " bits, device " +
         std::to_string(device.device_type) + (loud ? "!" : "");
}

void fail(ffi::String kind) {
  if (kind == "ValueError") TVM_FFI_THROW(ValueError) << "a bad value";
  if (kind == "IndexError") TVM_FFI_THROW(IndexError) << "a bad index";
  if (kind == "ShapeError") TVM_FFI_THROW(ShapeError) << "a bad shape\n  got:  [3]\n  hint: another one";
  if (kind == "runtime_error") throw std::runtime_error("at run time");
  if (kind == "bad_alloc") throw std::bad_alloc();
}

// what a host in C++ does with functions that it finds by name
ffi::Any hosted(ffi::String name, ffi::Tensor x, ffi::Any other) {
  return ffi::Function::GetGlobalRequired(name)(x, other);
}

ffi::String told(ffi::String name, ffi::Tensor x, ffi::Tensor y) {
  try {
    ffi::Function::GetGlobalRequired(name)(x, y);
  } catch (const ffi::Error& error) {
    return error.kind() + " | " + error.message();
  }
  return "nothing";
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(rms, rms);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(rms_backward, rms_backward);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(scale, scale);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(doubled, doubled);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(counted, counted);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(living, living);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(many, many);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(same, same);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(summed, summed);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(described, described);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fail, fail);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(hosted, hosted);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(told, told);
