// Kernels at the keys above a device, and autograd in C++.
#include <torch/extension.h>

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

static at::Tensor square_cpu(const at::Tensor& x) {
  at::Tensor in = x.contiguous(), out = at::empty_like(in);
  for (int64_t i = 0; i < in.numel(); i++) out.data_ptr<float>()[i] = in.data_ptr<float>()[i] * in.data_ptr<float>()[i];
  return out;
}
static at::Tensor square_meta(const at::Tensor& x) { return at::empty_like(x); }
static at::Tensor square_op(const at::Tensor& x) {
  static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("cppkeys::square", "").typed<at::Tensor(const at::Tensor&)>();
  return op.call(x);
}

class Square : public torch::autograd::Function<Square> {
 public:
  static Variable forward(AutogradContext* ctx, Variable x, double factor) {
    at::AutoDispatchBelowADInplaceOrView guard;
    ctx->save_for_backward({x});
    ctx->saved_data["factor"] = factor;
    return square_op(x);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto x = ctx->get_saved_variables()[0];
    return {grads[0] * x * 2 * ctx->saved_data["factor"].toDouble(), Variable()};
  }
};
static at::Tensor square_autograd(const at::Tensor& x) { return Square::apply(x, 1.0); }

// Several outputs, one of which has no gradient; an input that needs none.
class SortBoth : public torch::autograd::Function<SortBoth> {
 public:
  static variable_list forward(AutogradContext* ctx, Variable x, c10::optional<Variable> scale) {
    auto result = x.sort(-1);
    ctx->save_for_backward({std::get<1>(result)});
    ctx->mark_non_differentiable({std::get<1>(result)});
    return {std::get<0>(result), std::get<1>(result)};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto index = ctx->get_saved_variables()[0];
    return {at::zeros_like(grads[0]).scatter(-1, index, grads[0]), Variable()};
  }
};

static at::Tensor composite(const at::Tensor& x) { return (x * x).sum(-1) + x.select(-1, 0); }

// cppkeys::batched doubles; on a batch it says so by adding one.
static at::Tensor batched_cpu(const at::Tensor& x) { return x * 2; }
static at::Tensor batched_rule(const at::Tensor& x) { return x * 2 + 1; }

static int64_t seen = 0;
static void count(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  seen++;
  at::AutoDispatchBelowAutograd guard;
  op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
}

// Takes the keys of the call, and hands on to those below.
static at::Tensor keyed_autograd(c10::DispatchKeySet keys, const at::Tensor& x, double by) {
  static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("cppkeys::keyed", "")
                       .typed<at::Tensor(const at::Tensor&, double)>();
  return op.redispatch(keys & c10::after_autograd_keyset, x, by) + 1;
}
static at::Tensor cast_autocast(const at::Tensor& x) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::Autocast);
  static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("cppkeys::cast", "").typed<at::Tensor(const at::Tensor&)>();
  return op.call(at::autocast::cached_cast(at::kFloat, x, at::kCPU));
}

static at::Tensor lower_autocast(const at::Tensor& x, const at::Tensor& w) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::Autocast);
  at::Tensor a = at::autocast::cached_cast(at::kBFloat16, w, at::kCPU), b = at::autocast::cached_cast(at::kBFloat16, w, at::kCPU);
  TORCH_CHECK(at::autocast::cached_cast(at::kBFloat16, x).scalar_type() == x.scalar_type(), "not of that device");
  return at::mul(at::autocast::cached_cast(at::kBFloat16, x, at::kCPU), a) + b;
}

TORCH_LIBRARY(cppkeys, m) {
  m.def("lower(Tensor x, Tensor w) -> Tensor");
  m.def("keyed(Tensor x, float by) -> Tensor");
  m.def("cast(Tensor x) -> Tensor");
  m.def("part(Tensor x) -> Tensor", [](const at::Tensor& x) { return x.narrow(0, 1, 1); });
  m.def("square(Tensor x) -> Tensor");
  m.def("sort_both(Tensor x, Tensor? scale=None) -> (Tensor, Tensor)", [](const at::Tensor& x, c10::optional<at::Tensor> scale) {
    auto r = SortBoth::apply(x, scale);
    return std::make_tuple(r[0], r[1]);
  });
  m.def("composite", composite);
  m.def("batched(Tensor x) -> Tensor");
  m.def("counted(Tensor x) -> Tensor");
  m.def("seen() -> int", [] { return seen; });
  m.def("requires_grad(Tensor x) -> bool", [](const at::Tensor& x) { return x.requires_grad(); });
  m.def("no_grad(Tensor x) -> Tensor", [](const at::Tensor& x) {
    torch::NoGradGuard guard;
    return x * 2;
  });
  m.def("grad_mode() -> bool", [] { return at::GradMode::is_enabled(); });
  m.def("missing(Tensor x) -> Tensor");
  m.def("view_of(Tensor(a) x) -> Tensor(a)", [](const at::Tensor& x) { return x.t(); });
}
TORCH_LIBRARY_IMPL(cppkeys, CPU, m) {
  m.impl("square", square_cpu);
  m.impl("batched", batched_cpu);
  m.impl("keyed", [](const at::Tensor& x, double by) { return x * by; });
  m.impl("cast", [](const at::Tensor& x) { return x.clone(); });
  m.impl("counted", square_cpu);
  m.impl("missing", square_cpu);
}
TORCH_LIBRARY_IMPL(cppkeys, Meta, m) {
  m.impl("square", square_meta);
  m.impl("batched", square_meta);
  m.impl("counted", square_meta);
}
TORCH_LIBRARY_IMPL(cppkeys, Autograd, m) {
  m.impl("square", square_autograd);
  m.impl("counted", torch::CppFunction::makeFromBoxedFunction<&count>());
}
TORCH_LIBRARY_IMPL(cppkeys, AutogradCPU, m) { m.impl("keyed", keyed_autograd); }
TORCH_LIBRARY_IMPL(cppkeys, Autocast, m) {
  m.impl("cast", cast_autocast);
  m.impl("lower", lower_autocast);
}
TORCH_LIBRARY_IMPL(cppkeys, FuncTorchBatched, m) { m.impl("batched", batched_rule); }
TORCH_LIBRARY_FRAGMENT(cppkeys, m) {
  m.set_python_module("cppkeys_rules_that_are_not_installed", "pip install cppkeys");
  m.def("elsewhere(Tensor x) -> Tensor");
  m.impl("elsewhere", torch::dispatch(c10::kCPU, square_cpu));
}
