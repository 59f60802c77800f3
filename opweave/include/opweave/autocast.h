// Casts for kernels at the Autocast keys, which exclude these keys for what they call.
#pragma once
#include "generated/method_bodies.h"

namespace OPWEAVE_HIDDEN opweave {
namespace autocast {

inline bool is_eligible(const Tensor& t, DeviceType d = kCUDA) {
  return t.defined() && t.device().type() == d && t.is_floating_point() && t.scalar_type() != kDouble;
}
// The cast of a parameter is kept until the block ends; the host knows which those are.
inline Tensor cached_cast(ScalarType type, const Tensor& t, DeviceType d = kCUDA) {
  if (!is_eligible(t, d) || t.scalar_type() == type) return t;
  if (!t.requires_grad()) return t.to(type);
  TVMFFIAny args[3]{};
  args[0].type_index = TVMFFIObjectGetTypeIndex(t.object()), args[0].v_obj = static_cast<TVMFFIObject*>(t.object());
  args[1].type_index = kTVMFFIInt, args[1].v_int64 = toWord(type);
  args[2].type_index = kTVMFFIRawStr, args[2].v_c_str = d == kCPU ? "cpu" : "cuda";
  return IValue::steal(detail::host::cached_cast(args, 3)).toTensor();
}
inline std::optional<Tensor> cached_cast(ScalarType type, const std::optional<Tensor>& t, DeviceType d = kCUDA) {
  return t ? std::optional<Tensor>(cached_cast(type, *t, d)) : std::nullopt;
}
inline std::vector<Tensor> cached_cast(ScalarType type, TensorList list, DeviceType d = kCUDA) {
  std::vector<Tensor> made;
  for (auto& t : list) made.push_back(cached_cast(type, t, d));
  return made;
}

}  // namespace autocast
}  // namespace opweave
