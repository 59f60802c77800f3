// torch::autograd::Function: a forward and a backward of one's own. The host records the node and calls back.
#pragma once
#include <functional>
#include <unordered_map>

#include "dispatcher.h"

namespace OPWEAVE_HIDDEN opweave {
namespace autograd {

using Variable = Tensor;
using variable_list = std::vector<Variable>;

inline bool any_variable_requires_grad(const variable_list& variables) {
  return std::any_of(variables.begin(), variables.end(), [](auto& v) { return v.defined() && v.requires_grad(); });
}

class AutogradContext {
 public:
  AutogradContext() = default;
  AutogradContext(const AutogradContext&) = delete;
  std::unordered_map<std::string, IValue> saved_data;
  void save_for_backward(variable_list v) { saved_ = std::move(v); }
  variable_list get_saved_variables() const { return saved_; }
  void mark_dirty(const variable_list& v) { dirty_ = v; }
  void mark_non_differentiable(const variable_list& v) { non_differentiable_ = v; }
  void set_materialize_grads(bool on) { materialize_ = on; }
  bool needs_input_grad(size_t i) const { return needs_.at(i); }
  bool needs_input_grad(std::initializer_list<size_t> which) const {
    return std::any_of(which.begin(), which.end(), [&](size_t i) { return needs_.at(i); });
  }

  // For the host: what forward left behind, and what backward is given.
  IValue left(const variable_list& outputs) {
    IValue all = IValue::list({IValue::list(outputs), IValue::list(saved_), IValue::list(dirty_),
                               IValue::list(non_differentiable_), IValue(materialize_)});
    saved_.clear(), dirty_.clear(), non_differentiable_.clear();
    return all;
  }
  void set_saved(variable_list v) { saved_ = std::move(v); }
  void set_needs(std::vector<bool> v) { needs_ = std::move(v); }

 private:
  variable_list saved_, dirty_, non_differentiable_;
  std::vector<bool> needs_;
  bool materialize_ = true;
};

namespace detail {
using namespace ::opweave::detail;
template <class T>
IValue as_argument(const T& v) {
  using D = std::decay_t<T>;
  if constexpr (std::is_same_v<D, Tensor>) return IValue(v);
  else if constexpr (std::is_same_v<D, std::optional<Tensor>>) return v ? IValue(*v) : IValue();
  else return IValue();
}
// A C++ callable of a list of arguments as a function of the runtime.
inline IValue callback(std::function<IValue(ArrayRef<TVMFFIAny>)> f) {
  auto* kept = new std::function<IValue(ArrayRef<TVMFFIAny>)>(std::move(f));
  TVMFFIObjectHandle made = nullptr;
  auto call = [](void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
    return guarded([&] {
      Watched watching(true);
      auto& f = *static_cast<std::function<IValue(ArrayRef<TVMFFIAny>)>*>(self);
      *result = f(ArrayRef<TVMFFIAny>(args, size_t(n))).release();
    });
  };
  check_call(TVMFFIFunctionCreate(kept, call, [](void* p) { delete static_cast<std::function<IValue(ArrayRef<TVMFFIAny>)>*>(p); }, &made));
  return IValue::object(made);
}
inline variable_list as_list(variable_list v) { return v; }
inline variable_list as_list(Tensor v) { return {std::move(v)}; }
}  // namespace detail

template <class T>
class Function {
 public:
  template <class... A>
  static auto apply(A&&... args) {
    using Result = decltype(T::forward(static_cast<AutogradContext*>(nullptr), std::forward<A>(args)...));
    auto context = std::make_shared<AutogradContext>();
    auto kept = std::make_shared<std::tuple<std::decay_t<A>...>>(args...);
    IValue forward = detail::callback([context, kept](ArrayRef<TVMFFIAny> given) {
      context->set_needs(flags(given.at(0)));
      auto outputs = std::apply([&](auto&... a) { return detail::as_list(T::forward(context.get(), a...)); }, *kept);
      return context->left(outputs);
    });
    IValue backward = detail::callback([context](ArrayRef<TVMFFIAny> given) {
      context->set_needs(flags(given.at(0)));
      context->set_saved(IValue::share(given.at(1)).toTensorVector());
      auto grads = T::backward(context.get(), IValue::share(given.at(2)).toTensorVector());
      context->set_saved({});
      return IValue::list(grads);
    });
    std::vector<IValue> values{forward, backward, IValue(name()), detail::as_argument(args)...};
    std::vector<TVMFFIAny> raw;
    for (auto& v : values) raw.push_back(v.raw());
    auto results = IValue::steal(::opweave::detail::host::apply(raw.data(), int(raw.size()))).toTensorVector();
    if constexpr (std::is_same_v<Result, Tensor>) return results.at(0);
    else return results;
  }

 private:
  static std::vector<bool> flags(const TVMFFIAny& list) {
    std::vector<bool> made;
    for (auto& item : ::opweave::detail::items_of(list)) made.push_back(item.v_int64 != 0);
    return made;
  }
  // What the node is called in messages: the class, out of the compiler's name of this function.
  static std::string name() {
    std::string text = __PRETTY_FUNCTION__;
    auto from = text.find("T = ");
    if (from == std::string::npos) return "Function";
    text = text.substr(from + 4);
    text = text.substr(0, text.find_first_of(";],"));
    auto colon = text.rfind("::");
    return colon == std::string::npos ? text : text.substr(colon + 2);
  }
};

}  // namespace autograd
}  // namespace opweave
