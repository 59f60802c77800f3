// The functions that a host (opweave in Python) offers to libraries, by name. Kernels that call none of them run without one.
#pragma once
#include <atomic>
#include <cstring>

#include "error.h"

namespace OPWEAVE_HIDDEN opweave {
namespace detail {

// A global function of the runtime, found when it is first called; there is one for the life of the process.
class HostFunction {
 public:
  constexpr explicit HostFunction(const char* name) : name_(name) {}
  TVMFFIObjectHandle handle() {
    TVMFFIObjectHandle found = handle_.load(std::memory_order_acquire);
    return found ? found : find();
  }
  TVMFFIAny operator()(TVMFFIAny* args, int n) {
    TVMFFIAny result{};
    check_call(TVMFFIFunctionCall(handle(), args, n, &result));
    return result;
  }

 private:
  TVMFFIObjectHandle find() {
    TVMFFIByteArray name{name_, std::strlen(name_)};
    TVMFFIObjectHandle found = nullptr;
    if (TVMFFIFunctionGetGlobal(&name, &found) != 0 || !found)
      throw UnsupportedError(cat("this needs opweave in the process: the host's function \"", name_,
                                 "\" is not there\n  hint: without Python a kernel works on its tensors' data"));
    TVMFFIObjectHandle none = nullptr;
    if (!handle_.compare_exchange_strong(none, found)) {
      TVMFFIObjectDecRef(found);
      return none;
    }
    return found;
  }
  const char* name_;
  std::atomic<TVMFFIObjectHandle> handle_{nullptr};
};

namespace host {
inline HostFunction array("ffi.Array");             // (*items) -> list
inline HostFunction describe("opweave.describe");   // (tensor) -> [dtype, device, sizes, strides, offset, flags, keys]
inline HostFunction data("opweave.data");           // (tensor) -> address
inline HostFunction find_op("opweave.find_op");     // (name) -> function of the op's arguments in order, and true if results are to be references
inline HostFunction redispatch("opweave.redispatch");  // (name, keys, references, *args) -> results; keys < 0: a call
inline HostFunction schema("opweave.schema");       // (name) -> [name, overload, text, arguments, returns]
inline HostFunction guard("opweave.guard");         // (include, exclude, which) -> [include, exclude] before
inline HostFunction is_enabled("opweave.is_enabled");  // (what) -> bool
inline HostFunction apply("opweave.apply");         // (forward, backward, name, *args) -> results
inline HostFunction pool("opweave.pool");           // () -> address of the runner, or 0
inline HostFunction set_requires_grad("opweave.set_requires_grad");
inline HostFunction complex("opweave.complex");     // (real, imaginary) -> a complex number; (that) -> [real, imaginary]
inline HostFunction kind("opweave.kind");           // (object) -> 1 for a tensor, 2 for a complex number, 0 for others
inline HostFunction generator("opweave.generator");  // (generator or none, what, seed) -> a generator, or its seed
inline HostFunction cached_cast("opweave.cached_cast");  // (tensor, dtype, device type) -> tensor
}  // namespace host

// Whether somebody looks at what the running kernel does (a trace, fake tensors): new tensors then come from the host.
inline thread_local bool watched = false;
struct Watched {
  bool before = watched;
  explicit Watched(bool now) { watched = now; }
  ~Watched() { watched = before; }
};

inline TVMFFIAny none() { return TVMFFIAny{}; }
inline bool is_object(const TVMFFIAny& a) { return a.type_index >= kTVMFFIStaticObjectBegin; }
inline TVMFFIObjectHandle object_of(const TVMFFIAny& a) { return static_cast<void*>(a.v_obj); }

}  // namespace detail
}  // namespace opweave
