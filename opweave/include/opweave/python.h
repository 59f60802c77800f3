// Python modules of C++ functions, written as for pybind11: PYBIND11_MODULE, and what stands in it.
//
// A function becomes an op of a namespace of the module's name, and the module's attribute is that op. Its schema follows
// from its type, with the names and defaults that it is given. What C++ says of writing counts: an argument `Tensor&` is
// written; in a function that returns nothing, a `Tensor` by value is, too, since that is all that such a function is for.
#pragma once
#if __has_include(<Python.h>)
#include <Python.h>
#endif
#include <limits>
#include <sstream>
#include <utility>

#include "library.h"

namespace OPWEAVE_HIDDEN pybind11 {
namespace detail {
inline std::string literal(bool v) { return v ? "True" : "False"; }
inline std::string literal(std::nullopt_t) { return "None"; }
inline std::string literal(std::nullptr_t) { return "None"; }
inline std::string literal(const std::string& v) {
  if (v.find_first_of("'\\\n") != std::string::npos)
    throw ::opweave::ValueError("a default text with a quote, a backslash or a new line has no place in a schema");
  return "'" + v + "'";
}
inline std::string literal(const char* v) { return literal(std::string(v)); }
template <class T, std::enable_if_t<std::is_arithmetic_v<T> && !std::is_same_v<T, bool>, int> = 0>
std::string literal(T v) {
  std::ostringstream text;
  if constexpr (std::is_floating_point_v<T>) {
    if (v != v) return "nan";
    if (v - v != 0) return v > 0 ? "inf" : "-inf";
    text.precision(std::numeric_limits<T>::max_digits10);
  }
  text << +v;
  std::string made = text.str();
  return std::is_floating_point_v<T> && made.find_first_of(".e") == std::string::npos ? made + ".0" : made;
}
template <class T>
std::string literal(const std::vector<T>& v) {
  std::string made;
  for (const auto& each : v) made += (made.empty() ? "" : ", ") + literal(T(each));
  return "[" + made + "]";
}
template <class T>
std::string literal(const std::optional<T>& v) { return v ? literal(*v) : "None"; }
}  // namespace detail

struct none {};
namespace detail {
inline std::string literal(none) { return "None"; }
}

// The name of an argument, and with `=` its default.
struct arg {
  std::string name, value;
  bool is_keyword_only = false;
  explicit arg(const char* n) : name(n) {}
  template <class T>
  arg operator=(T&& v) const {
    arg made(*this);
    made.value = detail::literal(std::decay_t<T>(std::forward<T>(v)));
    return made;
  }
  arg& noconvert(bool = true) { return *this; }
  arg& none(bool = true) { return *this; }
};
struct kw_only {};
namespace literals {
inline arg operator""_a(const char* name, size_t) { return arg(name); }
}

// The interpreter runs while a kernel does, whether these are asked for or not.
struct gil_scoped_release {};
template <class...>
struct call_guard {};
template <class...>
struct keep_alive {};
enum class return_value_policy { automatic, automatic_reference, take_ownership, copy, move, reference, reference_internal };

namespace detail {
// What crosses where a function takes or returns a `T`: pybind11 knows all of C++'s numbers, a schema two of them.
template <class T, class = void>
struct Crossing {
  using type = T;
  static T in(T v) { return std::forward<T>(v); }
  static T out(T v) { return std::forward<T>(v); }
};
template <>
struct Crossing<void> {
  using type = void;
};
template <class T>
inline constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, int64_t>;
template <class T>
struct Crossing<T, std::enable_if_t<is_integer<std::decay_t<T>>>> {
  using U = std::decay_t<T>;
  using type = int64_t;
  static U in(int64_t v) { return fitting<U>(v); }
  static int64_t out(U v) { return fitting<int64_t>(v); }

 private:
  template <class To, class From>
  static To fitting(From v) {
    To made = To(v);
    if (From(made) != v || (made < To(0)) != (v < From(0)))
      throw ::opweave::ValueError(::opweave::detail::cat("the number ", +v, " does not fit into ", 8 * sizeof(To), " bits"));
    return made;
  }
};
template <class T>
struct Crossing<T, std::enable_if_t<std::is_same_v<std::decay_t<T>, float>>> {
  using type = double;
  static float in(double v) { return float(v); }
  static double out(float v) { return v; }
};
template <>
struct Crossing<const char*> {
  using type = std::string;
  static const char* in(const std::string& v) { return v.c_str(); }
  static std::string out(const char* v) { return v; }
};
template <class A, class B>
struct Crossing<std::pair<A, B>> {
  using type = std::tuple<typename Crossing<A>::type, typename Crossing<B>::type>;
  static std::pair<A, B> in(type v) { return {Crossing<A>::in(std::get<0>(v)), Crossing<B>::in(std::get<1>(v))}; }
  static type out(std::pair<A, B> v) { return {Crossing<A>::out(v.first), Crossing<B>::out(v.second)}; }
};
template <class T>
using crossing_t = typename Crossing<T>::type;

template <class S>
struct Function;
template <class R, class... A>
struct Function<R(A...)> {
  template <class F>
  static auto crossed(F f) {
    return [f = std::move(f)](crossing_t<A>... a) mutable -> crossing_t<R> {
      if constexpr (std::is_void_v<R>) f(Crossing<A>::in(std::forward<crossing_t<A>>(a))...);
      else return Crossing<R>::out(f(Crossing<A>::in(std::forward<crossing_t<A>>(a))...));
    };
  }
  static std::string schema(const std::vector<arg>& names) {
    if (!names.empty() && names.size() != sizeof...(A))
      throw ::opweave::ValueError(::opweave::detail::cat("it takes ", sizeof...(A), " arguments, and ", names.size(),
                                                         " are named"));
    std::string text;
    bool keywords = false;
    int i = 0;
    [[maybe_unused]] auto add = [&](const std::string& type) {
      const arg* about = names.empty() ? nullptr : &names[size_t(i)];
      text += i ? ", " : "";
      if (about && about->is_keyword_only && !keywords) text += "*, ", keywords = true;
      text += type + " " + (about ? about->name : ::opweave::detail::cat("arg", i));
      if (about && !about->value.empty()) text += "=" + about->value;
      i++;
    };
    (add(type_of<A>(i)), ...);
    return "(" + text + ") -> " + ::opweave::detail::returns_text<crossing_t<R>, A...>();
  }

 private:
  template <class T>
  static std::string type_of(int i) {
    using ::opweave::Tensor;
    constexpr bool is_written = std::is_same_v<T, Tensor&> || (std::is_void_v<R> && std::is_same_v<T, Tensor>);
    if constexpr (is_written) return ::opweave::detail::cat("Tensor(", char('a' + i), "!)");
    else return ::opweave::detail::Type<std::decay_t<crossing_t<T>>>::name();
  }
};
}  // namespace detail

class module_ {
 public:
  explicit module_(::opweave::Library& library) : library_(library) {}
  template <class F, class... Extra>
  module_& def(const char* name, F&& f, const Extra&... extra) {
    using S = typename ::opweave::detail::Signature<std::decay_t<F>>::type;
    std::vector<arg> names;
    bool keywords = false;
    (note(extra, names, keywords), ...);
    std::string text = name;
    int before = overloads_[text]++;
    if (before) text += ::opweave::detail::cat(".overload", before);
    library_.def((text + detail::Function<S>::schema(names)).c_str(), detail::Function<S>::crossed(std::decay_t<F>(f)));
    return *this;
  }
  std::string& doc() { return doc_; }

 private:
  static void note(const arg& a, std::vector<arg>& names, bool keywords) {
    names.push_back(a);
    names.back().is_keyword_only = keywords;
  }
  static void note(kw_only, std::vector<arg>&, bool& keywords) { keywords = true; }
  template <class T>
  static void note(const T&, std::vector<arg>&, bool) {}
  ::opweave::Library& library_;
  std::map<std::string, int> overloads_;
  std::string doc_;
};
using module = module_;

template <class T, class... More>
struct class_ {
  static_assert(::opweave::detail::always_false<T>::value,
                "opweave: a Python module of C++ functions has no classes (pybind11::class_); bind those with pybind11 or "
                "nanobind in a module of their own");
};
}  // namespace pybind11
namespace py = pybind11;

#if defined(Py_PYTHON_H)
#define OPWEAVE_PYTHON_MODULE(name, ns, m)                                                                         \
  static void OPWEAVE_CONCAT(opweave_bound_, name)(::pybind11::module_&);                                          \
  static const ::opweave::detail::Registrar OPWEAVE_CONCAT(opweave_module_, name)(                                 \
      ::opweave::Library::FRAGMENT, OPWEAVE_STRINGIZE(ns), "",                                                     \
      [](::opweave::Library& library) {                                                                            \
        ::pybind11::module_ made(library);                                                                         \
        OPWEAVE_CONCAT(opweave_bound_, name)(made);                                                                \
      },                                                                                                           \
      __FILE__, __LINE__);                                                                                         \
  static int OPWEAVE_CONCAT(opweave_fill_, name)(PyObject * module) {                                              \
    PyObject* building = PyImport_ImportModule("opweave.utils.cpp_extension");                                     \
    PyObject* done =                                                                                               \
        building ? PyObject_CallMethod(building, "_fill", "Os", module, OPWEAVE_STRINGIZE(ns)) : nullptr;          \
    Py_XDECREF(building);                                                                                          \
    Py_XDECREF(done);                                                                                              \
    return done ? 0 : -1;                                                                                          \
  }                                                                                                                \
  PyMODINIT_FUNC OPWEAVE_CONCAT(PyInit_, name)() {                                                                 \
    static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void*)&OPWEAVE_CONCAT(opweave_fill_, name)}, {0, nullptr}};  \
    static PyModuleDef definition = {                                                                              \
        PyModuleDef_HEAD_INIT, OPWEAVE_STRINGIZE(name), nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};    \
    return PyModuleDef_Init(&definition);                                                                          \
  }                                                                                                                \
  static void OPWEAVE_CONCAT(opweave_bound_, name)(::pybind11::module_ & m)
#else
#define OPWEAVE_PYTHON_MODULE(name, ns, m)                                                                    \
  static_assert(false, "opweave: PYBIND11_MODULE needs Python's headers (see cpp_extension.include_paths())"); \
  static void OPWEAVE_CONCAT(opweave_bound_, name)(::pybind11::module_ & m)
#endif
