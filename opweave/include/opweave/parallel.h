// Loops on the host's thread pool; in the calling thread where there is none.
#pragma once
#include <exception>
#include <mutex>

#include "ivalue.h"

namespace OPWEAVE_HIDDEN opweave {
namespace internal {
inline constexpr int64_t GRAIN_SIZE = 32768;
}
namespace detail {
inline thread_local bool in_parallel = false;
// `int run(code, args, programs, gx, gy, gz, cost)`, where `code(args, from, to, gx, gy, gz)` runs programs.
using Runner = int (*)(void (*)(void*, int64_t, int64_t, int32_t, int32_t, int32_t), void*, int64_t, int32_t, int32_t,
                       int32_t, double*);
inline Runner pool_runner() {
  static Runner found = [] {
    TVMFFIByteArray name{"opweave.pool", 12};
    TVMFFIObjectHandle there = nullptr;
    if (TVMFFIFunctionGetGlobal(&name, &there) != 0 || !there) return Runner(nullptr);
    TVMFFIObjectDecRef(there);
    return reinterpret_cast<Runner>(IValue::steal(host::pool(nullptr, 0)).toInt());
  }();
  return found;
}
struct Loop {
  void (*body)(void*, int64_t, int64_t);
  void* state;
  int64_t begin, end, grain;
  std::exception_ptr error;
  std::mutex lock;
  static void run(void* self, int64_t from, int64_t to, int32_t, int32_t, int32_t) {
    auto& loop = *static_cast<Loop*>(self);
    struct Inside {
      bool before = in_parallel;
      Inside() { in_parallel = true; }
      ~Inside() { in_parallel = before; }
    } inside;
    for (int64_t i = from; i < to; i++) {
      int64_t first = loop.begin + i * loop.grain, last = std::min(first + loop.grain, loop.end);
      try {
        loop.body(loop.state, first, last);
      } catch (...) {
        std::lock_guard<std::mutex> held(loop.lock);
        if (!loop.error) loop.error = std::current_exception();
        return;
      }
    }
  }
};
}  // namespace detail

inline bool in_parallel_region() { return detail::in_parallel; }
inline int get_thread_num() { return 0; }

// f(begin, end) over parts of begin..end of at least `grain` numbers each, on several threads where there are parts.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& f) {
  if (begin >= end) return;
  int64_t part = std::max<int64_t>(grain, 1);
  int64_t parts = (end - begin + part - 1) / part;
  if (parts > 256) part = (end - begin + 255) / 256, parts = (end - begin + part - 1) / part;
  auto runner = parts > 1 && !detail::in_parallel && !detail::watched ? detail::pool_runner() : nullptr;
  if (!runner) {
    f(begin, end);
    return;
  }
  detail::Loop loop{[](void* s, int64_t from, int64_t to) { (*static_cast<const F*>(s))(from, to); },
                    const_cast<void*>(static_cast<const void*>(&f)), begin, end, part, nullptr, {}};
  double cost = 1e5;  // nanoseconds a part, as a guess: enough that helpers join
  int stopped = runner(&detail::Loop::run, &loop, parts, int32_t(parts), 1, 1, &cost);
  if (loop.error) std::rethrow_exception(loop.error);
  if (stopped) throw Error("EnvErrorAlreadySet", "a signal's handler raised");  // Python's exception waits
}

// Combine f(begin, end, identity) of parts with `join`, in order.
template <class T, class F, class J>
T parallel_reduce(int64_t begin, int64_t end, int64_t grain, const T identity, const F& f, const J& join) {
  if (begin >= end) return identity;
  int64_t part = std::max<int64_t>(std::max<int64_t>(grain, 1), (end - begin + 255) / 256);
  int64_t parts = (end - begin + part - 1) / part;
  std::vector<T> results(size_t(parts), identity);
  parallel_for(0, parts, 1, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++)
      results[size_t(i)] = f(begin + i * part, std::min(begin + (i + 1) * part, end), identity);
  });
  T total = identity;
  for (auto& r : results) total = join(total, r);
  return total;
}

}  // namespace opweave
