// Casts for kernels at the Autocast keys, which exclude these keys for what they call.
#pragma once
#include "generated/method_bodies.h"

namespace OPWEAVE_HIDDEN opweave {
namespace autocast {

inline bool is_eligible(const Tensor& t) { return t.defined() && t.is_floating_point() && t.scalar_type() != kDouble; }
inline Tensor cached_cast(ScalarType type, const Tensor& t, DeviceType = kCUDA) {
  return is_eligible(t) && t.scalar_type() != type ? t.to(type) : t;
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
