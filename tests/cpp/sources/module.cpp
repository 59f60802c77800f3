// A Python module of functions, written as for pybind11.
#include <torch/extension.h>
#include <pybind11/stl.h>
using namespace pybind11::literals;

at::Tensor scaled(at::Tensor x, float by, int n) { return x * by + n; }
void fill(at::Tensor x, const at::Tensor& from, double v) { x.copy_(from + v); }
at::Tensor& grow_(at::Tensor& x, const at::Tensor& by) { return x.add_(by); }
std::pair<at::Tensor, int> pairs(const at::Tensor& x) {
  TORCH_CHECK(x.dim() < 4, "too many dimensions")  // no semicolon, as some sources have it
  return {x + 1, int(x.dim())};
}
std::vector<at::Tensor> norms(torch::Tensor x) { return {x.norm(), x.norm(1, 1), at::norm(x, 2, {0, 1}, true)}; }
std::tuple<at::Tensor, at::Tensor> both(std::vector<at::Tensor> xs, c10::optional<at::Tensor> y, bool flag) {
  return {flag ? xs[0] : -xs[0], y ? *y : xs[1].type_as(xs[0])};
}
int64_t which(at::Tensor) { return 1; }
int64_t which_of_two(at::Tensor, at::Tensor) { return 2; }
unsigned char small(unsigned char v) { return v; }
std::string text(const std::string& a, std::vector<int64_t> sizes, double limit) { return a + std::to_string(sizes.size()) + (limit > 1e300 ? "!" : ""); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.doc() = "Functions.";
  m.def("scaled", &scaled, "x * by + n", py::arg("x"), py::arg("by") = 2.0f, py::arg("n") = 1);
  m.def("fill", &fill, py::call_guard<py::gil_scoped_release>());
  m.def("grow_", &grow_);
  m.def("pairs", &pairs, "x"_a);
  m.def("norms", norms);
  m.def("both", &both, "xs"_a, "y"_a = py::none(), py::kw_only(), "flag"_a = false);
  m.def("which", &which);
  m.def("which", &which_of_two);
  m.def("small", &small);
  m.def("text", &text, "a"_a = "by default", "sizes"_a = std::vector<int64_t>{1, 2}, "limit"_a = INFINITY);
  m.def("name", []() { return "hello"; });
}
