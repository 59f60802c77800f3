// What stands here for pybind11: modules of functions. Where the real one was included before, it is left alone.
#pragma once
#if !defined(PYBIND11_VERSION_MAJOR)
#include <opweave/python.h>
// Modules of one name may stand in several packages: `BuildExtension` gives the whole path.
#if defined(OPWEAVE_EXTENSION_NAMESPACE)
#define PYBIND11_MODULE(name, m) OPWEAVE_PYTHON_MODULE(name, OPWEAVE_EXTENSION_NAMESPACE, m)
#else
#define PYBIND11_MODULE(name, m) OPWEAVE_PYTHON_MODULE(name, name, m)
#endif
#endif
