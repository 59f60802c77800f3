// What everything else stands on: the C ABI of apache-tvm-ffi (its C headers only) and the version of opweave's own.
#pragma once
#include <dlpack/dlpack.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

// What a library and its host agree on: the records of `library.h`, the host's functions, what crosses as what.
// A host refuses a library of another number; it goes up when either side could misread the other.
#define OPWEAVE_ABI_VERSION 1

#if defined(_MSC_VER)
#define OPWEAVE_EXPORT __declspec(dllexport)
#define OPWEAVE_HIDDEN
#else
#define OPWEAVE_EXPORT __attribute__((visibility("default"), used))
// Inline variables of two libraries in one process must not be merged: each has registrations of its own.
#define OPWEAVE_HIDDEN __attribute__((visibility("hidden")))
#endif

#if defined(__CUDACC__)
#define OPWEAVE_HOST_DEVICE __host__ __device__
#else
#define OPWEAVE_HOST_DEVICE
#endif

// What runs once, while a library registers, is compiled for size.
#if defined(__GNUC__)
#define OPWEAVE_COLD __attribute__((cold))
#else
#define OPWEAVE_COLD
#endif

#define OPWEAVE_CONCAT_(a, b) a##b
#define OPWEAVE_CONCAT(a, b) OPWEAVE_CONCAT_(a, b)
#if defined(__COUNTER__)
#define OPWEAVE_UNIQUE __COUNTER__
#else
#define OPWEAVE_UNIQUE __LINE__
#endif
#define OPWEAVE_STRINGIZE_(x) #x
#define OPWEAVE_STRINGIZE(x) OPWEAVE_STRINGIZE_(x)
