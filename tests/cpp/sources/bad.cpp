// Libraries that must not load. BAD=1, 7 and 8 are built by themselves; of the others, which are all in one, the
// variable OPWEAVE_TEST_BAD of the environment chooses one when a copy of the library is loaded.
#ifndef BAD
#define BAD 0
#endif
#if BAD == 8  // built for another version of the interface
#include <opweave/abi.h>
#undef OPWEAVE_ABI_VERSION
#define OPWEAVE_ABI_VERSION 77
#endif
#include <opweave/library.h>

using opweave::Tensor;

#if BAD == 1  // a second library for a namespace
OPWEAVE_LIBRARY(cppbad_twice, m) { m.def("f", [](const Tensor& x) { return x; }); }
#elif BAD == 7  // has the headers and registers nothing
int nothing = int(sizeof(Tensor));
#elif BAD == 8
OPWEAVE_LIBRARY(cppbad_version, m) { m.def("f", [](const Tensor& x) { return x; }); }
#else
static Tensor same(const Tensor& x) { return x; }
static bool is(char number) {
  const char* chosen = std::getenv("OPWEAVE_TEST_BAD");
  return chosen && chosen[0] == number;
}
// 2: a kernel of another type than the schema
OPWEAVE_LIBRARY(cppbad_type, m) {
  m.def("fine", same);
  if (is('2')) m.def("f(Tensor x, int k) -> Tensor", [](const Tensor& x, double) { return x; });
}
// 3: def in an IMPL
OPWEAVE_LIBRARY_IMPL(cppbad_type, CPU, m) {
  if (is('3')) m.def("f(Tensor x) -> Tensor");
}
// 4: half way: two ops, a fallback, a kernel of a built-in op, then a schema that cannot be read
OPWEAVE_LIBRARY(cppbad_half, m) {
  m.def("f", same);
  m.def("g(Tensor x) -> Tensor").impl("g", opweave::dispatch(opweave::kCPU, same));
}
OPWEAVE_LIBRARY_IMPL(_, PreDispatch, m) {
  if (is('4')) m.fallback(opweave::CppFunction::makeFallthrough());
}
OPWEAVE_LIBRARY_IMPL(aten, PreDispatch, m) {
  if (is('4')) m.impl("relu", same);
}
OPWEAVE_LIBRARY_IMPL(cppbad_half, CPU, m) {
  if (is('4')) m.impl("f", [](const Tensor&) { return 1.0; });
}
// 5: a built-in op that is not there
OPWEAVE_LIBRARY_IMPL(aten, CPU, m) {
  if (is('5')) m.impl("there_is_none", same);
}
// 6: throws while it registers
OPWEAVE_LIBRARY(cppbad_throws, m) {
  m.def("f", same);
  if (is('6')) throw std::runtime_error("no registration today");
}
// 9: an unboxed fallback
OPWEAVE_LIBRARY_IMPL(_, BackendSelect, m) {
  if (is('9')) m.fallback(same);
}
// v, w, x: an op, another schema of it, a kernel that is only to be verified, and is not there
OPWEAVE_LIBRARY_FRAGMENT(cppbad_half, m) {
  constexpr auto verify = opweave::_RegisterOrVerify::VERIFY;
  if (is('v')) m.def("nothing(Tensor x) -> Tensor", {}, verify);
  if (is('w')) m.def("g(Tensor x, int k) -> Tensor", {}, verify);
}
OPWEAVE_LIBRARY_IMPL(cppbad_half, CUDA, m) {
  if (is('x')) m.impl("g", same, opweave::_RegisterOrVerify::VERIFY);
}
// a schema that cannot be read
OPWEAVE_LIBRARY_FRAGMENT(cppbad_half, m) {
  if (is('s')) m.def("h(Tensor x -> Tensor");
}
#endif
