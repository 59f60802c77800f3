// Running the ops of a library in a program without Python: kernels that work on memory, with arguments that C++ gives.
#pragma once
#include <dlfcn.h>

#include <map>

#include "library.h"

namespace OPWEAVE_HIDDEN opweave {

class StandaloneLibrary {
 public:
  // Load a library and take its kernels; throws if that cannot be.
  explicit StandaloneLibrary(const std::string& path) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: kernels are code of it
    if (!handle) throw Error("LibraryError", detail::cat(path, " cannot be loaded: ", dlerror()));
    using Entry = int (*)(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);
    auto entry = reinterpret_cast<Entry>(dlsym(handle, "__tvm_ffi_opweave_library"));
    if (!entry) throw Error("LibraryError", detail::cat(path, " registers no ops"));
    TVMFFIAny version{}, result{};
    version.type_index = kTVMFFIInt, version.v_int64 = OPWEAVE_ABI_VERSION;
    detail::check_call(entry(nullptr, &version, 1, &result));
    auto parts = IValue::steal(result).toListRef();
    if (parts.at(0).toInt() != OPWEAVE_ABI_VERSION)
      throw Error("LibraryError", detail::cat(path, " was built for version ", parts.at(0).toInt(),
                                              " of opweave's interface, and this program for ", OPWEAVE_ABI_VERSION));
    for (auto& record : parts.at(1).toListRef()) {
      auto fields = record.toListRef();
      std::string what = fields.at(0).toStr(), op = fields.at(1).toStr() + "::" + fields.at(2).toStr();
      if (what == "def") schemas_[op.substr(0, op.find('('))] = op;
      else if (what == "impl") kernels_[op][fields.at(3).toStr()] = fields.at(4);
    }
  }
  std::vector<std::string> ops() const {
    std::vector<std::string> names;
    for (auto& [name, schema] : schemas_) names.push_back(name);
    return names;
  }
  const std::string& schema(const std::string& op) const {
    auto found = schemas_.find(op);
    if (found == schemas_.end()) throw Error("RegistrationError", detail::cat("no op ", op, " is registered"));
    return found->second;
  }
  // Call an op: `library.call<Tensor>("ns::name", a, b, 1.0)`. Defaults are Python's; all arguments are given here.
  template <class R, class... A>
  R call(const std::string& op, const A&... arguments) const {
    std::vector<IValue> values{detail::Type<std::decay_t<A>>::to(arguments)...};
    std::vector<TVMFFIAny> raw;
    for (auto& v : values) raw.push_back(v.raw());
    TVMFFIAny result{};
    detail::check_call(TVMFFIFunctionCall(detail::object_of(kernel(op).raw()), raw.data(), int(raw.size()), &result));
    IValue made = IValue::steal(result);
    if constexpr (!std::is_void_v<R>) return made.to<R>();
  }

 private:
  const IValue& kernel(const std::string& op) const {
    schema(op);
    auto found = kernels_.find(op);
    if (found != kernels_.end())
      for (const char* key : {"CPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd"}) {
        auto at = found->second.find(key);
        if (at != found->second.end() && !at->second.isNone()) return at->second;
      }
    throw NotImplementedError(detail::cat(op, ": no kernel for tensors in memory of the CPU"));
  }
  std::map<std::string, std::string> schemas_;
  std::map<std::string, std::map<std::string, IValue>> kernels_;
};

}  // namespace opweave
