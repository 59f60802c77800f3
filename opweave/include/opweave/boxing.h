// From the type of a C++ function: the schema it has, and a kernel that unpacks arguments and packs results.
#pragma once
#include "tensor_inl.h"

namespace OPWEAVE_HIDDEN opweave {

// `Dict(K, V)` of a schema.
template <class K, class V>
class Dict {
 public:
  using Map = std::unordered_map<K, V>;
  struct Entry {
    K k;
    V v;
    const K& key() const { return k; }
    const V& value() const { return v; }
  };
  void insert(K k, V v) { map_.emplace(std::move(k), std::move(v)); }
  void insert_or_assign(K k, V v) { map_.insert_or_assign(std::move(k), std::move(v)); }
  V at(const K& k) const { return map_.at(k); }
  bool contains(const K& k) const { return map_.count(k) != 0; }
  size_t size() const { return map_.size(); }
  bool empty() const { return map_.empty(); }
  auto begin() const { return entries().begin(); }
  auto end() const { return entries().end(); }
  auto find(const K& k) const {
    auto& all = entries();
    return std::find_if(all.begin(), all.end(), [&](const Entry& e) { return e.k == k; });
  }

 private:
  const std::vector<Entry>& entries() const {
    entries_.clear();
    for (auto& [k, v] : map_) entries_.push_back({k, v});
    return entries_;
  }
  Map map_;
  mutable std::vector<Entry> entries_;
};

namespace detail {
template <class T>
struct always_false : std::false_type {};

template <class T>
struct Type {
  static_assert(always_false<T>::value,
                "opweave: a type that no schema has stands in an operator's signature: take int64_t for int, double for "
                "float, std::string for const char*");
};
template <>
struct Type<Tensor> {
  static std::string name() { return "Tensor"; }
  static Tensor from(const TVMFFIAny& a) {
    if (a.type_index == kTVMFFINone) wrong_type("a Tensor", a);
    return tensor_of(a);
  }
  static IValue to(const Tensor& t) { return IValue(t); }
};
inline int64_t int_of(const TVMFFIAny& a) {
  if (a.type_index != kTVMFFIInt && a.type_index != kTVMFFIBool) wrong_type("an int of 64 bits", a);
  return a.v_int64;
}
inline ScalarType dtype_of(const TVMFFIAny& a) {
  if (a.type_index == kTVMFFIInt) return fromWord(a.v_int64);
  if (a.type_index != kTVMFFIDataType) wrong_type("a dtype", a);
  return toScalarType(a.v_dtype);
}
inline Device device_of(const TVMFFIAny& a) {
  if (a.type_index != kTVMFFIDevice) return Device(std::string(text_of(a)));
  if (a.v_device.device_type == kDLCPU) return Device(kCPU);
  if (a.v_device.device_type == kDLCUDA) return Device(kCUDA, DeviceIndex(a.v_device.device_id));
  throw UnsupportedError(cat("a device of DLPack type ", int(a.v_device.device_type)));
}
#define OPWEAVE_VALUE_TYPE(T, schema, expression)                 \
  template <>                                                     \
  struct Type<T> {                                                \
    static std::string name() { return schema; }                  \
    static T from(const TVMFFIAny& a) { return expression; }      \
    static IValue to(const T& v) { return IValue(v); }            \
  };
OPWEAVE_VALUE_TYPE(int64_t, "int", int_of(a))
OPWEAVE_VALUE_TYPE(bool, "bool", int_of(a) != 0)
OPWEAVE_VALUE_TYPE(double, "float", scalar_of(a).toDouble())
OPWEAVE_VALUE_TYPE(Scalar, "Scalar", scalar_of(a))
OPWEAVE_VALUE_TYPE(std::string, "str", std::string(text_of(a)))
OPWEAVE_VALUE_TYPE(std::string_view, "str", text_of(a))
OPWEAVE_VALUE_TYPE(ScalarType, "ScalarType", dtype_of(a))
OPWEAVE_VALUE_TYPE(Device, "Device", device_of(a))
OPWEAVE_VALUE_TYPE(IValue, "Any", IValue::share(a))
#undef OPWEAVE_VALUE_TYPE
template <>
struct Type<Layout> {
  static std::string name() { return "Layout"; }
  static Layout from(const TVMFFIAny&) { return kStrided; }
  static IValue to(Layout) { return IValue(); }
};
template <>
struct Type<MemoryFormat> {
  static std::string name() { return "MemoryFormat"; }
  static MemoryFormat from(const TVMFFIAny& a) { return MemoryFormat(int_of(a)); }
  static IValue to(MemoryFormat f) { return IValue(int64_t(f)); }
};
inline Generator generator_of(IValue object) {
  auto* kept = new IValue(std::move(object));
  return {std::shared_ptr<void>(kept, [](void* p) { delete static_cast<IValue*>(p); })};
}
inline IValue ask_generator(const Generator& g, const char* what, uint64_t seed) {
  TVMFFIAny args[3]{};
  if (g.defined()) args[0] = static_cast<IValue*>(g.object.get())->raw();
  args[1].type_index = kTVMFFIRawStr, args[1].v_c_str = what;
  args[2].type_index = kTVMFFIInt, args[2].v_int64 = int64_t(seed);
  return IValue::steal(host::generator(args, 3));
}
template <>
struct Type<Generator> {
  static std::string name() { return "Generator"; }
  static Generator from(const TVMFFIAny& a) {
    if (a.type_index == kTVMFFINone) return {};
    return generator_of(IValue::share(a));
  }
  static IValue to(const Generator& g) { return g.defined() ? *static_cast<IValue*>(g.object.get()) : IValue(); }
};
template <class T>
struct Type<std::optional<T>> {
  static std::string name() { return Type<T>::name() + "?"; }
  // What is unpacked may own more than T shows, as a list does for an ArrayRef.
  using Held = decltype(Type<T>::from(std::declval<const TVMFFIAny&>()));
  static std::optional<Held> from(const TVMFFIAny& a) {
    if (a.type_index == kTVMFFINone) return std::nullopt;
    return Type<T>::from(a);
  }
  static IValue to(const std::optional<T>& v) { return v ? Type<T>::to(*v) : IValue(); }
};
template <class T>
struct Type<std::vector<T>> {
  static std::string name() { return Type<T>::name() + "[]"; }
  static std::vector<T> from(const TVMFFIAny& a) {
    std::vector<T> made;
    if constexpr (std::is_same_v<T, int64_t>)
      if (a.type_index == kTVMFFIShape) return IValue::share(a).toIntVector();
    auto items = items_of(a);
    made.reserve(items.size());
    for (auto& item : items) made.push_back(Type<T>::from(item));
    return made;
  }
  static IValue to(const std::vector<T>& v) {
    std::vector<IValue> made;
    for (auto&& item : v) made.push_back(Type<T>::to(item));
    return IValue::list(made);
  }
};
template <class T>
struct Type<ArrayRef<T>> : Type<std::vector<T>> {
  static IValue to(ArrayRef<T> v) { return Type<std::vector<T>>::to(v.vec()); }
};
template <class T>
struct Type<List<T>> {
  static std::string name() { return Type<T>::name() + "[]"; }
  static List<T> from(const TVMFFIAny& a) { return List<T>(Type<std::vector<T>>::from(a)); }
  static IValue to(const List<T>& v) { return Type<std::vector<T>>::to(v.vec()); }
};
template <>
struct Type<OptionalIntArrayRef> {
  static std::string name() { return "int[]?"; }
  static std::optional<std::vector<int64_t>> from(const TVMFFIAny& a) {
    return Type<std::optional<std::vector<int64_t>>>::from(a);
  }
  static IValue to(const OptionalIntArrayRef& v) { return v.has_value() ? IValue(v.value()) : IValue(); }
};
template <class T, size_t N>
struct Type<std::array<T, N>> {
  static std::string name() { return cat(Type<T>::name(), "[", N, "]"); }
  static std::array<T, N> from(const TVMFFIAny& a) {
    auto items = items_of(a);
    if (items.size() != N) throw ValueError(cat("expected ", N, " values but got ", items.size()));
    std::array<T, N> made;
    for (size_t i = 0; i < N; i++) made[i] = Type<T>::from(items[i]);
    return made;
  }
  static IValue to(const std::array<T, N>& v) { return Type<std::vector<T>>::to({v.begin(), v.end()}); }
};
template <class K, class V>
struct Type<Dict<K, V>> {  // crosses as a list of keys and values in turn
  static std::string name() { return "Dict(" + Type<K>::name() + ", " + Type<V>::name() + ")"; }
  static Dict<K, V> from(const TVMFFIAny& a) {
    Dict<K, V> made;
    auto items = items_of(a);
    for (size_t i = 0; i + 1 < items.size(); i += 2) made.insert(Type<K>::from(items[i]), Type<V>::from(items[i + 1]));
    return made;
  }
  static IValue to(const Dict<K, V>& v) {
    std::vector<IValue> made;
    for (auto& e : v) made.push_back(Type<K>::to(e.key())), made.push_back(Type<V>::to(e.value()));
    return IValue::list(made);
  }
};
template <class... T>
struct Type<std::tuple<T...>> {
  static std::string name() {
    std::string s;
    ((s += (s.empty() ? "" : ", ") + Type<std::decay_t<T>>::name()), ...);
    return "(" + s + ")";
  }
  static std::tuple<T...> from(const TVMFFIAny& a) { return unpack(items_of(a), std::index_sequence_for<T...>{}); }
  static IValue to(const std::tuple<T...>& t) {
    return std::apply([](auto&... v) { return IValue::list(std::vector<IValue>{Type<std::decay_t<decltype(v)>>::to(v)...}); }, t);
  }

 private:
  template <size_t... I>
  static std::tuple<T...> unpack(ArrayRef<TVMFFIAny> items, std::index_sequence<I...>) {
    return {Type<std::decay_t<T>>::from(items.at(I))...};
  }
};

// ---- schemas of functions
template <class A>
inline constexpr bool is_written = std::is_same_v<A, Tensor&>;
template <class A>
std::string argument_text(int i) {
  if constexpr (is_written<A>) return cat("Tensor(", char('a' + i), "!) _", i);
  else return cat(Type<std::decay_t<A>>::name(), " _", i);
}
template <class R, class... A>
std::string returns_text() {
  if constexpr (std::is_void_v<R>) {
    return "()";
  } else if constexpr (std::is_same_v<R, Tensor&>) {
    int found = 0, i = 0;
    ((is_written<A> ? void(found = i) : void(), i++), ...);
    return cat("Tensor(", char('a' + found), "!)");
  } else {
    return Type<std::decay_t<R>>::name();
  }
}
template <class... A>
inline constexpr bool takes_keys = false;
template <class First, class... A>
inline constexpr bool takes_keys<First, A...> = std::is_same_v<std::decay_t<First>, DispatchKeySet>;
template <class R, class... A>
struct SchemaText;
template <class R, class... A>
std::string schema_text() {
  if constexpr (takes_keys<A...>) return SchemaText<R, A...>::without_keys();
  else return SchemaText<R, A...>::text();
}
template <class R>
struct SchemaText<R> {
  static std::string text() { return "() -> " + returns_text<R>(); }
};
template <class R, class First, class... A>
struct SchemaText<R, First, A...> {
  static std::string without_keys() { return SchemaText<R, A...>::text(); }
  static std::string text() { return schema_of<First, A...>(); }

 private:
  template <class... B>
  static std::string schema_of() {
    int i = 0;
    std::string s;
    ((s += (i ? ", " : "") + argument_text<B>(i), i++), ...);
    return "(" + s + ") -> " + returns_text<R, B...>();
  }
};

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
#define OPWEAVE_SIGNATURE(form)           \
  template <class C, class R, class... A> \
  struct Signature<form> {                \
    using type = R(A...);                 \
  };
OPWEAVE_SIGNATURE(R (C::*)(A...))
OPWEAVE_SIGNATURE(R (C::*)(A...) const)
OPWEAVE_SIGNATURE(R (C::*)(A...) noexcept)
OPWEAVE_SIGNATURE(R (C::*)(A...) const noexcept)
#undef OPWEAVE_SIGNATURE
template <class R, class... A>
struct Signature<R(A...)> {
  using type = R(A...);
};
template <class R, class... A>
struct Signature<R(A...) noexcept> {
  using type = R(A...);
};
template <class R, class... A>
struct Signature<R (*)(A...)> {
  using type = R(A...);
};
template <class R, class... A>
struct Signature<R (*)(A...) noexcept> {
  using type = R(A...);
};

// ---- kernels
// What a host hands over behind the arguments of a kernel: how it is called.
enum CallFlags : int64_t { kPlain = 0, kWatched = 1 };

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void call(const TVMFFIAny* args, int n, TVMFFIAny* result) = 0;
  static int safe_call(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
    return guarded([&] { static_cast<Kernel*>(self)->call(args, n, result); });
  }
};

// The bytes from the first element of a tensor to behind its last.
inline std::pair<const char*, const char*> range_of(const DLTensor& t) {
  int64_t last = 0;
  for (int32_t d = 0; d < t.ndim; d++) {
    if (t.shape[d] == 0) return {nullptr, nullptr};
    last += (t.shape[d] - 1) * t.strides[d];
  }
  auto* first = static_cast<const char*>(t.data) + t.byte_offset;
  int64_t item = (t.dtype.bits * t.dtype.lanes + 7) / 8;
  return {first, first + (last + 1) * item};
}
// A tensor that a kernel with data returns must be memory of its own: of an argument, or a part of one, it is a copy.
inline void copy_if_shared(Tensor& t, const TVMFFIAny* args, int n) {
  if (!t.defined() || t.is_of_host()) return;
  auto [first, end] = range_of(*TVMFFITensorGetDLTensorPtr(t.object()));
  for (int i = 0; i < n; i++) {
    if (args[i].type_index != kTVMFFITensor) continue;
    auto [low, high] = range_of(*TVMFFITensorGetDLTensorPtr(object_of(args[i])));
    if (object_of(args[i]) == t.object() || (first < high && low < end)) {
      t = t.clone();
      return;
    }
  }
}
template <class T>
void unshare(T& value, const TVMFFIAny* args, int n) {
  if constexpr (std::is_same_v<T, Tensor>) copy_if_shared(value, args, n);
  else if constexpr (std::is_same_v<T, std::vector<Tensor>>)
    for (auto& t : value) copy_if_shared(t, args, n);
}
template <class... T>
void unshare(std::tuple<T...>& value, const TVMFFIAny* args, int n) {
  std::apply([&](auto&... v) { (unshare(v, args, n), ...); }, value);
}

template <class F, class S>
class Unboxed;
// A kernel that takes the keys of the call first is given them as a number.
template <>
struct Type<DispatchKeySet> {
  static std::string name() { return ""; }
  static DispatchKeySet from(const TVMFFIAny& a) { return DispatchKeySet(uint64_t(int_of(a))); }
};
template <class F, class R, class... A>
class Unboxed<F, R(A...)> final : public Kernel {
 public:
  explicit Unboxed(F f) : f_(std::move(f)) {}
  void call(const TVMFFIAny* args, int n, TVMFFIAny* result) override {
    constexpr int wanted = int(sizeof...(A));
    if (n < wanted) throw TypeError(cat("expected ", wanted, " arguments but got ", n));
    bool is_watched = n > wanted && args[wanted].type_index == kTVMFFIInt && (args[wanted].v_int64 & kWatched);
    Watched watching(is_watched);
    go(args, result, std::index_sequence_for<A...>{});
  }

 private:
  template <size_t... I>
  void go(const TVMFFIAny* a, TVMFFIAny* result, std::index_sequence<I...>) {
    std::tuple<decltype(Type<std::decay_t<A>>::from(a[0]))...> held{Type<std::decay_t<A>>::from(a[I])...};
    if constexpr (std::is_void_v<R> || std::is_same_v<R, Tensor&> || std::is_same_v<R, const Tensor&>) {
      f_(pass<A>(std::get<I>(held))...);  // the host knows which argument is returned
    } else {
      auto made = f_(pass<A>(std::get<I>(held))...);
      unshare(made, a, int(sizeof...(A)));
      *result = Type<std::decay_t<R>>::to(made).release();
    }
  }
  template <class P, class H>
  static decltype(auto) pass(H& held) {
    using T = std::decay_t<P>;
    if constexpr (std::is_same_v<H, T>) {
      if constexpr (std::is_lvalue_reference_v<P>) return static_cast<H&>(held);
      else return std::move(held);
    } else if constexpr (std::is_same_v<T, OptionalIntArrayRef>) {
      return held ? OptionalIntArrayRef(*held) : OptionalIntArrayRef();
    } else {
      return view<T>(held);
    }
  }
  template <class T, class H>
  static T view(const H& held) { return T(held); }
  F f_;
};

}  // namespace detail

template <class T>
T IValue::to() const { return detail::Type<T>::from(a_); }

inline uint64_t Generator::current_seed() const { return uint64_t(detail::ask_generator(*this, "current_seed", 0).toInt()); }
inline void Generator::set_current_seed(uint64_t s) { detail::ask_generator(*this, "set_current_seed", s); }
inline uint64_t Generator::seed() { return uint64_t(detail::ask_generator(*this, "seed", 0).toInt()); }
struct CPUGeneratorImpl {};
namespace detail {
inline Generator createCPUGenerator(uint64_t seed = 67280421310721) {
  return generator_of(ask_generator({}, "create", seed));
}
inline Generator getDefaultCPUGenerator() { return {}; }
}  // namespace detail
template <class Implementation>
Generator make_generator(uint64_t seed = 67280421310721) { return detail::createCPUGenerator(seed); }

}  // namespace opweave
