// Ops by name, called boxed or with a type, and guards of the thread's dispatch state.
#pragma once
#include "boxing.h"

namespace OPWEAVE_HIDDEN opweave {

enum class AliasAnalysisKind { INTERNAL_SPECIAL_CASE, CONSERVATIVE, FROM_SCHEMA, PURE_FUNCTION };

struct OperatorName {
  std::string name, overload_name;
};
inline std::ostream& operator<<(std::ostream& out, const OperatorName& n) {
  return out << n.name << (n.overload_name.empty() ? "" : ".") << n.overload_name;
}

// A schema as text; of an op that exists, also its arguments and returns.
class FunctionSchema {
 public:
  struct Argument {
    std::string name_, type_;
    bool kwarg_only_ = false, written_ = false;
    const std::string& name() const { return name_; }
    const std::string& type() const { return type_; }
    bool kwarg_only() const { return kwarg_only_; }
    bool is_write() const { return written_; }
  };
  FunctionSchema(const char* text) : text_(text) {}
  FunctionSchema(std::string text) : text_(std::move(text)) {}
  FunctionSchema(std::string text, AliasAnalysisKind kind, bool allow_typevars = false)
      : text_(std::move(text)), alias_(kind), typevars_(allow_typevars) {}
  static FunctionSchema of(const std::string& op) {
    TVMFFIAny arg = IValue(op).release();
    IValue kept = IValue::steal(arg);
    auto parts = IValue::steal(detail::host::schema(&arg, 1)).toListRef();
    FunctionSchema made(parts.at(2).toStringRef());
    made.name_ = parts.at(0).toStringRef(), made.overload_ = parts.at(1).toStringRef();
    read(parts.at(3), made.arguments_), read(parts.at(4), made.returns_);
    return made;
  }
  const std::string& text() const { return text_; }
  AliasAnalysisKind aliasAnalysis() const { return alias_; }
  bool allows_typevars() const { return typevars_; }
  const std::string& name() const { return name_; }
  const std::string& overload_name() const { return overload_; }
  OperatorName operator_name() const { return {name_, overload_}; }
  const std::vector<Argument>& arguments() const { return arguments_; }
  const std::vector<Argument>& returns() const { return returns_; }
  bool is_mutable() const {
    return std::any_of(arguments_.begin(), arguments_.end(), [](auto& a) { return a.is_write(); });
  }

 private:
  static void read(const IValue& list, std::vector<Argument>& into) {
    for (auto& item : list.toListRef()) {
      auto parts = item.toListRef();
      into.push_back({parts.at(0).toStringRef(), parts.at(1).toStringRef(), parts.at(2).toBool(), parts.at(3).toBool()});
    }
  }
  std::string text_, name_, overload_;
  AliasAnalysisKind alias_ = AliasAnalysisKind::FROM_SCHEMA;
  bool typevars_ = false;
  std::vector<Argument> arguments_, returns_;
};
inline std::ostream& operator<<(std::ostream& out, const FunctionSchema& s) { return out << s.text(); }

namespace detail {
template <class T>
inline constexpr bool is_tuple = false;
template <class... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;
}  // namespace detail

template <class S>
class TypedOperatorHandle;

class OperatorHandle {
 public:
  explicit OperatorHandle(std::string name) : name_(std::move(name)) {}
  OperatorName operator_name() const { return schema().operator_name(); }
  const std::string& qualified_name() const { return name_; }
  const FunctionSchema& schema() const {
    if (!schema_) schema_ = std::make_shared<FunctionSchema>(FunctionSchema::of(name_));
    return *schema_;
  }
  bool hasSchema() const { return true; }
  void callBoxed(Stack* s) const { run(-1, *s); }
  void callBoxed(Stack& s) const { run(-1, s); }
  void redispatchBoxed(DispatchKeySet keys, Stack* s) const { run(int64_t(keys.raw_repr()), *s); }
  template <class S>
  TypedOperatorHandle<S> typed() const { return TypedOperatorHandle<S>(*this); }

 private:
  void run(int64_t keys, Stack& s) const {
    std::vector<TVMFFIAny> raw;
    IValue name(name_);
    raw.push_back(name.raw()), raw.push_back(IValue(keys).raw()), raw.push_back(IValue(detail::watched).raw());
    for (auto& v : s) raw.push_back(v.raw());
    s = IValue::steal(detail::host::redispatch(raw.data(), int(raw.size()))).toListRef();
  }
  std::string name_;
  mutable std::shared_ptr<FunctionSchema> schema_;
};

template <class R, class... A>
class TypedOperatorHandle<R(A...)> : public OperatorHandle {
 public:
  explicit TypedOperatorHandle(OperatorHandle h) : OperatorHandle(std::move(h)) {}
  R call(A... a) const { return run(nullptr, std::forward<A>(a)...); }
  R redispatch(DispatchKeySet keys, A... a) const { return run(&keys, std::forward<A>(a)...); }

 private:
  R run(const DispatchKeySet* keys, A... a) const {
    Stack s{detail::Type<std::decay_t<A>>::to(a)...};
    if (keys) redispatchBoxed(*keys, &s);
    else callBoxed(&s);
    if constexpr (std::is_same_v<R, Tensor&> || std::is_same_v<R, const Tensor&>) {
      const Tensor* written = nullptr;
      auto look = [&](auto& v) {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, Tensor>)
          if (!written) v.forget_description(), written = &v;
      };
      (look(a), ...);
      return const_cast<Tensor&>(*written);
    } else if constexpr (!std::is_void_v<R>) {
      if constexpr (detail::is_tuple<R>) return IValue::list(s).template to<R>();
      else return s.at(0).template to<R>();
    }
  }
};

class Dispatcher {
 public:
  static Dispatcher& singleton() {
    static Dispatcher one;
    return one;
  }
  OperatorHandle findSchemaOrThrow(const char* name, const char* overload) {
    OperatorHandle found(*overload ? detail::cat(name, ".", overload) : std::string(name));
    found.schema();
    return found;
  }
  std::optional<OperatorHandle> findSchema(const OperatorName& n) {
    try {
      return findSchemaOrThrow(n.name.c_str(), n.overload_name.c_str());
    } catch (const Error&) {
      return std::nullopt;
    }
  }
};

// ---- guards: while one lives, calls of this thread have other keys
namespace detail {
class Guard {
 public:
  Guard(uint64_t include, uint64_t exclude, int64_t clear = 0) { set(int64_t(include), int64_t(exclude), clear, before_); }
  Guard(const Guard&) = delete;
  ~Guard() {
    int64_t ignored[2];
    guarded([&] { set(before_[0], before_[1], -1, ignored); });
  }

 private:
  static void set(int64_t include, int64_t exclude, int64_t clear, int64_t (&before)[2]) {
    TVMFFIAny args[3]{};
    for (auto& a : args) a.type_index = kTVMFFIInt;
    args[0].v_int64 = include, args[1].v_int64 = exclude, args[2].v_int64 = clear;
    auto found = IValue::steal(host::guard(args, 3)).toListRef();
    before[0] = found.at(0).toInt(), before[1] = found.at(1).toInt();
  }
  int64_t before_[2];
};
}  // namespace detail

namespace impl {
struct ExcludeDispatchKeyGuard : detail::Guard {
  explicit ExcludeDispatchKeyGuard(DispatchKeySet k) : Guard(0, k.raw_repr()) {}
  explicit ExcludeDispatchKeyGuard(DispatchKey k) : ExcludeDispatchKeyGuard(DispatchKeySet(k)) {}
};
struct IncludeDispatchKeyGuard : detail::Guard {
  explicit IncludeDispatchKeyGuard(DispatchKeySet k) : Guard(k.raw_repr(), 0) {}
  explicit IncludeDispatchKeyGuard(DispatchKey k) : IncludeDispatchKeyGuard(DispatchKeySet(k)) {}
};
}  // namespace impl
struct AutoDispatchBelowAutograd : detail::Guard {
  AutoDispatchBelowAutograd() : Guard(0, kAutogradBits) {}
};
using AutoNonVariableTypeMode = AutoDispatchBelowAutograd;
struct AutoDispatchBelowADInplaceOrView : detail::Guard {
  AutoDispatchBelowADInplaceOrView() : Guard(0, kAutogradBits | DispatchKeySet(DispatchKey::ADInplaceOrView).raw_repr()) {}
};
struct AutoGradMode : detail::Guard {
  explicit AutoGradMode(bool on) : Guard(0, on ? 0 : kGradBit, on ? int64_t(kGradBit) : 0) {}
};
struct NoGradGuard : AutoGradMode {
  NoGradGuard() : AutoGradMode(false) {}
};
struct GradMode {
  static bool is_enabled() {
    TVMFFIAny arg{};
    arg.type_index = kTVMFFIRawStr, arg.v_c_str = "grad";
    return IValue::steal(detail::host::is_enabled(&arg, 1)).toBool();
  }
};

}  // namespace opweave
