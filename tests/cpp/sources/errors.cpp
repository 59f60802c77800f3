// What C++ throws, and what it catches of Python's.
#include <torch/extension.h>

struct NotStandard {};
struct NoText : std::exception {
  const char* what() const noexcept override { return nullptr; }
};
static void boom(const std::string& kind) {
  if (kind == "check") TORCH_CHECK(false, "checked ", kind, " ", 42);
  if (kind == "bare") TORCH_CHECK(kind.empty());
  if (kind == "index") TORCH_CHECK_INDEX(false, "an index");
  if (kind == "value") TORCH_CHECK_VALUE(false, "a value");
  if (kind == "type") TORCH_CHECK_TYPE(false, "a type");
  if (kind == "not_implemented") TORCH_CHECK_NOT_IMPLEMENTED(false, "not here");
  if (kind == "error") AT_ERROR("an ", "error");
  if (kind == "invalid_argument") throw std::invalid_argument("std");
  if (kind == "out_of_range") throw std::out_of_range("std");
  if (kind == "domain_error") throw std::domain_error("std");
  if (kind == "length_error") throw std::length_error("std");
  if (kind == "range_error") throw std::range_error("std");
  if (kind == "overflow_error") throw std::overflow_error("std");
  if (kind == "underflow_error") throw std::underflow_error("std");
  if (kind == "runtime_error") throw std::runtime_error("std");
  if (kind == "logic_error") throw std::logic_error("std");
  if (kind == "bad_alloc") throw std::bad_alloc();
  if (kind == "bad_cast") throw std::bad_cast();
  if (kind == "bad_optional") c10::optional<int>().value();
  if (kind == "bad_function") std::function<void()>()();
  if (kind == "exception") throw std::exception();
  if (kind == "int") throw 3;
  if (kind == "other") throw NotStandard();
  if (kind == "no text") throw NoText();
  if (kind == "latin") throw std::runtime_error("caf\xe9 \xed\xa0\x80 \xf4\x90\x80\x80 \xc3\xa9 \xf0\x9f\x98\x80 \xe2\x82");
  if (kind == "checked latin") TORCH_CHECK(false, "caf\xe9");
}
static void throwing_fallback(const c10::OperatorHandle&, torch::jit::Stack*) { throw std::out_of_range("in a fallback"); }
static void leaves_nothing(const c10::OperatorHandle&, torch::jit::Stack* stack) { stack->clear(); }
static void leaves_text(const c10::OperatorHandle&, torch::jit::Stack* stack) { *stack = {c10::IValue(std::string("text"))}; }
static void leaves_more(const c10::OperatorHandle&, torch::jit::Stack* stack) { stack->emplace_back(1); }

TORCH_LIBRARY(cpperrors, m) {
  m.def("second(int[2] a) -> int", [](at::IntArrayRef a) { return a[1]; });
  for (auto name : {"leaves_nothing", "leaves_text", "leaves_more"})
    m.def(std::string(name) + "(Tensor x) -> Tensor");
  m.impl("leaves_nothing", torch::CppFunction::makeFromBoxedFunction<&leaves_nothing>());
  m.impl("leaves_text", torch::CppFunction::makeFromBoxedFunction<&leaves_text>());
  m.impl("leaves_more", torch::CppFunction::makeFromBoxedFunction<&leaves_more>());
  m.def("boom(str kind) -> ()", boom);
  m.def("as_float(Tensor x) -> float", [](const at::Tensor& x) { return double(*x.data_ptr<float>()); });
  m.def("needs_contiguous(Tensor x) -> int", [](const at::Tensor& x) {
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    return x.numel();
  });
  m.def("size(Tensor x, int d) -> int", [](const at::Tensor& x, int64_t d) { return x.size(d); });
  m.def("accessed(Tensor x) -> int", [](const at::Tensor& x) { return x.accessor<float, 2>().size(0); });
  m.def("item(Tensor x) -> float", [](const at::Tensor& x) { return x.item<double>(); });
  m.def("undefined(Tensor? x) -> int", [](const c10::optional<at::Tensor>& x) { return x.value_or(at::Tensor()).dim(); });
  m.def("from_python(Tensor a, Tensor b) -> Tensor", [](const at::Tensor& a, const at::Tensor& b) { return at::matmul(a, b); });
  m.def("caught(Tensor a, Tensor b) -> str", [](const at::Tensor& a, const at::Tensor& b) -> std::string {
    try {
      at::matmul(a, b);
    } catch (const c10::Error& e) {
      return e.kind() + ": " + e.what();
    }
    return "nothing";
  });
  m.def("unknown_op() -> ()", [] { c10::Dispatcher::singleton().findSchemaOrThrow("aten::there_is_none", ""); });
  m.def("empty_huge() -> Tensor", [] { return at::empty({int64_t(1) << 40, int64_t(1) << 40}); });
  m.def("empty_negative() -> Tensor", [] { return at::empty({-1}); });
  m.def("pop_too_much() -> ()", [] { torch::jit::Stack s; torch::jit::pop(s); });
  m.def("in_parallel() -> ()", [] {
    at::parallel_for(0, 100, 1, [](int64_t i, int64_t) { TORCH_CHECK_VALUE(i < 50, "in a thread"); });
  });
  m.def("boxed(Tensor x) -> Tensor");
  m.impl("boxed", torch::dispatch(c10::kCPU, torch::CppFunction::makeFromBoxedFunction<&throwing_fallback>()));
}
