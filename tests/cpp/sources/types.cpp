// Every type that a schema has, in and out; tensors in C++; and the dispatcher called from C++.
#include <torch/extension.h>

using c10::optional;

TORCH_LIBRARY(cpptypes, m) {
  m.def("scalars(int i, float f, bool b, str s, Scalar n) -> str", [](int64_t i, double f, bool b, std::string s, const at::Scalar& n) {
    return s + ":" + std::to_string(i) + ":" + std::to_string(int(f * 2)) + (b ? ":yes:" : ":no:") + std::to_string(n.isFloatingPoint()) + std::to_string(n.toLong());
  });
  m.def("optionals(int? i, float? f, Tensor? t, str? s, int[]? n, Scalar? v) -> int", [](optional<int64_t> i, optional<double> f, const optional<at::Tensor>& t, optional<std::string> s, at::OptionalIntArrayRef n, const optional<at::Scalar>& v) -> int64_t {
    return i.has_value() | f.has_value() << 1 | t.has_value() << 2 | s.has_value() << 3 | n.has_value() << 4 | v.has_value() << 5;
  });
  m.def("lists(int[] i, float[] f, bool[] b, str[] s, Tensor[] t, Tensor?[] o) -> int[]", [](at::IntArrayRef i, const std::vector<double>& f, std::vector<bool> b, std::vector<std::string> s, at::TensorList t, const c10::List<optional<at::Tensor>>& o) {
    int64_t there = 0;
    for (const auto& x : o) there += x.has_value() && x->defined();
    return std::vector<int64_t>{i.empty() ? -1 : i[i.size() - 1], int64_t(f.size()), int64_t(b.size()), int64_t(s.size()), int64_t(t.size()), there};
  });
  m.def("fixed(int[2] a) -> int", [](std::array<int64_t, 2> a) { return a[0] * 10 + a[1]; });
  m.def("kinds(ScalarType t, Device d, MemoryFormat f, Layout? l=None) -> (ScalarType, Device)", [](at::ScalarType t, at::Device d, at::MemoryFormat f, optional<at::Layout>) {
    TORCH_CHECK(f == at::MemoryFormat::Contiguous);
    return std::make_tuple(t, d);
  });
  m.def("make(ScalarType t) -> Tensor", [](at::ScalarType t) { return at::full({2}, 3, at::dtype(t)); });
  m.def("sym(SymInt n, SymInt[] size) -> SymInt", [](c10::SymInt n, c10::SymIntArrayRef size) { return n + int64_t(size.size()); });
  m.def("several(Tensor x) -> (Tensor, int, Tensor[], Tensor?)", [](at::Tensor x) {
    return std::make_tuple(x.clone(), x.numel(), std::vector<at::Tensor>{x.clone(), x.clone()}, optional<at::Tensor>());
  });
  m.def("foreach(Tensor(a!)[] t) -> Tensor[]", [](at::TensorList t) {
    at::_foreach_mul_(t, 2.0);
    at::_foreach_add_(t, std::vector<at::Scalar>{1.0, 2});
    return at::_foreach_sqrt(t);
  });
  m.def("counted(Tensor x) -> (Tensor, Tensor[])", [](const at::Tensor& x) { return at::histogramdd(x, {2, 3}); });
  m.def("draw(int n, Generator? generator=None) -> Tensor", [](int64_t n, optional<at::Generator> g) { return at::rand({n}); });
  m.def("uniform_(Tensor(a!) x, Generator? generator) -> ()", [](at::Tensor x, optional<at::Generator> g) { x.uniform_(0, 1, g); });
  m.def("seeds(Generator g, int seed) -> (int, int, Generator)", [](at::Generator g, int64_t seed) {
    int64_t before = int64_t(g.current_seed());
    g.set_current_seed(uint64_t(seed));
    return std::make_tuple(before, int64_t(g.current_seed()), g);
  });
  m.def("source(int seed) -> Generator", [](int64_t seed) { return at::make_generator<at::CPUGeneratorImpl>(uint64_t(seed)); });
  m.def("negated(Scalar s) -> Scalar", [](const at::Scalar& s) { return -s; });
  m.def("times(Tensor x, Scalar s, Scalar? t=None) -> Tensor", [](const at::Tensor& x, const at::Scalar& s, const optional<at::Scalar>& t) { return x.mul(t ? s.toComplexDouble() * t->toComplexDouble() : at::Scalar(s)); });
  m.def("halves(float a, float b) -> bool[]", [](double x, double y) {
    at::Half a = float(x), b = float(y);
    at::BFloat16 c = float(x);
    return std::vector<bool>{a < b, a == b, a > 0, float(y) <= a, c != c, c >= 2, 1.5 < b};
  });
  m.def("real(Scalar s) -> float", [](const at::Scalar& s) { return s.toDouble(); });
  m.def("write_(Tensor(a!) self, Tensor other) -> Tensor(a!)", [](at::Tensor& self, const at::Tensor& other) -> at::Tensor& { return self.add_(other); });
  m.def("by_value(Tensor x, *, float scale=2.0) -> Tensor", [](at::Tensor x, double scale) { return x * scale; });
  m.def("itself(Tensor x) -> Tensor", [](const at::Tensor& x) { return x; });
  m.def("nothing(Tensor x) -> ()", [](const at::Tensor&) {});
  m.def("dict(Dict(str, Tensor) d) -> Tensor", [](const c10::Dict<std::string, at::Tensor>& d) { return d.at("a") + d.at("b"); });

  m.def("looks(Tensor x) -> int[]", [](const at::Tensor& x) {
    std::vector<int64_t> found{x.dim(), x.numel(), x.is_contiguous(), x.element_size(), int64_t(x.nbytes()), x.is_floating_point(), x.storage_offset()};
    for (auto s : x.sizes()) found.push_back(s);
    for (auto s : x.strides()) found.push_back(s);
    return found;
  });
  m.def("trace(Tensor x) -> float", [](const at::Tensor& x) {
    auto a = x.accessor<float, 2>();
    double total = 0;
    for (int64_t i = 0; i < std::min(a.size(0), a.size(1)); i++) total += a[i][i];
    return total;
  });
  m.def("sum_any(Tensor x) -> float", [](const at::Tensor& x) {
    double total = 0;
    at::Tensor c = x.contiguous();
    AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, c.scalar_type(), "sum_any", [&] {
      for (int64_t i = 0; i < c.numel(); i++) total += double(c.data_ptr<scalar_t>()[i]);
    });
    return total;
  });
  m.def("through_ops(Tensor a, Tensor b) -> Tensor", [](const at::Tensor& a, const at::Tensor& b) {
    auto x = at::mul(a, b) + a.relu() - 1;
    x = torch::where(x > 0, x, -x) / (b.abs() + 1.0);
    x += a;
    return at::cat({x.unsqueeze(0), x.unsqueeze(0)}, 0).sum(0).to(at::kDouble);
  });
  m.def("indexed(Tensor x) -> (Tensor, Tensor, Tensor)", [](at::Tensor x) {
    using namespace torch::indexing;
    auto y = x.clone();
    y[0] = x[1];
    y.index_put_({1, Slice(1, None)}, 7);
    return std::make_tuple(x.index({Slice(), -1}).clone(), x.index({torch::tensor({1, 0})}), y);
  });
  m.def("by_name(Tensor x) -> Tensor", [](const at::Tensor& x) {
    return c10::Dispatcher::singleton().findSchemaOrThrow("aten::mul", "Tensor").typed<at::Tensor(const at::Tensor&, const at::Tensor&)>().call(x, x);
  });
  m.def("options(Tensor x) -> Tensor", [](const at::Tensor& x) {
    auto z = torch::zeros({2, 3}, x.options().dtype(torch::kLong)) + torch::ones_like(x, torch::dtype(torch::kLong)).sum();
    return z.t();
  });
  m.def("spin(int ms) -> ()", [](int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); });
  m.def("parallel_sum(Tensor x) -> float", [](const at::Tensor& x) {
    auto data = x.data_ptr<double>();
    auto doubled = torch::empty_like(x);
    at::parallel_for(0, x.numel(), 100, [&](int64_t begin, int64_t end) {
      for (auto i = begin; i < end; i++) doubled.data_ptr<double>()[i] = 2 * data[i];
    });
    return at::parallel_reduce(int64_t(0), x.numel(), int64_t(100), 0.0, [&](int64_t begin, int64_t end, double sum) {
      for (auto i = begin; i < end; i++) sum += doubled.data_ptr<double>()[i];
      return sum;
    }, std::plus<double>());
  });
}
