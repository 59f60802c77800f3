// The names that code written for PyTorch uses: namespaces and macros over opweave's own.
#pragma once
#include <cassert>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <thread>
#include <unordered_set>

#include "accessor.h"
#include "autocast.h"
#include "autograd.h"
#include "dispatch_macros.h"
#include "factories.h"
#include "generated/method_bodies.h"
#include "library.h"
#include "operators.h"
#include "parallel.h"

namespace OPWEAVE_HIDDEN opweave {
inline int get_num_threads() { return std::max(1, int(std::thread::hardware_concurrency())); }
}  // namespace opweave

namespace OPWEAVE_HIDDEN c10 {
using namespace ::opweave;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
template <class T>
using optional = std::optional<T>;
using string_view = std::string_view;
template <class T>
using complex = std::complex<T>;
template <class T>
using intrusive_ptr = std::shared_ptr<T>;
namespace impl {
using namespace ::opweave::impl;
}
}  // namespace c10
namespace OPWEAVE_HIDDEN at {
using namespace ::opweave;
namespace indexing {
using namespace ::opweave::indexing;
}
namespace internal {
using ::opweave::internal::GRAIN_SIZE;
}
namespace autocast {
using namespace ::opweave::autocast;
}
namespace detail {
using ::opweave::detail::createCPUGenerator;
using ::opweave::detail::getDefaultCPUGenerator;
}
}  // namespace at
namespace OPWEAVE_HIDDEN torch {
using namespace ::opweave;
using c10::make_optional;
using c10::nullopt;
using c10::optional;
namespace indexing {
using namespace ::opweave::indexing;
}
namespace autograd {
using namespace ::opweave::autograd;
}
namespace jit {
using ::opweave::drop;
using ::opweave::IValue;
using ::opweave::last;
using ::opweave::peek;
using ::opweave::pop;
using ::opweave::push;
using ::opweave::RegisterOperators;
using ::opweave::Stack;
}  // namespace jit
}  // namespace torch
namespace caffe2 {
using TypeMeta = ::opweave::ScalarType;
}

#define TORCH_LIBRARY OPWEAVE_LIBRARY
#define TORCH_LIBRARY_FRAGMENT OPWEAVE_LIBRARY_FRAGMENT
#define TORCH_LIBRARY_IMPL OPWEAVE_LIBRARY_IMPL
#define TORCH_LIBRARY_THIS_API_IS_FOR_PER_OP_REGISTRATION_ONLY OPWEAVE_LIBRARY_FRAGMENT
#define TORCH_FN OPWEAVE_FN
#define TORCH_FN_TYPE OPWEAVE_FN_TYPE
#define TORCH_SELECTIVE_NAME(x) x
#define TORCH_SELECTIVE_SCHEMA(x) x
#define TORCH_API
#define C10_API
#define C10_EXPORT OPWEAVE_EXPORT
#define C10_UNLIKELY(x) (x)
#define C10_LIKELY(x) (x)
#define C10_HOST_DEVICE OPWEAVE_HOST_DEVICE
#define C10_ALWAYS_INLINE inline
#define C10_UNUSED [[maybe_unused]]

#define TORCH_CHECK OPWEAVE_CHECK
#define TORCH_INTERNAL_ASSERT OPWEAVE_CHECK
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY OPWEAVE_CHECK
#define TORCH_CHECK_INDEX(...) OPWEAVE_CHECK_AS(::opweave::IndexError, __VA_ARGS__)
#define TORCH_CHECK_VALUE(...) OPWEAVE_CHECK_AS(::opweave::ValueError, __VA_ARGS__)
#define TORCH_CHECK_TYPE(...) OPWEAVE_CHECK_AS(::opweave::TypeError, __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(...) OPWEAVE_CHECK_AS(::opweave::NotImplementedError, __VA_ARGS__)
#define TORCH_CHECK_EQ(a, b) OPWEAVE_CHECK((a) == (b), #a " == " #b ": ", (a), " vs. ", (b))
#define TORCH_CHECK_NE(a, b) OPWEAVE_CHECK((a) != (b), #a " != " #b ": ", (a), " vs. ", (b))
#define TORCH_CHECK_LT(a, b) OPWEAVE_CHECK((a) < (b), #a " < " #b ": ", (a), " vs. ", (b))
#define TORCH_CHECK_LE(a, b) OPWEAVE_CHECK((a) <= (b), #a " <= " #b ": ", (a), " vs. ", (b))
#define TORCH_CHECK_GT(a, b) OPWEAVE_CHECK((a) > (b), #a " > " #b ": ", (a), " vs. ", (b))
#define TORCH_CHECK_GE(a, b) OPWEAVE_CHECK((a) >= (b), #a " >= " #b ": ", (a), " vs. ", (b))
#define AT_ERROR(...) throw ::opweave::Error(OPWEAVE_HERE, ::opweave::detail::cat(__VA_ARGS__))
#define AT_ASSERT OPWEAVE_CHECK
#define AT_ASSERTM OPWEAVE_CHECK
#define TORCH_WARN(...) ((void)fprintf(stderr, "%s:%d: warning: %s\n", __FILE__, __LINE__, ::opweave::detail::cat(__VA_ARGS__).c_str()))
#define TORCH_WARN_ONCE(...)                       \
  do {                                             \
    static bool opweave_warned = false;            \
    if (!opweave_warned) TORCH_WARN(__VA_ARGS__);  \
    opweave_warned = true;                         \
  } while (0)
