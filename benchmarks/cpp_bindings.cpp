// The same functions for pybind11 (BINDING=1) and nanobind (BINDING=2), over NumPy's arrays.
#include <vector>
#if BINDING == 1
#include <pybind11/numpy.h>
#include <pybind11/stl.h>
namespace py = pybind11;
using Array = py::array_t<float, py::array::c_style>;
static void nothing(const Array&) {}
static void scale(Array& x, double by) {
  float* data = x.mutable_data();
  for (py::ssize_t i = 0, n = x.size(); i < n; i++) data[i] *= float(by);
}
static Array add(const Array& a, const Array& b) {
  Array out(std::vector<py::ssize_t>(a.shape(), a.shape() + a.ndim()));
  for (py::ssize_t i = 0, n = a.size(); i < n; i++) out.mutable_data()[i] = a.data()[i] + b.data()[i];
  return out;
}
static void many(const Array&, const Array&, const Array&, const Array&, const Array&, const Array&, long, long, double,
                 double, bool, bool, py::object, const std::vector<long>&) {}
PYBIND11_MODULE(pybind_bench, m) { m.def("nothing", nothing).def("scale_", scale).def("add", add).def("many", many); }
#else
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>
namespace nb = nanobind;
using Array = nb::ndarray<float, nb::c_contig, nb::device::cpu>;
using Result = nb::ndarray<nb::numpy, float>;
static void nothing(const Array&) {}
static void scale(const Array& x, double by) {
  for (size_t i = 0, n = x.size(); i < n; i++) x.data()[i] *= float(by);
}
static Result add(const Array& a, const Array& b) {
  float* out = new float[a.size()];
  for (size_t i = 0, n = a.size(); i < n; i++) out[i] = a.data()[i] + b.data()[i];
  nb::capsule owner(out, [](void* p) noexcept { delete[] static_cast<float*>(p); });
  std::vector<size_t> shape(a.ndim());
  for (size_t i = 0; i < a.ndim(); i++) shape[i] = a.shape(i);
  return Result(out, a.ndim(), shape.data(), owner);
}
static void many(const Array&, const Array&, const Array&, const Array&, const Array&, const Array&, long, long, double,
                 double, bool, bool, nb::object, const std::vector<long>&) {}
NB_MODULE(nanobind_bench, m) { m.def("nothing", nothing).def("scale_", scale).def("add", add).def("many", many, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg()); }
#endif
