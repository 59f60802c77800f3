// Made by registry/cpp/headers.py of what the registry declares; a test fails where they differ. Do not edit.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <ostream>

#include "abi.h"

namespace OPWEAVE_HIDDEN opweave {

#define OPWEAVE_DISPATCH_KEYS(_) \
  _(Undefined, 0) \
  _(Meta, 1) \
  _(CPU, 2) \
  _(CUDA, 3) \
  _(BackendSelect, 4) \
  _(Python, 5) \
  _(FuncTorchBatched, 6) \
  _(FuncTorchVmapMode, 7) \
  _(Functionalize, 8) \
  _(ADInplaceOrView, 9) \
  _(AutogradOther, 10) \
  _(AutogradMeta, 11) \
  _(AutogradCPU, 12) \
  _(AutogradCUDA, 13) \
  _(PreDispatch, 14) \
  _(AutocastCPU, 15) \
  _(AutocastCUDA, 16) \
  _(CompositeExplicitAutograd, 100) \
  _(CompositeExplicitAutogradNonFunctional, 101) \
  _(CompositeImplicitAutograd, 102) \
  _(Autograd, 103) \
  _(Autocast, 104)
enum class DispatchKey : uint8_t {
#define OPWEAVE_ENTRY(name, number) name = number,
  OPWEAVE_DISPATCH_KEYS(OPWEAVE_ENTRY)
#undef OPWEAVE_ENTRY
  CatchAll = 102
};
inline const char* toString(DispatchKey k) {
  switch (k) {
#define OPWEAVE_ENTRY(name, number) \
  case DispatchKey::name:           \
    return #name;
    OPWEAVE_DISPATCH_KEYS(OPWEAVE_ENTRY)
#undef OPWEAVE_ENTRY
  }
  return "UnknownKey";
}
inline std::ostream& operator<<(std::ostream& out, DispatchKey k) { return out << toString(k); }

// A set of keys, by the bits that the host uses.
class DispatchKeySet {
 public:
  constexpr DispatchKeySet() = default;
  constexpr explicit DispatchKeySet(uint64_t bits) : bits_(bits) {}
  constexpr DispatchKeySet(DispatchKey k) : bits_(k == DispatchKey::Undefined ? 0 : uint64_t(1) << int(k)) {}
  constexpr DispatchKeySet(std::initializer_list<DispatchKey> keys) {
    for (DispatchKey k : keys) bits_ |= DispatchKeySet(k).bits_;
  }
  constexpr bool has(DispatchKey k) const { return bits_ & DispatchKeySet(k).bits_; }
  constexpr DispatchKeySet add(DispatchKey k) const { return *this | DispatchKeySet(k); }
  constexpr DispatchKeySet remove(DispatchKey k) const { return *this - DispatchKeySet(k); }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr DispatchKeySet operator|(DispatchKeySet o) const { return DispatchKeySet(bits_ | o.bits_); }
  constexpr DispatchKeySet operator&(DispatchKeySet o) const { return DispatchKeySet(bits_ & o.bits_); }
  constexpr DispatchKeySet operator-(DispatchKeySet o) const { return DispatchKeySet(bits_ & ~o.bits_); }
  constexpr bool operator==(DispatchKeySet o) const { return bits_ == o.bits_; }
  constexpr bool operator!=(DispatchKeySet o) const { return bits_ != o.bits_; }
  constexpr DispatchKey highestPriorityTypeId() const {
    for (int k = 16; k > 0; k--)
      if (bits_ >> k & 1) return DispatchKey(k);
    return DispatchKey::Undefined;
  }
  constexpr uint64_t raw_repr() const { return bits_; }

 private:
  uint64_t bits_ = 0;
};
inline constexpr uint64_t kAutogradBits = 15360u, kGradBit = 1073741824u;
inline constexpr DispatchKeySet after_autograd_keyset{uint64_t(1023)};
inline constexpr DispatchKeySet after_ADInplaceOrView_keyset{uint64_t(511)};

#define OPWEAVE_TAGS(_) \
  _(core) \
  _(cudagraph_unsafe) \
  _(data_dependent_output) \
  _(dynamic_output_shape) \
  _(flexible_layout) \
  _(generated) \
  _(inplace) \
  _(inplace_view) \
  _(maybe_aliasing_or_mutating) \
  _(needs_contiguous_strides) \
  _(needs_exact_strides) \
  _(needs_fixed_stride_order) \
  _(nondeterministic_bitwise) \
  _(nondeterministic_seeded) \
  _(out) \
  _(out_variant) \
  _(pointwise) \
  _(pt2_compliant_tag) \
  _(reduction) \
  _(view_copy)
enum class Tag {
#define OPWEAVE_ENTRY(name) name,
  OPWEAVE_TAGS(OPWEAVE_ENTRY)
#undef OPWEAVE_ENTRY
};
inline const char* toString(Tag t) {
  switch (t) {
#define OPWEAVE_ENTRY(name) \
  case Tag::name:           \
    return #name;
    OPWEAVE_TAGS(OPWEAVE_ENTRY)
#undef OPWEAVE_ENTRY
  }
  return "unknown_tag";
}

}  // namespace opweave
