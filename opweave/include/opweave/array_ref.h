// Borrowed and owned sequences.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "error.h"

namespace OPWEAVE_HIDDEN opweave {

template <class T>
class ArrayRef {
 public:
  using value_type = T;
  using iterator = const T*;
  using const_iterator = const T*;
  constexpr ArrayRef() = default;
  constexpr ArrayRef(std::nullopt_t) = delete;
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T* begin, const T* end) : data_(begin), size_(size_t(end - begin)) {}
  template <class A>
  ArrayRef(const std::vector<T, A>& v) : data_(v.data()), size_(v.size()) {
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no contiguous elements");
  }
  template <size_t N>
  constexpr ArrayRef(const std::array<T, N>& a) : data_(a.data()), size_(N) {}
  template <size_t N>
  constexpr ArrayRef(const T (&a)[N]) : data_(a), size_(N) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"  // a parameter in braces lives as long as the call
#endif
  constexpr ArrayRef(const std::initializer_list<T>& v) : data_(v.begin()), size_(v.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  // Checked, since how long a list is depends on who calls: `int[2]` takes lists of any length.
  constexpr const T& operator[](size_t i) const {
    if (i >= size_) outside(i, size_);
    return data_[i];
  }
  const T& at(size_t i) const { return (*this)[i]; }
  const T& front() const { return at(0); }
  const T& back() const { return at(size_ - 1); }
  ArrayRef slice(size_t from, size_t n) const {
    if (from + n > size_) throw IndexError(detail::cat("ArrayRef: slice ", from, "+", n, " of ", size_, " elements"));
    return {data_ + from, n};
  }
  ArrayRef slice(size_t from) const { return slice(from, size_ - std::min(from, size_)); }
  std::vector<T> vec() const { return {begin(), end()}; }
  bool equals(ArrayRef o) const { return size_ == o.size_ && std::equal(begin(), end(), o.begin()); }

 private:
  OPWEAVE_COLD [[noreturn]] static void outside(size_t i, size_t size) {
    throw IndexError(detail::cat("ArrayRef: index ", i, " is outside of ", size, " elements"));
  }
  const T* data_ = nullptr;
  size_t size_ = 0;
};
template <class T>
bool operator==(ArrayRef<T> a, ArrayRef<T> b) { return a.equals(b); }
template <class T>
bool operator!=(ArrayRef<T> a, ArrayRef<T> b) { return !a.equals(b); }
template <class T>
bool operator==(const std::vector<T>& a, ArrayRef<T> b) { return ArrayRef<T>(a).equals(b); }
template <class T>
bool operator==(ArrayRef<T> a, const std::vector<T>& b) { return a.equals(b); }
template <class T>
bool operator!=(const std::vector<T>& a, ArrayRef<T> b) { return !ArrayRef<T>(a).equals(b); }
template <class T>
bool operator!=(ArrayRef<T> a, const std::vector<T>& b) { return !a.equals(b); }
template <class T>
std::ostream& operator<<(std::ostream& out, ArrayRef<T> a) {
  out << '[';
  for (size_t i = 0; i < a.size(); i++) out << (i ? ", " : "") << a[i];
  return out << ']';
}

using IntArrayRef = ArrayRef<int64_t>;
// A size that a trace does not fix is fixed where C++ asks for it.
using SymInt = int64_t;
using SymIntArrayRef = IntArrayRef;

// `IntArrayRef?`: None, one number or several.
class OptionalIntArrayRef {
 public:
  OptionalIntArrayRef() = default;
  OptionalIntArrayRef(std::nullopt_t) {}
  OptionalIntArrayRef(IntArrayRef v) : ref_(v) {}
  OptionalIntArrayRef(const std::vector<int64_t>& v) : ref_(IntArrayRef(v)) {}
  OptionalIntArrayRef(const std::initializer_list<int64_t>& v) : ref_(IntArrayRef(v)) {}
  OptionalIntArrayRef(const std::optional<IntArrayRef>& v) : ref_(v) {}
  OptionalIntArrayRef(int64_t one) : one_(one), single_(true) {}
  OptionalIntArrayRef(int one) : OptionalIntArrayRef(int64_t(one)) {}
  bool has_value() const { return single_ || ref_.has_value(); }
  IntArrayRef value() const {
    if (!has_value()) throw std::bad_optional_access();
    return single_ ? IntArrayRef(one_) : *ref_;
  }
  explicit operator bool() const { return has_value(); }
  IntArrayRef operator*() const { return value(); }

 private:
  std::optional<IntArrayRef> ref_;
  int64_t one_ = 0;
  bool single_ = false;
};

// A list of values, in a schema `T[]`.
template <class T>
class List {
 public:
  using value_type = T;
  List() = default;
  List(std::initializer_list<T> v) : items_(v) {}
  explicit List(ArrayRef<T> v) : items_(v.begin(), v.end()) {}
  List(std::vector<T> v) : items_(std::move(v)) {}
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  T get(size_t i) const { return items_.at(i); }
  T operator[](size_t i) const { return items_.at(i); }
  void set(size_t i, T v) { items_.at(i) = std::move(v); }
  void push_back(T v) { items_.push_back(std::move(v)); }
  template <class... A>
  void emplace_back(A&&... a) { items_.emplace_back(std::forward<A>(a)...); }
  void reserve(size_t n) { items_.reserve(n); }
  void clear() { items_.clear(); }
  const std::vector<T>& vec() const { return items_; }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<T> items_;
};

}  // namespace opweave
