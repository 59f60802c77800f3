// Registration of ops: TORCH_LIBRARY and its like.
//
// Static initialisers only note which functions there are. The host asks for them, once the library is loaded, through
// one exported function, and what they register comes back as plain data: so an error in one of them is a Python
// exception with the C++ file and line, and a library that fails half way leaves nothing.
#pragma once
#include <functional>

#include "dispatcher.h"

namespace OPWEAVE_HIDDEN opweave {

// Base of functors that are kernels.
struct OperatorKernel {
  virtual ~OperatorKernel() = default;
};

template <class F, F* f>
struct CompileTimeFunctionPointer {
  using FuncType = F;
  static constexpr F* func_ptr() { return f; }
};

namespace detail {
template <class T>
inline constexpr bool is_compile_time = false;
template <class F, F* f>
inline constexpr bool is_compile_time<CompileTimeFunctionPointer<F, f>> = true;
template <class F>
struct FixedFunction;
template <class R, class... A, R (*f)(A...)>
struct FixedFunction<CompileTimeFunctionPointer<R(A...), f>> {
  R operator()(A... a) const { return f(std::forward<A>(a)...); }
};
// A boxed kernel is given (op, keys, arguments in the order of the schema) and returns a list of results.
template <class F>
class Boxed final : public Kernel {
 public:
  explicit Boxed(F f) : f_(std::move(f)) {}
  void call(const TVMFFIAny* args, int n, TVMFFIAny* result) override {
    if (n < 2) throw TypeError("a boxed kernel was called without its op");
    OperatorHandle op{std::string(text_of(args[0]))};
    DispatchKeySet keys{uint64_t(int_of(args[1]))};
    Stack stack;
    stack.reserve(size_t(n));
    for (int i = 2; i < n; i++) stack.push_back(IValue::share(args[i]));
    Watched watching(true);
    f_(op, keys, &stack);
    *result = IValue::list(stack).release();
  }

 private:
  F f_;
};
}  // namespace detail

class CppFunction {
 public:
  using BoxedKernelFunction = void(const OperatorHandle&, Stack*);
  using BoxedKernelFunction_withDispatchKeys = void(const OperatorHandle&, DispatchKeySet, Stack*);

  // A function, a pointer to one, TORCH_FN(f), or a lambda.
  template <class F, std::enable_if_t<!std::is_same_v<std::decay_t<F>, CppFunction>, int> = 0>
  CppFunction(F&& f) {
    using D = std::decay_t<F>;
    if constexpr (detail::is_compile_time<D>) {
      using S = typename D::FuncType;
      set<detail::FixedFunction<D>, typename detail::Signature<S>::type>({});
    } else if constexpr (std::is_pointer_v<D>) {
      set<D, typename detail::Signature<std::remove_pointer_t<D>>::type>(f);
    } else {
      set<D, typename detail::Signature<D>::type>(std::forward<F>(f));
    }
  }
  CppFunction(CppFunction&&) = default;
  CppFunction& operator=(CppFunction&&) = default;

  static CppFunction makeFallthrough() {
    CppFunction made;
    made.fallthrough_ = true;
    return made;
  }
  static CppFunction makeNamedNotSupported() {
    return makeBoxed([](const OperatorHandle& op, DispatchKeySet, Stack*) {
      throw NotImplementedError(detail::cat(op.operator_name(), ": there are no named tensors"));
    });
  }
  template <BoxedKernelFunction* f>
  static CppFunction makeFromBoxedFunction() {
    return makeBoxed([](const OperatorHandle& op, DispatchKeySet, Stack* s) { f(op, s); });
  }
  template <BoxedKernelFunction_withDispatchKeys* f>
  static CppFunction makeFromBoxedFunction() {
    return makeBoxed([](const OperatorHandle& op, DispatchKeySet keys, Stack* s) { f(op, keys, s); });
  }
  template <class Functor>
  static CppFunction makeFromBoxedFunctor(std::unique_ptr<Functor> functor) {
    static_assert(std::is_base_of_v<OperatorKernel, Functor>, "a boxed functor is derived from OperatorKernel");
    std::shared_ptr<Functor> kept(std::move(functor));
    return makeBoxed([kept](const OperatorHandle& op, DispatchKeySet keys, Stack* s) { (*kept)(op, keys, s); });
  }
  template <class Functor>
  static CppFunction makeFromUnboxedFunctor(std::unique_ptr<Functor> functor) {
    static_assert(std::is_base_of_v<OperatorKernel, Functor>, "a functor is derived from OperatorKernel");
    return fromFunctor(std::shared_ptr<Functor>(std::move(functor)), typed<typename detail::Signature<Functor>::type>());
  }
  template <class F>
  static CppFunction makeFromUnboxedFunction(F f) { return CppFunction(f); }
  template <class F>
  static CppFunction makeFromUnboxedLambda(F&& f) { return CppFunction(std::forward<F>(f)); }

  CppFunction&& debug(std::string text) && { return debug_ = std::move(text), std::move(*this); }

  const std::optional<DispatchKey>& dispatch_key() const { return key_; }
  void set_dispatch_key(DispatchKey k) { key_ = k; }
  const std::string& inferred() const { return inferred_; }
  bool is_fallthrough() const { return fallthrough_; }
  bool is_boxed() const { return boxed_; }
  bool takes_keys() const { return takes_keys_; }
  const std::string& debug_text() const { return debug_; }
  // The kernel as a function of the runtime; it can be taken once.
  OPWEAVE_COLD IValue take() {
    if (!kernel_) return {};
    TVMFFIObjectHandle made = nullptr;
    detail::check_call(TVMFFIFunctionCreate(
        kernel_.get(), &detail::Kernel::safe_call, [](void* k) { delete static_cast<detail::Kernel*>(k); }, &made));
    kernel_.release();
    return IValue::object(made);
  }

 private:
  CppFunction() = default;
  template <class S>
  struct typed {};
  template <class F, class S>
  void set(F f) {
    kernel_ = std::make_unique<detail::Unboxed<F, S>>(std::move(f));
    inferred_ = infer(typed<S>());
  }
  template <class R, class... A>
  std::string infer(typed<R(A...)>) {
    takes_keys_ = detail::takes_keys<A...>;
    return detail::schema_text<R, A...>();
  }
  template <class Functor, class R, class... A>
  static CppFunction fromFunctor(std::shared_ptr<Functor> kept, typed<R(A...)>) {
    return CppFunction([kept](A... a) -> R { return (*kept)(std::forward<A>(a)...); });
  }
  template <class F>
  static CppFunction makeBoxed(F f) {
    CppFunction made;
    made.kernel_ = std::make_unique<detail::Boxed<F>>(std::move(f));
    made.boxed_ = true;
    return made;
  }
  std::unique_ptr<detail::Kernel> kernel_;
  std::string inferred_, debug_;
  std::optional<DispatchKey> key_;
  bool boxed_ = false, fallthrough_ = false, takes_keys_ = false;
};

inline DispatchKey dispatchKeyOf(DeviceType t) {
  return t == kCPU ? DispatchKey::CPU : t == kCUDA ? DispatchKey::CUDA : DispatchKey::Meta;
}
template <class F>
CppFunction dispatch(DispatchKey k, F&& f) {
  CppFunction made(std::forward<F>(f));
  made.set_dispatch_key(k);
  return made;
}
template <class F>
CppFunction dispatch(DeviceType t, F&& f) { return dispatch(dispatchKeyOf(t), std::forward<F>(f)); }

inline FunctionSchema schema(const char* text, AliasAnalysisKind kind, bool allow_typevars = false) {
  return {text, kind, allow_typevars};
}
inline FunctionSchema schema(const char* text, bool allow_typevars = false) {
  return {text, AliasAnalysisKind::FROM_SCHEMA, allow_typevars};
}

// VERIFY registers nothing: what is given has to be there already.
enum class _RegisterOrVerify { REGISTER, VERIFY };

// What is being registered by one block of one library.
class Library {
 public:
  enum Kind { DEF, FRAGMENT, IMPL };
  Library(Kind kind, std::string ns, std::string key, const char* file, int line, std::vector<IValue>* records)
      : kind_(kind), ns_(std::move(ns)), key_(std::move(key)), records_(records) {
    const char* names[] = {"DEF", "FRAGMENT", "IMPL"};
    record("block", names[kind], key_, {}, "", 0, "", {}, file, line);
  }
  Library(const Library&) = delete;

  OPWEAVE_COLD Library& def(FunctionSchema s, const std::vector<Tag>& tags = {}, _RegisterOrVerify rv = _RegisterOrVerify::REGISTER,
               const char* file = __builtin_FILE(), int line = __builtin_LINE()) & {
    require_def(s, file, line);
    if (rv == _RegisterOrVerify::VERIFY) return record("verify", s.text(), "", {}, "", 0, "", {}, file, line);
    return define(s, "", tags, file, line);
  }
  template <class F, std::enable_if_t<!std::is_convertible_v<F, std::vector<Tag>>, int> = 0>
  OPWEAVE_COLD Library& def(FunctionSchema s, F&& f, const std::vector<Tag>& tags = {}, const char* file = __builtin_FILE(),
               int line = __builtin_LINE()) & {
    require_def(s, file, line);
    CppFunction function(std::forward<F>(f));
    if (s.text().find('(') == std::string::npos && function.inferred().empty())
      throw at(file, line, detail::cat("def(\"", s.text(), "\"): a boxed function or a fallthrough has no type to infer a "
                                                         "schema from; give the whole schema"));
    define(s, function.inferred(), tags, file, line);
    std::string key = function.dispatch_key() ? toString(*function.dispatch_key()) : "CompositeImplicitAutograd";
    return put("impl", s.text().substr(0, s.text().find('(')), std::move(function), key, file, line);
  }
  template <class F>
  OPWEAVE_COLD Library& impl(const char* name, F&& f, _RegisterOrVerify rv = _RegisterOrVerify::REGISTER,
                const char* file = __builtin_FILE(), int line = __builtin_LINE()) & {
    CppFunction function(std::forward<F>(f));
    std::string key = function.dispatch_key() ? toString(*function.dispatch_key()) : key_;
    const char* what = rv == _RegisterOrVerify::VERIFY ? "verify" : "impl";
    return put(what, name, std::move(function), key.empty() ? "CompositeImplicitAutograd" : key, file, line);
  }
  template <class F>
  OPWEAVE_COLD Library& impl(const char* name, DispatchKey k, F&& f, const char* file = __builtin_FILE(),
                int line = __builtin_LINE()) & {
    return put("impl", name, CppFunction(std::forward<F>(f)), toString(k), file, line);
  }
  template <class F>
  OPWEAVE_COLD Library& impl(const char* name, DeviceType t, F&& f, const char* file = __builtin_FILE(),
                int line = __builtin_LINE()) & {
    return impl(name, dispatchKeyOf(t), std::forward<F>(f), file, line);
  }
  template <class F>
  OPWEAVE_COLD Library& fallback(F&& f, const char* file = __builtin_FILE(), int line = __builtin_LINE()) & {
    CppFunction function(std::forward<F>(f));
    if (function.dispatch_key()) key_ = toString(*function.dispatch_key());
    if (kind_ != IMPL || key_.empty())
      throw at(file, line, "fallback(): only TORCH_LIBRARY_IMPL(_, key, m) registers one, since it belongs to a key");
    if (!function.is_boxed() && !function.is_fallthrough())
      throw at(file, line, "fallback(): it has to work for ops of all types, so it is makeFallthrough() or boxed");
    return put("fallback", "", std::move(function), key_, file, line);
  }
  Library& set_python_module(const char* module, const char* context = "", const char* file = __builtin_FILE(),
                             int line = __builtin_LINE()) & {
    return record("python_module", module, "", {}, context, 0, "", {}, file, line);
  }
  Library& impl_abstract_pystub(const char* module, const char* context = "", const char* file = __builtin_FILE(),
                                int line = __builtin_LINE()) & {
    return set_python_module(module, context, file, line);
  }

  template <class T>
  void class_(const char*) {
    static_assert(detail::always_false<T>::value, "opweave: there are no custom classes (torch::CustomClassHolder)");
  }

 private:
  static Error at(const char* file, int line, std::string what) {
    return Error("RegistrationError", detail::cat(what, "\n  at:   ", file, ":", line, " in C++"), {"", file, line});
  }
  void require_def(const FunctionSchema& s, const char* file, int line) const {
    if (kind_ == IMPL)
      throw at(file, line, detail::cat("def(\"", s.text(), "\"): TORCH_LIBRARY_IMPL(", ns_, ", ", key_,
                                       ") defines no ops; TORCH_LIBRARY or TORCH_LIBRARY_FRAGMENT does"));
  }
  OPWEAVE_COLD Library& define(const FunctionSchema& s, const std::string& inferred, const std::vector<Tag>& tags, const char* file,
                  int line) {
    std::vector<IValue> names;
    for (Tag t : tags) names.emplace_back(toString(t));
    bool whole = s.text().find('(') != std::string::npos;
    return record("def", whole ? s.text() : s.text() + inferred, "", {}, "",
                  int64_t(s.aliasAnalysis()) | (s.allows_typevars() ? 16 : 0), "", names, file, line);
  }
  OPWEAVE_COLD Library& put(const char* what, const std::string& name, CppFunction f, const std::string& key, const char* file, int line) {
    int64_t flags = (f.is_boxed() ? 1 : 0) | (f.is_fallthrough() ? 2 : 0) | (f.takes_keys() ? 4 : 0);
    std::string inferred = f.inferred(), debug = f.debug_text();
    return record(what, name, key, f.take(), inferred, flags, debug, {}, file, line);
  }
  OPWEAVE_COLD Library& record(const char* what, const std::string& name, const std::string& key, IValue function,
                  const std::string& text, int64_t flags, const std::string& debug, const std::vector<IValue>& tags,
                  const char* file, int line) {
    records_->push_back(IValue::list(std::vector<IValue>{what, ns_, name, key, std::move(function), text, flags, debug,
                                                         file, int64_t(line), IValue::list(tags)}));
    return *this;
  }
  Kind kind_;
  std::string ns_, key_;
  std::vector<IValue>* records_;
};

namespace detail {
struct Registration {
  Library::Kind kind;
  std::string ns;
  const char* key;
  std::function<void(Library&)> body;
  const char* file;
  int line;
  Error failed(const char* why) const {
    return Error("RegistrationError", cat("the library of the namespace ", ns, " failed while it registered: ", why,
                                          "\n  at:   ", file, ":", line, " in C++"), {"", file, line});
  }
};
inline std::vector<Registration>& registrations() {
  static std::vector<Registration> all;
  return all;
}
struct Registrar {
  Registrar(Library::Kind kind, const char* ns, const char* key, void (*body)(Library&), const char* file, int line) {
    registrations().push_back({kind, ns, key, body, file, line});
  }
};
// (version of the host) -> [version of the library, records]
OPWEAVE_COLD inline int hand_over(const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  return guarded([&] {
    std::vector<IValue> records;
    if (n == 1 && args[0].type_index == kTVMFFIInt && args[0].v_int64 == OPWEAVE_ABI_VERSION)
      for (auto& r : registrations()) {
        Library library(r.kind, r.ns, r.key, r.file, r.line, &records);
        try {
          r.body(library);
        } catch (const Error& e) {
          if (e.kind() == "RegistrationError") throw;
          throw r.failed(e.what());
        } catch (const std::exception& e) {
          throw r.failed(what_of(e).c_str());
        }
      }
    *result = IValue::list({IValue(int64_t(OPWEAVE_ABI_VERSION)), IValue::list(records)}).release();
  });
}
}  // namespace detail

// The way to register before TORCH_LIBRARY: `static auto r = torch::RegisterOperators().op("ns::name", &f);`
class RegisterOperators {
 public:
  RegisterOperators() = default;
  template <class F>
  explicit RegisterOperators(const std::string& name, F&& f, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    add(name, std::forward<F>(f), file, line);
  }
  template <class F>
  RegisterOperators&& op(const std::string& name, F&& f, const char* file = __builtin_FILE(), int line = __builtin_LINE()) && {
    add(name, std::forward<F>(f), file, line);
    return std::move(*this);
  }

 private:
  template <class F>
  static void add(const std::string& name, F&& f, const char* file, int line) {
    auto colon = name.find("::");
    std::string ns = colon == std::string::npos ? "" : name.substr(0, colon), rest = name.substr(colon == std::string::npos ? 0 : colon + 2);
    std::decay_t<F> kept(std::forward<F>(f));
    detail::registrations().push_back({Library::FRAGMENT, ns, "", [=](Library& m) { m.def(rest, kept, {}, file, line); }, file, line});
  }
};

}  // namespace opweave

// The one function that a library exports; inline, so that there is one however many files include this.
extern "C" OPWEAVE_EXPORT inline int __tvm_ffi_opweave_library(void*, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  return ::opweave::detail::hand_over(args, n, result);
}

#define OPWEAVE_BLOCK(kind, ns, key, m, id)                                                                  \
  static void OPWEAVE_CONCAT(opweave_library_##ns##_, id)(::opweave::Library&);                              \
  static const ::opweave::detail::Registrar OPWEAVE_CONCAT(opweave_registrar_##ns##_, id)(                   \
      ::opweave::Library::kind, #ns, key, &OPWEAVE_CONCAT(opweave_library_##ns##_, id), __FILE__, __LINE__); \
  static void OPWEAVE_CONCAT(opweave_library_##ns##_, id)(::opweave::Library & m)
#define OPWEAVE_LIBRARY(ns, m) OPWEAVE_BLOCK(DEF, ns, "", m, OPWEAVE_UNIQUE)
#define OPWEAVE_LIBRARY_FRAGMENT(ns, m) OPWEAVE_BLOCK(FRAGMENT, ns, "", m, OPWEAVE_UNIQUE)
#define OPWEAVE_LIBRARY_IMPL(ns, k, m) \
  OPWEAVE_BLOCK(IMPL, ns, ::opweave::toString(::opweave::DispatchKey::k), m, OPWEAVE_UNIQUE)
#define OPWEAVE_FN_TYPE(f) ::opweave::CompileTimeFunctionPointer<std::remove_pointer_t<std::remove_reference_t<decltype(f)>>, f>
#define OPWEAVE_FN(f) OPWEAVE_FN_TYPE(f)()
