// Each example of PyTorch's page "Torch Library API", made whole.
#include <torch/library.h>
#include <torch/torch.h>

namespace {
int boxed_calls = 0, functor_calls = 0;

at::Tensor add_impl(const at::Tensor& self, const at::Tensor& other) {
  at::Tensor a = self.contiguous(), b = other.contiguous();
  at::Tensor out = at::empty_like(a);
  for (int64_t i = 0; i < a.numel(); i++) out.data_ptr<float>()[i] = a.data_ptr<float>()[i] + b.data_ptr<float>()[i];
  return out;
}
at::Tensor add_cpu_impl(const at::Tensor& self, const at::Tensor& other) { return add_impl(self, other); }
at::Tensor add_fn(const at::Tensor& self, const at::Tensor& other) { return add_impl(self, other); }
double overloaded(double x) { return x + 1; }
int64_t overloaded(int64_t x) { return x + 2; }
at::Tensor roi_align(const at::Tensor& boxes, double scale) { return boxes * scale; }
at::Tensor copy_of(const at::Tensor& self) { return self.clone(); }
struct Times : c10::OperatorKernel {
  double factor;
  explicit Times(double factor) : factor(factor) {}
  at::Tensor operator()(const at::Tensor& self) { return self * factor; }
};
}  // namespace

// --- TORCH_LIBRARY
TORCH_LIBRARY(myops, m) {
  // m is a torch::Library; methods on it will define
  // operators in the myops namespace
  m.def("add", add_impl);
  // def with a schema alone; def with a schema and a function; chained
  m.def("add_later(Tensor self, Tensor other) -> Tensor").def("add_fn(Tensor self, Tensor other) -> Tensor", add_fn);
  // Default alias analysis (FROM_SCHEMA)
  m.def("def3(Tensor self) -> Tensor");
  // Pure function alias analysis
  m.def(torch::schema("def4(Tensor self) -> Tensor", c10::AliasAnalysisKind::PURE_FUNCTION));
  m.def(torch::schema("def5(Tensor self) -> Tensor", c10::AliasAnalysisKind::CONSERVATIVE));
  m.def(torch::schema("def6(Tensor self) -> Tensor"));
  m.def("tagged(Tensor self) -> Tensor", {at::Tag::pt2_compliant_tag, at::Tag::pointwise});
  // function pointers, compile time function pointers, lambdas
  m.def("from_pointer", &add_impl);
  m.def("from_fn", TORCH_FN(add_impl));
  m.def("from_lambda", [](const at::Tensor& self) { return self.clone(); });
  m.def("from_functor(Tensor self) -> Tensor");
  m.def("from_made_lambda(Tensor self) -> Tensor");
  m.def("overloaded.float(float x) -> float", static_cast<double (*)(double)>(&overloaded));
  m.def("overloaded.int(int x) -> int", static_cast<int64_t (*)(int64_t)>(&overloaded));
  // tags with a function; a schema whose type may be any
  m.def("tagged_fn(Tensor self) -> Tensor", copy_of, {at::Tag::pointwise});
  m.def(torch::schema("any_of(t x) -> t", c10::AliasAnalysisKind::FROM_SCHEMA, /*allow_typevars=*/true));
  m.def(torch::schema("any_too(t x) -> t", true));
  m.def("boxed_calls() -> int", [] { return int64_t(boxed_calls); });
  m.def("functor_calls() -> int", [] { return int64_t(functor_calls); });
}

// --- TORCH_LIBRARY_IMPL
TORCH_LIBRARY_IMPL(myops, CPU, m) {
  // m is a torch::Library; methods on it will define
  // CPU implementations of operators in the myops namespace.
  // It is NOT valid to call torch::Library::def()
  // in this context.
  m.impl("add_later", add_cpu_impl);
  m.impl("def3", TORCH_FN(copy_of));
  m.impl("def4", [](const at::Tensor& self) { return self.clone(); });
  m.impl("tagged", torch::CppFunction::makeFromUnboxedFunction(copy_of));
  m.impl("from_functor", torch::CppFunction::makeFromUnboxedFunctor(std::make_unique<Times>(3)));
  m.impl("from_made_lambda", torch::CppFunction::makeFromUnboxedLambda([](const at::Tensor& self) { return self.clone(); })
                                 .debug("a lambda"));
  m.impl("def5", torch::CppFunction::makeFromUnboxedFunction(TORCH_FN(copy_of)));
}
TORCH_LIBRARY_IMPL(myops, CUDA, m) { m.impl("add_later", add_cpu_impl); }

// --- Library
TORCH_LIBRARY(torchvision, m) {
  // m is a torch::Library
  m.def("roi_align", roi_align);
}

// --- TORCH_LIBRARY_FRAGMENT, torch::dispatch
TORCH_LIBRARY_FRAGMENT(myops, m) {
  m.def("by_key(Tensor self) -> Tensor", torch::dispatch(c10::DispatchKey::CPU, copy_of));
  m.def("by_device(Tensor self) -> Tensor");
  m.impl("by_device", torch::dispatch(c10::kCPU, TORCH_FN(copy_of)));
  m.impl("def6", torch::dispatch(c10::DeviceType::CPU, [](const at::Tensor& self) { return self.clone(); }));
}

// --- _RegisterOrVerify: nothing is registered, what is there is looked at
TORCH_LIBRARY_FRAGMENT(myops, m) {
  m.def("add_later(Tensor self, Tensor other) -> Tensor", {}, torch::_RegisterOrVerify::VERIFY);
}
TORCH_LIBRARY_IMPL(myops, CPU, m) { m.impl("add_later", add_cpu_impl, torch::_RegisterOrVerify::VERIFY); }

// --- impl_abstract_pystub, which is set_python_module by its older name
TORCH_LIBRARY_FRAGMENT(myops, m) {
  m.impl_abstract_pystub("myops_rules_that_are_not_installed", "pip install myops").def("elsewhere(Tensor x) -> Tensor");
  m.impl("elsewhere", torch::dispatch(c10::kCPU, copy_of));
}

// --- makeFallthrough
TORCH_LIBRARY_IMPL(myops, Autograd, m) { m.impl("tagged", torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(_, AutogradXLA, m) {
  // If there is not a kernel explicitly registered
  // for AutogradXLA, fallthrough to the next
  // available kernel
  m.fallback(torch::CppFunction::makeFallthrough());
}

// --- boxed: a function, and a functor with state
static void count_calls(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  boxed_calls++;
  TORCH_CHECK(stack->size() == op.schema().arguments().size());
  op.redispatchBoxed(keys.remove(c10::DispatchKey::BackendSelect), stack);
}
TORCH_LIBRARY_IMPL(_, BackendSelect, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&count_calls>()); }

static void twice(const c10::OperatorHandle&, torch::jit::Stack* stack) {
  at::Tensor x = torch::jit::pop(*stack).toTensor();
  torch::jit::push(*stack, x + x);
}
struct Scaled : c10::OperatorKernel {
  double factor;
  explicit Scaled(double factor) : factor(factor) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
    functor_calls++;
    at::Tensor x = torch::jit::pop(*stack).toTensor();
    torch::jit::push(*stack, x * factor);
  }
};
static void as_it_is(const c10::OperatorHandle&, torch::jit::Stack*) {}
TORCH_LIBRARY_IMPL(myops, CompositeImplicitAutograd, m) {
  m.impl("any_of", torch::CppFunction::makeFromBoxedFunction<&as_it_is>());
  m.impl("any_too", torch::CppFunction::makeFromBoxedFunction<&as_it_is>());
}
TORCH_LIBRARY_FRAGMENT(myops, m) {
  m.def("twice(Tensor self) -> Tensor", torch::dispatch(c10::DispatchKey::CPU, torch::CppFunction::makeFromBoxedFunction<&twice>()));
  m.def("scaled(Tensor self) -> Tensor");
  m.impl("scaled", torch::dispatch(c10::kCPU, torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Scaled>(2.5))));
}
