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
  _(Autocast, 104) \
  _(AutocastHIP, 1000) \
  _(AutocastHPU, 1001) \
  _(AutocastIPU, 1002) \
  _(AutocastLazy, 1003) \
  _(AutocastMAIA, 1004) \
  _(AutocastMPS, 1005) \
  _(AutocastMTIA, 1006) \
  _(AutocastPrivateUse1, 1007) \
  _(AutocastVE, 1008) \
  _(AutocastXLA, 1009) \
  _(AutocastXPU, 1010) \
  _(AutogradHIP, 1011) \
  _(AutogradHPU, 1012) \
  _(AutogradIPU, 1013) \
  _(AutogradLazy, 1014) \
  _(AutogradMAIA, 1015) \
  _(AutogradMPS, 1016) \
  _(AutogradMTIA, 1017) \
  _(AutogradNestedTensorHIP, 1018) \
  _(AutogradNestedTensorHPU, 1019) \
  _(AutogradNestedTensorIPU, 1020) \
  _(AutogradNestedTensorLazy, 1021) \
  _(AutogradNestedTensorMAIA, 1022) \
  _(AutogradNestedTensorMPS, 1023) \
  _(AutogradNestedTensorMTIA, 1024) \
  _(AutogradNestedTensorPrivateUse1, 1025) \
  _(AutogradNestedTensorVE, 1026) \
  _(AutogradNestedTensorXLA, 1027) \
  _(AutogradNestedTensorXPU, 1028) \
  _(AutogradPrivateUse1, 1029) \
  _(AutogradVE, 1030) \
  _(AutogradXLA, 1031) \
  _(AutogradXPU, 1032) \
  _(Batched, 1033) \
  _(Conjugate, 1034) \
  _(CustomRNGKeyId, 1035) \
  _(FPGA, 1036) \
  _(FuncTorchDynamicLayerBackMode, 1037) \
  _(FuncTorchDynamicLayerFrontMode, 1038) \
  _(FuncTorchGradWrapper, 1039) \
  _(HIP, 1040) \
  _(HPU, 1041) \
  _(IPU, 1042) \
  _(Lazy, 1043) \
  _(MAIA, 1044) \
  _(MPS, 1045) \
  _(MTIA, 1046) \
  _(Metal, 1047) \
  _(MkldnnCPU, 1048) \
  _(Named, 1049) \
  _(Negative, 1050) \
  _(NestedTensorCPU, 1051) \
  _(NestedTensorCUDA, 1052) \
  _(NestedTensorHIP, 1053) \
  _(NestedTensorHPU, 1054) \
  _(NestedTensorIPU, 1055) \
  _(NestedTensorLazy, 1056) \
  _(NestedTensorMAIA, 1057) \
  _(NestedTensorMPS, 1058) \
  _(NestedTensorMTIA, 1059) \
  _(NestedTensorPrivateUse1, 1060) \
  _(NestedTensorVE, 1061) \
  _(NestedTensorXLA, 1062) \
  _(NestedTensorXPU, 1063) \
  _(PrivateUse1, 1064) \
  _(PythonDispatcher, 1065) \
  _(PythonTLSSnapshot, 1066) \
  _(QuantizedCPU, 1067) \
  _(QuantizedCUDA, 1068) \
  _(QuantizedHIP, 1069) \
  _(QuantizedHPU, 1070) \
  _(QuantizedIPU, 1071) \
  _(QuantizedLazy, 1072) \
  _(QuantizedMAIA, 1073) \
  _(QuantizedMPS, 1074) \
  _(QuantizedMTIA, 1075) \
  _(QuantizedPrivateUse1, 1076) \
  _(QuantizedVE, 1077) \
  _(QuantizedXLA, 1078) \
  _(QuantizedXPU, 1079) \
  _(SparseCPU, 1080) \
  _(SparseCUDA, 1081) \
  _(SparseCsrCPU, 1082) \
  _(SparseCsrCUDA, 1083) \
  _(SparseHIP, 1084) \
  _(SparseHPU, 1085) \
  _(SparseIPU, 1086) \
  _(SparseLazy, 1087) \
  _(SparseMAIA, 1088) \
  _(SparseMPS, 1089) \
  _(SparseMTIA, 1090) \
  _(SparseMeta, 1091) \
  _(SparsePrivateUse1, 1092) \
  _(SparseVE, 1093) \
  _(SparseXLA, 1094) \
  _(SparseXPU, 1095) \
  _(Tracer, 1096) \
  _(VE, 1097) \
  _(VmapMode, 1098) \
  _(Vulkan, 1099) \
  _(XLA, 1100) \
  _(XPU, 1101) \
  _(ZeroTensor, 1102)
enum class DispatchKey : uint16_t {
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
  constexpr DispatchKeySet(DispatchKey k) : bits_(bits_of(k)) {}
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
  // An alias stands for its members; a key that no tensor has for none.
  static constexpr uint64_t bits_of(DispatchKey k) {
    switch (k) {
      case DispatchKey::CompositeExplicitAutograd:
        return 14u;
      case DispatchKey::CompositeExplicitAutogradNonFunctional:
        return 14u;
      case DispatchKey::CompositeImplicitAutograd:
        return 15470u;
      case DispatchKey::Autograd:
        return 15360u;
      case DispatchKey::Autocast:
        return 98304u;
      default:
        return k == DispatchKey::Undefined || int(k) > 63 ? 0 : uint64_t(1) << int(k);
    }
  }
  uint64_t bits_ = 0;
};
inline constexpr uint64_t kAutogradBits = 1073757184u, kGradBit = 1073741824u;
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
