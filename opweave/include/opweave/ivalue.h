// IValue: a value of any type, as it crosses between C++ and the host; Stack: the arguments or results of a boxed call.
#pragma once
#include "tensor.h"

namespace OPWEAVE_HIDDEN opweave {

namespace detail {
template <class T>
struct Type;  // boxing.h: how a C++ type is named in a schema, and converted
[[noreturn]] inline void wrong_type(const char* wanted, const TVMFFIAny& a) {
  const char* got = "an object of another type";
  switch (a.type_index) {
    case kTVMFFINone: got = "None"; break;
    case kTVMFFIInt: got = "an int"; break;
    case kTVMFFIBool: got = "a bool"; break;
    case kTVMFFIFloat: got = "a float"; break;
    case kTVMFFIDataType: got = "a dtype"; break;
    case kTVMFFIDevice: got = "a device"; break;
    case kTVMFFISmallStr: case kTVMFFIStr: case kTVMFFIRawStr: got = "a str"; break;
    case kTVMFFITensor: case kTVMFFIDLTensorPtr: got = "a Tensor"; break;
    case kTVMFFIArray: case kTVMFFIList: case kTVMFFIShape: got = "a list"; break;
    case kTVMFFIOpaquePyObject: got = "a Python object"; break;
    default: break;
  }
  throw TypeError(cat("expected ", wanted, " but got ", got));
}
inline ArrayRef<TVMFFIAny> items_of(const TVMFFIAny& a) {
  if (a.type_index != kTVMFFIArray && a.type_index != kTVMFFIList) wrong_type("a list", a);
  auto* cell = reinterpret_cast<TVMFFISeqCell*>(reinterpret_cast<char*>(a.v_obj) + sizeof(TVMFFIObject));
  return {static_cast<const TVMFFIAny*>(cell->data), size_t(cell->size)};
}
inline std::string_view text_of(const TVMFFIAny& a) {
  if (a.type_index == kTVMFFISmallStr) return {a.v_bytes, a.small_str_len};
  if (a.type_index == kTVMFFIRawStr) return a.v_c_str;
  if (a.type_index != kTVMFFIStr) wrong_type("a str", a);
  auto* bytes = TVMFFIBytesGetByteArrayPtr(static_cast<void*>(a.v_obj));
  return {bytes->data, bytes->size};
}
inline Tensor tensor_of(const TVMFFIAny& a) {
  if (a.type_index == kTVMFFINone) return Tensor();
  if (a.type_index != kTVMFFITensor && a.type_index != kTVMFFIOpaquePyObject) wrong_type("a Tensor", a);
  return Tensor::share(object_of(a));
}
inline Scalar scalar_of(const TVMFFIAny& a) {
  if (a.type_index == kTVMFFIInt) return Scalar(a.v_int64);
  if (a.type_index == kTVMFFIBool) return Scalar(a.v_int64 != 0);
  if (a.type_index == kTVMFFIFloat) return Scalar(a.v_float64);
  if (a.type_index != kTVMFFIOpaquePyObject) wrong_type("a number", a);
  TVMFFIAny arg = a, parts = host::complex(&arg, 1);  // an object of the host's
  auto items = items_of(parts);
  std::complex<double> found(items[0].v_float64, items[1].v_float64);
  TVMFFIObjectDecRef(object_of(parts));
  return Scalar(found);
}
inline int64_t kind_of(const TVMFFIAny& a) {
  if (a.type_index != kTVMFFIOpaquePyObject) return a.type_index == kTVMFFITensor;
  TVMFFIAny arg = a;
  return host::kind(&arg, 1).v_int64;
}
}  // namespace detail

class IValue {
 public:
  IValue() = default;
  IValue(std::nullopt_t) {}
  IValue(int64_t v) { a_.type_index = kTVMFFIInt, a_.v_int64 = v; }
  IValue(int32_t v) : IValue(int64_t(v)) {}
  IValue(bool v) { a_.type_index = kTVMFFIBool, a_.v_int64 = v; }
  IValue(double v) { a_.type_index = kTVMFFIFloat, a_.v_float64 = v; }
  IValue(ScalarType v) : IValue(toWord(v)) {}
  IValue(Device v) : IValue(v.str()) {}
  IValue(const Scalar& v) {
    if (v.isComplex()) {
      auto c = v.toComplexDouble();
      TVMFFIAny parts[2]{};
      parts[0].type_index = parts[1].type_index = kTVMFFIFloat;
      parts[0].v_float64 = c.real(), parts[1].v_float64 = c.imag();
      a_ = detail::host::complex(parts, 2);
      return;
    }
    *this = v.isFloatingPoint() ? IValue(v.toDouble()) : v.isBoolean() ? IValue(v.toBool()) : IValue(v.toLong());
  }
  IValue(const Tensor& t) {
    if (!t.defined()) return;
    TVMFFIObjectIncRef(t.object());
    set_object(t.object());
  }
  IValue(std::string_view s) {
    TVMFFIByteArray bytes{s.data(), s.size()};
    detail::check_call(TVMFFIStringFromByteArray(&bytes, &a_));
  }
  IValue(const std::string& s) : IValue(std::string_view(s)) {}
  IValue(const char* s) : IValue(std::string_view(s)) {}
  IValue(IntArrayRef v) : IValue(list(v)) {}
  template <class T>
  IValue(const std::vector<T>& v) : IValue(list(v)) {}
  template <class T>
  IValue(const List<T>& v) : IValue(list(v.vec())) {}
  template <class T>
  IValue(const std::optional<T>& v) {
    if (v) *this = IValue(*v);
  }
  static IValue steal(TVMFFIAny a) {
    IValue made;
    made.a_ = a;
    return made;
  }
  static IValue share(const TVMFFIAny& view) {
    IValue made;
    detail::check_call(TVMFFIAnyViewToOwnedAny(&view, &made.a_));
    return made;
  }
  static IValue object(TVMFFIObjectHandle owned) {
    IValue made;
    made.set_object(owned);
    return made;
  }
  template <class Items>
  static IValue list(const Items& items) {
    std::vector<IValue> values;
    for (auto&& item : items) values.emplace_back(item);
    std::vector<TVMFFIAny> raw;
    for (auto& v : values) raw.push_back(v.a_);
    return steal(detail::host::array(raw.data(), int(raw.size())));
  }
  static IValue list(std::initializer_list<IValue> items) { return list(ArrayRef<IValue>(items)); }
  IValue(const IValue& o) : a_(o.a_) {
    if (detail::is_object(a_)) TVMFFIObjectIncRef(detail::object_of(a_));
  }
  IValue(IValue&& o) noexcept : a_(std::exchange(o.a_, TVMFFIAny{})) {}
  IValue& operator=(IValue o) noexcept {
    std::swap(a_, o.a_);
    return *this;
  }
  ~IValue() {
    if (detail::is_object(a_)) TVMFFIObjectDecRef(detail::object_of(a_));
  }
  const TVMFFIAny& raw() const { return a_; }
  TVMFFIAny release() && { return std::exchange(a_, TVMFFIAny{}); }

  template <class T>
  T to() const;
  bool isNone() const { return a_.type_index == kTVMFFINone; }
  bool isTensor() const { return detail::kind_of(a_) == 1; }
  bool isInt() const { return a_.type_index == kTVMFFIInt; }
  bool isDouble() const { return a_.type_index == kTVMFFIFloat; }
  bool isBool() const { return a_.type_index == kTVMFFIBool; }
  bool isComplexDouble() const { return detail::kind_of(a_) == 2; }
  bool isScalar() const { return isInt() || isDouble() || isBool() || isComplexDouble(); }
  bool isString() const { return a_.type_index == kTVMFFIStr || a_.type_index == kTVMFFISmallStr; }
  bool isList() const { return a_.type_index == kTVMFFIArray || a_.type_index == kTVMFFIList; }
  bool isTuple() const { return isList(); }
  bool isTensorList() const {
    if (!isList()) return false;
    for (auto& item : detail::items_of(a_))
      if (detail::kind_of(item) != 1) return false;
    return true;
  }
  Tensor toTensor() const { return detail::tensor_of(a_); }
  int64_t toInt() const {
    if (!isInt() && !isBool()) detail::wrong_type("an int", a_);
    return a_.v_int64;
  }
  double toDouble() const { return toScalar().toDouble(); }
  std::complex<double> toComplexDouble() const { return toScalar().toComplexDouble(); }
  bool toBool() const {
    if (!isInt() && !isBool()) detail::wrong_type("a bool", a_);
    return a_.v_int64 != 0;
  }
  Scalar toScalar() const { return detail::scalar_of(a_); }
  ScalarType toScalarType() const {
    if (isInt()) return fromWord(a_.v_int64);
    if (a_.type_index != kTVMFFIDataType) detail::wrong_type("a dtype", a_);
    return opweave::toScalarType(a_.v_dtype);
  }
  std::string toStringRef() const { return std::string(detail::text_of(a_)); }
  std::string toStr() const { return toStringRef(); }
  std::vector<IValue> toListRef() const {
    std::vector<IValue> made;
    for (auto& item : detail::items_of(a_)) made.push_back(share(item));
    return made;
  }
  std::vector<int64_t> toIntVector() const;
  List<int64_t> toIntList() const { return List<int64_t>(toIntVector()); }
  std::vector<double> toDoubleVector() const;
  std::vector<Tensor> toTensorVector() const;
  List<Tensor> toTensorList() const { return List<Tensor>(toTensorVector()); }

 private:
  void set_object(TVMFFIObjectHandle owned) {
    a_.type_index = TVMFFIObjectGetTypeIndex(owned), a_.v_obj = static_cast<TVMFFIObject*>(owned);
  }
  TVMFFIAny a_{};
};
using Stack = std::vector<IValue>;

inline void push(Stack&) {}
template <class T, class... A>
void push(Stack& s, T&& first, A&&... rest) {
  s.emplace_back(std::forward<T>(first));
  push(s, std::forward<A>(rest)...);
}
template <class... A>
void push(Stack* s, A&&... a) { push(*s, std::forward<A>(a)...); }
inline IValue pop(Stack& s) {
  if (s.empty()) throw IndexError("pop: the stack is empty");
  IValue v = std::move(s.back());
  s.pop_back();
  return v;
}
inline IValue pop(Stack* s) { return pop(*s); }
inline void drop(Stack& s, size_t n) {
  if (n > s.size()) throw IndexError(detail::cat("drop: ", n, " of ", s.size(), " values"));
  s.erase(s.end() - int64_t(n), s.end());
}
inline void drop(Stack* s, size_t n) { drop(*s, n); }
inline IValue& peek(Stack& s, size_t i, size_t n) { return s.at(s.size() - n + i); }
inline ArrayRef<IValue> last(const Stack& s, size_t n) { return ArrayRef<IValue>(s.data() + (s.size() - n), n); }

}  // namespace opweave
