// The ops of cpp_ops.py: the same source for opweave and for PyTorch.
#include <torch/library.h>
#include <torch/torch.h>

static void nothing(const at::Tensor&) {}
static at::Tensor& scale_(at::Tensor& x, double by) {
  float* data = x.data_ptr<float>();
  for (int64_t i = 0, n = x.numel(); i < n; i++) data[i] *= by;
  return x;
}
static at::Tensor add(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor out = at::empty_like(a);
  const float *x = a.data_ptr<float>(), *y = b.data_ptr<float>();
  float* to = out.data_ptr<float>();
  for (int64_t i = 0, n = a.numel(); i < n; i++) to[i] = x[i] + y[i];
  return out;
}
static void many(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                 const at::Tensor&, int64_t, int64_t, double, double, bool, bool, const c10::optional<at::Tensor>&,
                 at::IntArrayRef) {}

TORCH_LIBRARY(cpp_bench, m) {
  m.def("nothing(Tensor x) -> ()");
  m.def("scale_(Tensor(a!) x, float by) -> Tensor(a!)");
  m.def("add(Tensor a, Tensor b) -> Tensor");
  m.def(
      "many(Tensor a, Tensor b, Tensor c, Tensor d, Tensor e, Tensor f, int g, int h, float i, float j, bool k, bool l, "
      "Tensor? m, int[] n) -> ()");
  m.def("add_with_gradient(Tensor a, Tensor b) -> Tensor");
}
TORCH_LIBRARY_IMPL(cpp_bench, CPU, m) {
  m.impl("nothing", nothing);
  m.impl("scale_", scale_);
  m.impl("add", add);
  m.impl("many", many);
  m.impl("add_with_gradient", add);
}
