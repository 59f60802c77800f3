// Calls of ops through the host's dispatcher: `Call(op).arg(a).arg(b).tensor()`, without a template for each signature.
#pragma once
#include "ivalue.h"

namespace OPWEAVE_HIDDEN opweave {
namespace detail {

// An op by name, found when it is first called.
class HostOp {
 public:
  constexpr explicit HostOp(const char* name) : name_(name) {}
  TVMFFIObjectHandle function() {
    TVMFFIObjectHandle found = function_.load(std::memory_order_acquire);
    return found ? found : find();
  }
  const char* name() const { return name_; }

 private:
  TVMFFIObjectHandle find() {
    TVMFFIAny name{};
    name.type_index = kTVMFFIRawStr, name.v_c_str = name_;
    TVMFFIAny found = host::find_op(&name, 1);
    if (found.type_index != kTVMFFIFunction) wrong_type("a function", found);
    TVMFFIObjectHandle none = nullptr;
    if (!function_.compare_exchange_strong(none, object_of(found))) {
      TVMFFIObjectDecRef(object_of(found));
      return none;
    }
    return object_of(found);
  }
  const char* name_;
  std::atomic<TVMFFIObjectHandle> function_{nullptr};
};

class Call {
  static constexpr int kMost = 32;

 public:
  explicit Call(HostOp& op) : op_(op) {}
  Call(const Call&) = delete;
  ~Call() {
    for (int i = 0; i < owned_count_; i++) TVMFFIObjectDecRef(owned_[i]);
  }
  Call& arg(const Tensor& t) {
    TVMFFIAny& a = next();
    if (t.defined()) a.type_index = TVMFFIObjectGetTypeIndex(t.object()), a.v_obj = static_cast<TVMFFIObject*>(t.object());
    return *this;
  }
  Call& arg(const std::optional<Tensor>& t) { return t ? arg(*t) : none(); }
  Call& arg(int64_t v) { return next().type_index = kTVMFFIInt, last().v_int64 = v, *this; }
  Call& arg(bool v) { return next().type_index = kTVMFFIBool, last().v_int64 = v, *this; }
  Call& arg(double v) { return next().type_index = kTVMFFIFloat, last().v_float64 = v, *this; }
  Call& arg(const Scalar& v) { return own(IValue(v)); }
  Call& arg(ScalarType v) { return arg(toWord(v)); }
  Call& arg(std::string_view v) { return own(IValue(v)); }
  Call& arg(const Device& v) { return own(IValue(v)); }
  Call& arg(MemoryFormat v) { return arg(int64_t(v)); }
  Call& arg(Layout) { return none(); }
  Call& arg(const Generator& v) {
    return v.defined() ? own(*static_cast<IValue*>(v.object.get())) : none();
  }
  Call& arg(IntArrayRef v) { return own(IValue::list(v)); }
  Call& arg(ArrayRef<double> v) { return own(IValue::list(v)); }
  Call& arg(ArrayRef<bool> v) { return own(IValue::list(v)); }
  Call& arg(ArrayRef<Scalar> v) { return own(IValue::list(v)); }
  Call& arg(TensorList v) { return own(IValue::list(v)); }
  Call& arg(ArrayRef<std::optional<Tensor>> v) { return own(IValue::list(v)); }
  Call& arg(const OptionalIntArrayRef& v) { return v.has_value() ? arg(v.value()) : none(); }
  template <class T>
  Call& arg(const std::optional<T>& v) { return v ? arg(*v) : none(); }
  Call& none() { return next(), *this; }
  // The same by the name of the type, for what is generated: a call without overloads is compiled sooner.
  Call& t(const Tensor& v) { return arg(v); }
  Call& i(int64_t v) { return arg(v); }
  Call& f(double v) { return arg(v); }
  Call& b(bool v) { return arg(v); }
  Call& s(const Scalar& v) { return arg(v); }
  Call& l(IntArrayRef v) { return arg(v); }
  Call& d(std::optional<ScalarType> v) { return arg(v); }

  IValue value() { return IValue::steal(call()); }
  void run() { value(); }
  Tensor tensor() {
    TVMFFIAny result = call();
    if (result.type_index != kTVMFFITensor && result.type_index != kTVMFFIOpaquePyObject) {
      IValue kept = IValue::steal(result);
      return kept.toTensor();
    }
    return Tensor::steal(object_of(result));
  }
  std::vector<Tensor> tensors() { return value().toTensorVector(); }
  std::tuple<Tensor, Tensor> tensors2() {
    auto t = tensors();
    return {t.at(0), t.at(1)};
  }
  std::tuple<Tensor, Tensor, Tensor> tensors3() {
    auto t = tensors();
    return {t.at(0), t.at(1), t.at(2)};
  }
  std::tuple<Tensor, Tensor, Tensor, Tensor> tensors4() {
    auto t = tensors();
    return {t.at(0), t.at(1), t.at(2), t.at(3)};
  }
  std::tuple<Tensor, std::vector<Tensor>> tensor_and_tensors() {
    auto parts = value().toListRef();
    return {parts.at(0).toTensor(), parts.at(1).toTensorVector()};
  }
  int64_t integer() { return value().toInt(); }
  bool boolean() { return value().toBool(); }
  double real() { return value().toDouble(); }
  Scalar scalar() { return value().toScalar(); }

 private:
  TVMFFIAny call() {
    if (watched) arg(true);  // results are to be the host's tensors as they are
    TVMFFIAny result{};
    check_call(TVMFFIFunctionCall(op_.function(), args_, count_, &result));
    return result;
  }
  TVMFFIAny& next() {
    if (count_ == kMost) throw UnsupportedError(cat(op_.name(), ": a call with more than ", kMost, " arguments"));
    return args_[count_++] = TVMFFIAny{};
  }
  TVMFFIAny& last() { return args_[count_ - 1]; }
  Call& own(IValue v) {
    TVMFFIAny& a = next();
    a = std::move(v).release();
    if (is_object(a)) owned_[owned_count_++] = object_of(a);
    return *this;
  }
  HostOp& op_;
  int count_ = 0, owned_count_ = 0;
  TVMFFIAny args_[kMost];
  TVMFFIObjectHandle owned_[kMost];
};

}  // namespace detail

// A call of one op from one place; the function that carries it out is looked up once.
#define OPWEAVE_CALL(op)                                   \
  ::opweave::detail::Call([]() -> ::opweave::detail::HostOp& { \
    static ::opweave::detail::HostOp found(op);            \
    return found;                                          \
  }())

inline std::vector<int64_t> IValue::toIntVector() const {
  if (a_.type_index == kTVMFFIShape) {
    auto* cell = TVMFFIShapeGetCellPtr(detail::object_of(a_));
    return {cell->data, cell->data + cell->size};
  }
  std::vector<int64_t> made;
  for (auto& item : detail::items_of(a_)) made.push_back(share(item).toInt());
  return made;
}
inline std::vector<double> IValue::toDoubleVector() const {
  std::vector<double> made;
  for (auto& item : detail::items_of(a_)) made.push_back(detail::scalar_of(item).toDouble());
  return made;
}
inline std::vector<Tensor> IValue::toTensorVector() const {
  std::vector<Tensor> made;
  for (auto& item : detail::items_of(a_)) made.push_back(detail::tensor_of(item));
  return made;
}

}  // namespace opweave
