// Tensor: a reference to a tensor of the host.
//
// A kernel for a device is given tensors with data: sizes, strides and address stand in a DLTensor that the reference
// keeps alive, and reading them calls nobody. A kernel above that (Autograd, Meta, Batched, composite ones under a
// trace) is given the host's tensors as they are, which the host describes when it is asked to.
#pragma once
#include <memory>
#include <string_view>

#include "host.h"
#include "keys.h"
#include "types.h"

namespace OPWEAVE_HIDDEN opweave {

class Tensor;
using TensorList = ArrayRef<Tensor>;
using ITensorListRef = TensorList;
// A source of random numbers: the host's object, or none, which is the default one.
struct Generator {
  std::shared_ptr<void> object;
  bool defined() const { return object != nullptr; }
  uint64_t current_seed() const;
  void set_current_seed(uint64_t seed);
  uint64_t seed();
  Device device() const { return Device(kCPU); }
};
namespace indexing {
struct TensorIndex;
}

namespace detail {
// What is known of a tensor that only the host can describe.
struct HostTensor {
  std::atomic<int> references{1};
  TVMFFIObjectHandle object;
  struct Description {
    ScalarType dtype;
    Device device;
    std::vector<int64_t> sizes, strides;
    int64_t offset;
    bool requires_grad, is_leaf;
    uint64_t keys;
    std::unique_ptr<Description> earlier;  // what was handed out stays valid
  };
  std::unique_ptr<Description> known;
  explicit HostTensor(TVMFFIObjectHandle o) : object(o) {}
  ~HostTensor() { TVMFFIObjectDecRef(object); }
  const Description& describe();
  void forget() { stale = true; }
  bool stale = true;
};
}  // namespace detail

class Tensor {
  TVMFFIObjectHandle object_ = nullptr;  // owned here, or by host_
  detail::HostTensor* host_ = nullptr;

 public:
  Tensor() = default;
  Tensor(std::nullopt_t) {}
  // Takes over the reference to a tensor object of the runtime, or to an opaque one of the host.
  static Tensor steal(TVMFFIObjectHandle object) {
    Tensor made;
    made.object_ = object;
    if (TVMFFIObjectGetTypeIndex(object) != kTVMFFITensor) made.host_ = new detail::HostTensor(object);
    return made;
  }
  static Tensor share(TVMFFIObjectHandle object) {
    TVMFFIObjectIncRef(object);
    return steal(object);
  }
  Tensor(const Tensor& o) : object_(o.object_), host_(o.host_) {
    if (host_) host_->references.fetch_add(1, std::memory_order_relaxed);
    else if (object_) TVMFFIObjectIncRef(object_);
  }
  Tensor(Tensor&& o) noexcept : object_(std::exchange(o.object_, nullptr)), host_(std::exchange(o.host_, nullptr)) {}
  Tensor& operator=(const Tensor& o) & {
    Tensor copy(o);
    return swap(copy);
  }
  Tensor& operator=(Tensor&& o) & noexcept {
    Tensor moved(std::move(o));
    return swap(moved);
  }
  // `x[0] = y` writes to the tensor.
  Tensor& operator=(const Tensor& o) && { return copy_(o), *this; }
  Tensor& operator=(Tensor&& o) && { return copy_(o), *this; }
  Tensor& operator=(const Scalar& v) && { return fill_(v), *this; }
  ~Tensor() { reset(); }
  void reset() {
    if (host_) {
      if (host_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete host_;
    } else if (object_) {
      TVMFFIObjectDecRef(object_);
    }
    host_ = nullptr, object_ = nullptr;
  }
  Tensor& swap(Tensor& o) noexcept {
    std::swap(object_, o.object_), std::swap(host_, o.host_);
    return *this;
  }

  bool defined() const { return object_ != nullptr; }
  TVMFFIObjectHandle object() const { return object_; }
  bool is_same(const Tensor& o) const { return object_ == o.object_; }
  bool is_of_host() const { return host_ != nullptr; }
  // Sizes may have changed: ask again.
  void forget_description() const {
    if (host_) host_->forget();
  }

  // ---- what it looks like
  int64_t dim() const { return host_ ? int64_t(about().sizes.size()) : dl().ndim; }
  int64_t ndimension() const { return dim(); }
  IntArrayRef sizes() const { return host_ ? IntArrayRef(about().sizes) : IntArrayRef(dl().shape, size_t(dl().ndim)); }
  IntArrayRef strides() const;
  int64_t size(int64_t d) const { return sizes()[wrap(d)]; }
  int64_t stride(int64_t d) const { return strides()[wrap(d)]; }
  IntArrayRef sym_sizes() const { return sizes(); }
  IntArrayRef sym_strides() const { return strides(); }
  int64_t sym_size(int64_t d) const { return size(d); }
  int64_t sym_numel() const { return numel(); }
  // Of the memory that a kernel for a device is given, which begins at the tensor's first element.
  int64_t storage_offset() const { return host_ ? about().offset : 0; }
  int64_t numel() const {
    int64_t n = 1;
    for (int64_t s : sizes()) n *= s;
    return n;
  }
  int64_t element_size() const { return elementSize(scalar_type()); }
  int64_t itemsize() const { return element_size(); }
  size_t nbytes() const { return size_t(numel() * element_size()); }
  ScalarType scalar_type() const { return host_ ? about().dtype : toScalarType(dl().dtype); }
  ScalarType dtype() const { return scalar_type(); }
  Device device() const {
    if (host_) return about().device;
    return dl().device.device_type == kDLCPU ? Device(kCPU) : Device(kCUDA, DeviceIndex(dl().device.device_id));
  }
  int64_t get_device() const { return device().index(); }
  Layout layout() const { return defined() ? kStrided : kStrided; }
  TensorOptions options() const { return TensorOptions(scalar_type(), device()); }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_meta() const { return device().is_meta(); }
  bool is_sparse() const { return false; }
  bool is_quantized() const { return false; }
  bool is_floating_point() const { return isFloatingType(scalar_type()); }
  bool is_complex() const { return isComplexType(scalar_type()); }
  bool is_signed() const { return scalar_type() != kByte && scalar_type() != kBool; }
  bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  bool is_non_overlapping_and_dense() const;
  bool requires_grad() const { return host_ && about().requires_grad; }
  bool is_leaf() const { return !host_ || about().is_leaf; }
  const Tensor& set_requires_grad(bool r) const;
  DispatchKeySet key_set() const;
  struct TypeProperties {  // of `x.type()`, as older sources have it
    ScalarType type;
    Device place;
    operator ScalarType() const { return type; }
    ScalarType scalarType() const { return type; }
    bool is_cuda() const { return place.is_cuda(); }
  };
  TypeProperties type() const { return {scalar_type(), device()}; }

  // ---- data
  void* data_ptr() const;
  const void* const_data_ptr() const { return data_ptr(); }
  void* mutable_data_ptr() const { return data_ptr(); }
  template <class T>
  T* data_ptr() const {
    using V = std::remove_cv_t<T>;
    require_dtype(CppTypeToScalarType<V>::value);
    return static_cast<T*>(data_ptr());
  }
  template <class T>
  const T* const_data_ptr() const { return data_ptr<const T>(); }
  template <class T>
  T* mutable_data_ptr() const { return data_ptr<T>(); }
  template <class T>
  T* data() const { return data_ptr<T>(); }
  template <class T>
  T item() const { return item().template to<T>(); }
  Scalar item() const;

  template <class T, size_t N>
  auto accessor() const&;
  template <class T, size_t N, template <class> class Traits>
  auto packed_accessor32() const&;
  template <class T, size_t N>
  auto packed_accessor32() const&;
  template <class T, size_t N>
  auto packed_accessor64() const&;

  // ---- those of the ops that need no dispatcher, or have another signature than their schema
  // opweave-native method: contiguous clone item to requires_grad_ size stride numel sym_numel sym_size sym_stride is_floating_point
  // opweave-native method: is_complex is_contiguous data type
  Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  Tensor clone(std::optional<MemoryFormat> format = std::nullopt) const;
  Tensor to(TensorOptions options, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> format = std::nullopt) const;
  Tensor to(Device device, ScalarType type, bool non_blocking = false, bool copy = false) const;
  Tensor to(ScalarType type, bool non_blocking = false, bool copy = false) const;
  Tensor to(Device device, bool non_blocking = false, bool copy = false) const;
  Tensor to(const Tensor& other, bool non_blocking = false, bool copy = false) const;
  Tensor toType(ScalarType type) const { return to(type); }
  Tensor type_as(const Tensor& o) const { return to(o); }
  bool is_same_size(const Tensor& o) const { return sizes() == o.sizes(); }
  bool is_nonzero() const;
  bool is_pinned() const { return false; }
  bool is_conj() const { return false; }  // conjugates have memory of their own
  bool is_neg() const { return false; }
  Tensor& resize_as_(const Tensor& o) const { return resize_(o.sizes()); }
  Tensor norm(const Scalar& p = 2) const { return linalg_vector_norm(p); }
  Tensor norm(const std::optional<Scalar>& p, ScalarType type) const {
    return linalg_vector_norm(p.value_or(2), std::nullopt, false, type);
  }
  Tensor norm(const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim = false) const {
    return linalg_vector_norm(p.value_or(2), dim, keepdim);
  }
  Tensor norm(const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim, ScalarType type) const {
    return linalg_vector_norm(p.value_or(2), dim, keepdim, type);
  }
  // A size is an int here, and so is a symbolic one.
  Tensor view_symint(IntArrayRef size) const { return view(size); }
  Tensor reshape_symint(IntArrayRef size) const { return reshape(size); }
  Tensor expand_symint(IntArrayRef size, bool implicit = false) const { return expand(size, implicit); }
  Tensor narrow_symint(int64_t dim, int64_t start, int64_t length) const { return narrow(dim, start, length); }
  Tensor new_empty_symint(IntArrayRef size, TensorOptions options = {}) const { return new_empty(size, options); }
  Tensor new_zeros_symint(IntArrayRef size, TensorOptions options = {}) const { return new_zeros(size, options); }
  Tensor cpu() const { return to(Device(kCPU)); }
  Tensor cuda() const { return to(Device(kCUDA)); }
  const Tensor& requires_grad_(bool r = true) const { return set_requires_grad(r); }
  Tensor variable_data() const { return detach(); }
  Tensor tensor_data() const { return detach(); }
  Tensor operator[](int64_t i) const { return select(0, i); }
  Tensor operator[](const Scalar& i) const { return select(0, i.toLong()); }
  Tensor operator[](const Tensor& i) const;
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& values) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value) const;
  Tensor operator-() const { return neg(); }
  Tensor operator~() const { return bitwise_not(); }
  Tensor& operator+=(const Tensor& o) { return add_(o), *this; }
  Tensor& operator+=(const Scalar& o) { return add_(o), *this; }
  Tensor& operator-=(const Tensor& o) { return sub_(o), *this; }
  Tensor& operator-=(const Scalar& o) { return sub_(o), *this; }
  Tensor& operator*=(const Tensor& o) { return mul_(o), *this; }
  Tensor& operator*=(const Scalar& o) { return mul_(o), *this; }
  Tensor& operator/=(const Tensor& o) { return div_(o), *this; }
  Tensor& operator/=(const Scalar& o) { return div_(o), *this; }

#include "generated/methods.h"

 private:
  const DLTensor& dl() const {
    if (!object_) undefined();
    return *TVMFFITensorGetDLTensorPtr(object_);
  }
  const detail::HostTensor::Description& about() const { return host_->describe(); }
  [[noreturn]] static void undefined() { throw ValueError("a tensor that is not defined was used (None was given)"); }
  size_t wrap(int64_t d) const {
    int64_t n = dim();
    if (d < -n || d >= n)
      throw IndexError(detail::cat("Dimension out of range: ", d, " of a tensor with ", n, " dimensions"));
    return size_t(d < 0 ? d + n : d);
  }
  void require_dtype(ScalarType wanted) const {
    if (scalar_type() != wanted)
      throw DTypeError(detail::cat("expected scalar type ", wanted, " but found ", scalar_type(),
                                   ": data_ptr<T> does not convert"));
  }
};

using Variable = Tensor;
inline std::ostream& operator<<(std::ostream& out, const Tensor& t) {
  if (!t.defined()) return out << "[undefined tensor]";
  return out << "[" << t.scalar_type() << t.sizes() << " on " << t.device() << "]";
}

}  // namespace opweave
