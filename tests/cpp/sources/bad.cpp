// Libraries that must not load, one for each number of BAD.
#if BAD == 8  // built for another version of the interface
#include <opweave/abi.h>
#undef OPWEAVE_ABI_VERSION
#define OPWEAVE_ABI_VERSION 77
#endif
#include <opweave/library.h>

using opweave::Tensor;
static Tensor same(const Tensor& x) { return x; }

#if BAD == 1  // a second library for a namespace
OPWEAVE_LIBRARY(cppbad_twice, m) { m.def("f", same); }
#elif BAD == 2  // a kernel of another type than the schema
OPWEAVE_LIBRARY(cppbad_type, m) {
  m.def("fine", same);
  m.def("f(Tensor x, int k) -> Tensor", [](const Tensor& x, double) { return x; });
}
#elif BAD == 3  // def in an IMPL
OPWEAVE_LIBRARY_FRAGMENT(cppbad_impl, m) { m.def("fine", same); }
OPWEAVE_LIBRARY_IMPL(cppbad_impl, CPU, m) { m.def("f(Tensor x) -> Tensor"); }
#elif BAD == 4  // half way: two ops, a fallback, then a schema that cannot be read
OPWEAVE_LIBRARY(cppbad_half, m) {
  m.def("f", same);
  m.def("g(Tensor x) -> Tensor").impl("g", opweave::dispatch(opweave::kCPU, same));
}
OPWEAVE_LIBRARY_IMPL(_, PreDispatch, m) { m.fallback(opweave::CppFunction::makeFallthrough()); }
OPWEAVE_LIBRARY_IMPL(aten, PreDispatch, m) { m.impl("relu", same); }
OPWEAVE_LIBRARY_FRAGMENT(cppbad_half, m) { m.def("h(Tensor x -> Tensor"); }
#elif BAD == 5  // an op that is not there
OPWEAVE_LIBRARY_IMPL(cppbad_none, CPU, m) { m.impl("f", same); }
#elif BAD == 6  // throws while it registers
OPWEAVE_LIBRARY(cppbad_throws, m) {
  m.def("f", same);
  throw std::runtime_error("no registration today");
}
#elif BAD == 7  // has the headers and registers nothing
int nothing = int(sizeof(Tensor));
#elif BAD == 8
OPWEAVE_LIBRARY(cppbad_version, m) { m.def("f", same); }
#elif BAD == 9  // an unboxed fallback
OPWEAVE_LIBRARY_IMPL(_, BackendSelect, m) { m.fallback(same); }
#endif
