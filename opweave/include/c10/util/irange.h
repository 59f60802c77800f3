#pragma once
#include <opweave/compat.h>
namespace OPWEAVE_HIDDEN c10 {
template <class I>
class IntegerRange {
 public:
  class Iterator {
   public:
    explicit Iterator(I i) : i_(i) {}
    I operator*() const { return i_; }
    Iterator& operator++() { return ++i_, *this; }
    bool operator==(Iterator o) const { return i_ == o.i_; }
    bool operator!=(Iterator o) const { return i_ != o.i_; }

   private:
    I i_;
  };
  IntegerRange(I from, I to) : from_(from), to_(to < from ? from : to) {}
  Iterator begin() const { return Iterator(from_); }
  Iterator end() const { return Iterator(to_); }

 private:
  I from_, to_;
};
template <class I>
IntegerRange<I> irange(I end) { return {I(0), end}; }
template <class A, class B>
IntegerRange<B> irange(A begin, B end) { return {B(begin), end}; }
}  // namespace c10
