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
  _(AutocastPrivateUse2, 1008) \
  _(AutocastVE, 1009) \
  _(AutocastXLA, 1010) \
  _(AutocastXPU, 1011) \
  _(AutogradHIP, 1012) \
  _(AutogradHPU, 1013) \
  _(AutogradIPU, 1014) \
  _(AutogradLazy, 1015) \
  _(AutogradMAIA, 1016) \
  _(AutogradMPS, 1017) \
  _(AutogradMTIA, 1018) \
  _(AutogradNestedTensorHIP, 1019) \
  _(AutogradNestedTensorHPU, 1020) \
  _(AutogradNestedTensorIPU, 1021) \
  _(AutogradNestedTensorLazy, 1022) \
  _(AutogradNestedTensorMAIA, 1023) \
  _(AutogradNestedTensorMPS, 1024) \
  _(AutogradNestedTensorMTIA, 1025) \
  _(AutogradNestedTensorPrivateUse1, 1026) \
  _(AutogradNestedTensorPrivateUse2, 1027) \
  _(AutogradNestedTensorVE, 1028) \
  _(AutogradNestedTensorXLA, 1029) \
  _(AutogradNestedTensorXPU, 1030) \
  _(AutogradPrivateUse1, 1031) \
  _(AutogradPrivateUse2, 1032) \
  _(AutogradVE, 1033) \
  _(AutogradXLA, 1034) \
  _(AutogradXPU, 1035) \
  _(Batched, 1036) \
  _(Conjugate, 1037) \
  _(CustomRNGKeyId, 1038) \
  _(FPGA, 1039) \
  _(FuncTorchDynamicLayerBackMode, 1040) \
  _(FuncTorchDynamicLayerFrontMode, 1041) \
  _(FuncTorchGradWrapper, 1042) \
  _(HIP, 1043) \
  _(HPU, 1044) \
  _(IPU, 1045) \
  _(Lazy, 1046) \
  _(MAIA, 1047) \
  _(MPS, 1048) \
  _(MTIA, 1049) \
  _(Metal, 1050) \
  _(MkldnnCPU, 1051) \
  _(Named, 1052) \
  _(Negative, 1053) \
  _(NestedTensorCPU, 1054) \
  _(NestedTensorCUDA, 1055) \
  _(NestedTensorHIP, 1056) \
  _(NestedTensorHPU, 1057) \
  _(NestedTensorIPU, 1058) \
  _(NestedTensorLazy, 1059) \
  _(NestedTensorMAIA, 1060) \
  _(NestedTensorMPS, 1061) \
  _(NestedTensorMTIA, 1062) \
  _(NestedTensorPrivateUse1, 1063) \
  _(NestedTensorPrivateUse2, 1064) \
  _(NestedTensorVE, 1065) \
  _(NestedTensorXLA, 1066) \
  _(NestedTensorXPU, 1067) \
  _(PrivateUse1, 1068) \
  _(PrivateUse2, 1069) \
  _(PythonDispatcher, 1070) \
  _(PythonTLSSnapshot, 1071) \
  _(QuantizedCPU, 1072) \
  _(QuantizedCUDA, 1073) \
  _(QuantizedHIP, 1074) \
  _(QuantizedHPU, 1075) \
  _(QuantizedIPU, 1076) \
  _(QuantizedLazy, 1077) \
  _(QuantizedMAIA, 1078) \
  _(QuantizedMPS, 1079) \
  _(QuantizedMTIA, 1080) \
  _(QuantizedPrivateUse1, 1081) \
  _(QuantizedPrivateUse2, 1082) \
  _(QuantizedVE, 1083) \
  _(QuantizedXLA, 1084) \
  _(QuantizedXPU, 1085) \
  _(SparseCPU, 1086) \
  _(SparseCUDA, 1087) \
  _(SparseCsrCPU, 1088) \
  _(SparseCsrCUDA, 1089) \
  _(SparseHIP, 1090) \
  _(SparseHPU, 1091) \
  _(SparseIPU, 1092) \
  _(SparseLazy, 1093) \
  _(SparseMAIA, 1094) \
  _(SparseMPS, 1095) \
  _(SparseMTIA, 1096) \
  _(SparseMeta, 1097) \
  _(SparsePrivateUse1, 1098) \
  _(SparsePrivateUse2, 1099) \
  _(SparseVE, 1100) \
  _(SparseXLA, 1101) \
  _(SparseXPU, 1102) \
  _(Tracer, 1103) \
  _(VE, 1104) \
  _(VmapMode, 1105) \
  _(Vulkan, 1106) \
  _(XLA, 1107) \
  _(XPU, 1108) \
  _(ZeroTensor, 1109)
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
  constexpr DispatchKeySet(DispatchKey k)
      : bits_(k == DispatchKey::Undefined || int(k) >= 1000 ? 0 : uint64_t(1) << (int(k) & 63)) {}
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
