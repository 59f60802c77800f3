// The parts of Tensor that read memory or ask the host.
#pragma once
#include <cmath>
#include <cstdlib>
#include <functional>

#include "call.h"

namespace OPWEAVE_HIDDEN opweave {
namespace detail {

inline const HostTensor::Description& HostTensor::describe() {
  if (known && !stale) return *known;
  TVMFFIAny arg{};
  arg.type_index = TVMFFIObjectGetTypeIndex(object), arg.v_obj = static_cast<TVMFFIObject*>(object);
  auto parts = IValue::steal(host::describe(&arg, 1)).toListRef();
  auto made = std::make_unique<Description>();
  made->dtype = parts.at(0).toScalarType();
  made->device = Device(parts.at(1).toStringRef());
  made->sizes = parts.at(2).toIntVector(), made->strides = parts.at(3).toIntVector();
  made->offset = parts.at(4).toInt();
  made->requires_grad = parts.at(5).toInt() & 1, made->is_leaf = parts.at(5).toInt() & 2;
  made->keys = uint64_t(parts.at(6).toInt());
  if (known && known->sizes == made->sizes && known->strides == made->strides) {
    known->requires_grad = made->requires_grad, known->is_leaf = made->is_leaf, known->keys = made->keys;
  } else {
    made->earlier = std::move(known);
    known = std::move(made);
  }
  stale = false;
  return *known;
}

inline int64_t count(IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) {
    if (s < 0) throw ValueError(cat("sizes must not be negative: ", sizes));
    if (s && n > INT64_MAX / 16 / s) throw OutOfMemoryError(cat("sizes ", sizes, " are more than there can be memory for"));
    n *= s;
  }
  return n;
}

// A DLPack tensor whose sizes and strides, and possibly data, lie behind it in one block.
struct Block {
  DLManagedTensorVersioned managed;
  std::function<void(void*)> release;
  void* base;

  static size_t header(size_t dims) { return (sizeof(Block) + 2 * dims * sizeof(int64_t) + 63) / 64 * 64; }
  static Block* make(IntArrayRef sizes, IntArrayRef strides, ScalarType type, Device device, size_t bytes) {
    size_t head = header(sizes.size());
    void* memory = std::aligned_alloc(64, head + (bytes + 63) / 64 * 64);
    if (!memory) throw OutOfMemoryError(cat("no memory for ", bytes, " bytes"));
    auto* block = new (memory) Block{};
    block->base = memory;
    auto* dims = reinterpret_cast<int64_t*>(static_cast<char*>(memory) + sizeof(Block));
    size_t n = sizes.size();
    int64_t step = 1;
    for (size_t i = n; i--;) {
      dims[i] = sizes[i], dims[n + i] = strides.size() == n && n ? strides[i] : step;
      step *= std::max<int64_t>(sizes[i], 1);
    }
    DLDevice place{device.is_cuda() ? kDLCUDA : kDLCPU, device.has_index() ? device.index() : 0};
    block->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    block->managed.manager_ctx = block;
    block->managed.deleter = [](DLManagedTensorVersioned* m) {
      auto* self = static_cast<Block*>(m->manager_ctx);
      if (self->release) self->release(m->dl_tensor.data);
      void* memory = self->base;
      self->~Block();
      std::free(memory);
    };
    block->managed.dl_tensor = DLTensor{static_cast<char*>(memory) + head, place, int32_t(n), toDLDataType(type), dims, dims + n, 0};
    return block;
  }
  static Tensor wrap(Block* block) {
    TVMFFIObjectHandle object = nullptr;
    if (TVMFFITensorFromDLPackVersioned(&block->managed, 0, 0, &object) != 0) {
      block->managed.deleter(&block->managed);
      throw_raised();
    }
    return Tensor::steal(object);
  }
};

// Whether a new tensor can be made here: plain memory of the CPU, and nobody looks.
inline bool made_here(const TensorOptions& o) { return o.device().is_cpu() && !watched && !o.requires_grad(); }

inline Tensor new_block(IntArrayRef sizes, IntArrayRef strides, ScalarType type) {
  return Block::wrap(Block::make(sizes, strides, type, Device(kCPU), size_t(count(sizes) * elementSize(type))));
}

// Copy elements of `size` bytes from strided memory to dense memory, innermost dimension last.
inline void gather(char* to, const char* from, const int64_t* sizes, const int64_t* strides, size_t dims, int64_t size) {
  if (dims == 0) {
    std::memcpy(to, from, size_t(size));
    return;
  }
  int64_t inner = size;
  for (size_t i = 1; i < dims; i++) inner *= sizes[i];
  for (int64_t i = 0; i < sizes[0]; i++, to += inner, from += strides[0] * size) {
    if (dims == 1) std::memcpy(to, from, size_t(size));
    else gather(to, from, sizes + 1, strides + 1, dims - 1, size);
  }
}
}  // namespace detail

inline IntArrayRef Tensor::strides() const {
  if (host_) return about().strides;
  return {dl().strides, size_t(dl().ndim)};  // the runtime fills them in where a DLPack tensor has none
}

inline bool Tensor::is_contiguous(MemoryFormat format) const {
  auto n = sizes(), s = strides();
  int64_t step = 1;
  auto fits = [&](size_t d) {
    if (n[d] != 1 && s[d] != step) return false;
    step *= n[d];
    return true;
  };
  if (numel() == 0) return true;
  if (format == MemoryFormat::ChannelsLast || format == MemoryFormat::ChannelsLast3d) {
    if (n.size() != (format == MemoryFormat::ChannelsLast ? 4u : 5u)) return false;
    if (!fits(1)) return false;
    for (size_t d = n.size(); --d > 1;)
      if (!fits(d)) return false;
    return fits(0);
  }
  for (size_t d = n.size(); d--;)
    if (!fits(d)) return false;
  return true;
}

inline bool Tensor::is_non_overlapping_and_dense() const {
  auto n = sizes(), s = strides();
  std::vector<size_t> order;
  for (size_t d = 0; d < n.size(); d++)
    if (n[d] != 1) order.push_back(d);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return s[a] < s[b]; });
  int64_t step = 1;
  for (size_t d : order) {
    if (s[d] != step) return false;
    step *= n[d];
  }
  return true;
}

inline void* Tensor::data_ptr() const {
  if (!host_) return static_cast<char*>(dl().data) + dl().byte_offset;
  TVMFFIAny arg{};
  arg.type_index = TVMFFIObjectGetTypeIndex(object_), arg.v_obj = static_cast<TVMFFIObject*>(object_);
  return reinterpret_cast<void*>(IValue::steal(detail::host::data(&arg, 1)).toInt());
}

inline DispatchKeySet Tensor::key_set() const {
  if (host_) return DispatchKeySet(about().keys);
  return DispatchKeySet(is_cuda() ? DispatchKey::CUDA : DispatchKey::CPU);
}

inline const Tensor& Tensor::set_requires_grad(bool r) const {
  TVMFFIAny args[2]{};
  if (!object_) undefined();
  args[0].type_index = TVMFFIObjectGetTypeIndex(object_), args[0].v_obj = static_cast<TVMFFIObject*>(object_);
  args[1].type_index = kTVMFFIBool, args[1].v_int64 = r;
  Tensor made = IValue::steal(detail::host::set_requires_grad(args, 2)).toTensor();
  return const_cast<Tensor*>(this)->swap(made);  // it is one that the host knows from now on
}

inline Scalar Tensor::item() const {
  if (host_ || isFloat8Type(scalar_type())) return OPWEAVE_CALL("aten::item").arg(*this).scalar();
  if (numel() != 1) throw ValueError(detail::cat("item: a tensor of ", numel(), " elements is no number"));
  if (!is_cpu()) return cpu().item();
  switch (scalar_type()) {
#define OPWEAVE_ENTRY(name, ctype, number, code) \
  case ScalarType::name:                         \
    return Scalar(*data_ptr<ctype>());
    OPWEAVE_COMPUTED_TYPES(OPWEAVE_ENTRY)
#undef OPWEAVE_ENTRY
    default:
      throw DTypeError("item: undefined element type");
  }
}

// Tensors over memory that somebody else keeps; `release` is told when the last reference is gone.
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> release,
                        TensorOptions options = {}) {
  detail::count(sizes);
  if (strides.size() && strides.size() != sizes.size())
    throw ValueError(detail::cat("from_blob: ", sizes.size(), " sizes and ", strides.size(), " strides"));
  auto* block = detail::Block::make(sizes, strides, options.dtype(), options.device(), 0);
  block->managed.dl_tensor.data = data;
  block->release = std::move(release);
  return detail::Block::wrap(block);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> release, TensorOptions options = {}) {
  return from_blob(data, sizes, IntArrayRef(), std::move(release), options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, TensorOptions options = {}) {
  return from_blob(data, sizes, strides, std::function<void(void*)>(), options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, TensorOptions options = {}) {
  return from_blob(data, sizes, IntArrayRef(), std::function<void(void*)>(), options);
}

inline Tensor Tensor::clone(std::optional<MemoryFormat> format) const {
  bool plain = format.value_or(MemoryFormat::Preserve) == MemoryFormat::Contiguous;
  if (host_ || !is_cpu() || detail::watched || (!plain && format.value_or(MemoryFormat::Preserve) != MemoryFormat::Preserve))
    return OPWEAVE_CALL("aten::clone").arg(*this).arg(format).tensor();
  if (is_contiguous() || plain || !is_non_overlapping_and_dense()) {
    Tensor made = detail::new_block(sizes(), {}, scalar_type());
    auto* to = static_cast<char*>(made.data_ptr());
    auto* from = static_cast<const char*>(data_ptr());
    if (numel() == 0) return made;
    if (is_contiguous()) std::memcpy(to, from, nbytes());
    else detail::gather(to, from, sizes().data(), strides().data(), size_t(dim()), element_size());
    return made;
  }
  Tensor made = detail::new_block(sizes(), strides(), scalar_type());
  std::memcpy(made.data_ptr(), data_ptr(), nbytes());
  return made;
}

inline Tensor Tensor::contiguous(MemoryFormat format) const {
  if (is_contiguous(format)) return *this;
  return clone(format);
}

inline Tensor Tensor::to(TensorOptions o, bool non_blocking, bool copy, std::optional<MemoryFormat> format) const {
  ScalarType type = o.dtype_opt().value_or(scalar_type());
  Device place = o.device_opt().value_or(device());
  if (place.type() == device().type() && !place.has_index()) place = device();
  if (!copy && !host_ && type == scalar_type() && place == device() && !format) return *this;
  return OPWEAVE_CALL("aten::_to_copy")
      .arg(*this).arg(std::optional<ScalarType>(type)).none().arg(std::optional<Device>(place)).none()
      .arg(non_blocking).arg(format).tensor();
}
inline Tensor Tensor::to(Device d, ScalarType t, bool nb, bool copy) const { return to(TensorOptions(t, d), nb, copy); }
inline Tensor Tensor::to(ScalarType t, bool nb, bool copy) const { return to(TensorOptions(t), nb, copy); }
inline Tensor Tensor::to(Device d, bool nb, bool copy) const { return to(TensorOptions(d), nb, copy); }
inline Tensor Tensor::to(const Tensor& o, bool nb, bool copy) const { return to(o.options(), nb, copy); }

inline bool Tensor::is_nonzero() const {
  if (numel() != 1)
    throw Error(detail::cat("Boolean value of a Tensor with ", numel(), " values is ambiguous"));
  return item().to<bool>();
}

}  // namespace opweave
