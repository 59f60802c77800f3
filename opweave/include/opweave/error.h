// Exceptions: what C++ throws becomes a Python exception of the same kind, and the other way round.
#pragma once
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "abi.h"

namespace OPWEAVE_HIDDEN opweave {

struct SourceLocation {
  const char* function;
  const char* file;
  int line;
};

namespace detail {
// A text that Python can read: bytes that are no UTF-8 become \xNN.
OPWEAVE_COLD inline std::string readable(const std::string& text) {
  std::string made;
  for (size_t i = 0; i < text.size();) {
    auto byte = [&](size_t k) { return i + k < text.size() ? uint8_t(text[i + k]) : uint8_t(0); };
    uint8_t first = byte(0), second = byte(1);
    size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    for (size_t k = 1; k < length; k++)
      if ((byte(k) & 0xC0) != 0x80) length = 0;
    // Spelt longer than needed, a half of a surrogate pair, past the last code point.
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) || (first == 0xF0 && second < 0x90) ||
        (first == 0xF4 && second >= 0x90))
      length = 0;
    if (length) {
      made.append(text, i, length), i += length;
    } else {
      const char* digits = "0123456789abcdef";
      made += "\\x", made += digits[first >> 4], made += digits[first & 15], i++;
    }
  }
  return made;
}
}  // namespace detail

// An exception with the name of the Python class that it becomes. One that came from Python keeps its trace.
class Error : public std::exception {
 public:
  Error(std::string kind, std::string message, SourceLocation at = {"", "", 0})
      : kind_(std::move(kind)), message_(std::move(message)) {
    if (at.line) {
      std::ostringstream trace;
      trace << "  File \"" << at.file << "\", line " << at.line << ", in " << at.function << "\n";
      backtrace_ = trace.str();
    }
  }
  Error(SourceLocation at, std::string message) : Error("RuntimeError", std::move(message), at) {}
  explicit Error(std::string message) : Error("RuntimeError", std::move(message)) {}
  // Takes over the reference to an error object.
  explicit Error(TVMFFIObjectHandle object) : object_(object) {
    auto* cell = TVMFFIErrorGetCellPtr(object);
    kind_.assign(cell->kind.data, cell->kind.size);
    message_.assign(cell->message.data, cell->message.size);
  }
  Error(const Error& o)
      : std::exception(o), kind_(o.kind_), message_(o.message_), backtrace_(o.backtrace_), object_(o.object_) {
    if (object_) TVMFFIObjectIncRef(object_);
  }
  Error& operator=(Error o) noexcept {
    std::swap(kind_, o.kind_), std::swap(message_, o.message_), std::swap(backtrace_, o.backtrace_);
    std::swap(object_, o.object_);
    return *this;
  }
  ~Error() override {
    if (object_) TVMFFIObjectDecRef(object_);
  }
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& msg() const { return message_; }
  const std::string& kind() const { return kind_; }
  const std::string& backtrace() const { return backtrace_; }
  std::string what_without_backtrace() const { return message_; }

  // Leave it for the caller across the C ABI.
  void raise() const noexcept {
    if (object_) return TVMFFIErrorSetRaised(object_);
    std::string readable = detail::readable(message_);
    TVMFFIByteArray kind{kind_.data(), kind_.size()}, text{readable.data(), readable.size()};
    TVMFFIByteArray trace{backtrace_.data(), backtrace_.size()};
    TVMFFIObjectHandle made = nullptr;
    if (TVMFFIErrorCreate(&kind, &text, &trace, &made) != 0)
      return TVMFFIErrorSetRaisedFromCStr(kind_.c_str(), readable.c_str());
    TVMFFIErrorSetRaised(made);
    TVMFFIObjectDecRef(made);
  }

 private:
  std::string kind_, message_, backtrace_;
  TVMFFIObjectHandle object_ = nullptr;
};

#define OPWEAVE_ERROR_CLASS(name, python)                                              \
  struct name : Error {                                                                \
    explicit name(std::string message) : Error(python, std::move(message)) {}          \
    name(SourceLocation at, std::string message) : Error(python, std::move(message), at) {} \
  };
OPWEAVE_ERROR_CLASS(IndexError, "IndexError")
OPWEAVE_ERROR_CLASS(ValueError, "ValueError")
OPWEAVE_ERROR_CLASS(TypeError, "TypeError")
OPWEAVE_ERROR_CLASS(NotImplementedError, "NotImplementedError")
OPWEAVE_ERROR_CLASS(OutOfMemoryError, "OutOfMemoryError")
OPWEAVE_ERROR_CLASS(DTypeError, "DTypeError")
OPWEAVE_ERROR_CLASS(UnsupportedError, "UnsupportedError")

namespace detail {

template <class... A>
std::string cat(const A&... a) {
  if constexpr (sizeof...(A) == 0) {
    return {};
  } else {
    std::ostringstream out;
    (out << ... << a);
    return out.str();
  }
}

template <class... A>
std::string check_message(const char* condition, const A&... a) {
  if constexpr (sizeof...(A) == 0)
    return cat("Expected ", condition, " to be true, but got false.");
  else
    return cat(a...);
}

[[noreturn]] inline void throw_raised() {
  TVMFFIObjectHandle object = nullptr;
  TVMFFIErrorMoveFromRaised(&object);
  if (!object) throw Error("RuntimeError", "a call failed and left no error");
  throw Error(object);
}
inline void check_call(int rc) {
  if (rc != 0) throw_raised();
}

inline std::string what_of(const std::exception& e) { return e.what() ? e.what() : "an exception without a text"; }

// Run what may throw and give back what the C ABI wants: 0, or -1 with the error left for the caller.
template <class F>
int guarded(F&& f) noexcept {
  const char* kind = "RuntimeError";
  std::string text;
  try {
    f();
    return 0;
  } catch (const Error& e) {
    e.raise();
    return -1;
  } catch (const std::bad_alloc& e) {
    kind = "MemoryError", text = what_of(e);
  } catch (const std::out_of_range& e) {
    kind = "IndexError", text = what_of(e);
  } catch (const std::overflow_error& e) {
    kind = "OverflowError", text = what_of(e);
  } catch (const std::invalid_argument& e) {
    kind = "ValueError", text = what_of(e);
  } catch (const std::domain_error& e) {
    kind = "ValueError", text = what_of(e);
  } catch (const std::length_error& e) {
    kind = "ValueError", text = what_of(e);
  } catch (const std::range_error& e) {
    kind = "ValueError", text = what_of(e);
  } catch (const std::bad_cast& e) {
    kind = "TypeError", text = what_of(e);
  } catch (const std::exception& e) {
    text = what_of(e);
  } catch (...) {
    text = "an exception that is not derived from std::exception was thrown";
  }
  TVMFFIErrorSetRaisedFromCStr(kind, readable(text).c_str());
  return -1;
}

}  // namespace detail
}  // namespace opweave

#define OPWEAVE_HERE (::opweave::SourceLocation{__func__, __FILE__, __LINE__})
// A plain `if`, as PyTorch has it: sources leave the semicolon out.
#define OPWEAVE_CHECK_AS(cls, cond, ...)                                                          \
  if (!(cond)) {                                                                                  \
    throw cls(OPWEAVE_HERE, ::opweave::detail::check_message(#cond, ##__VA_ARGS__));              \
  }
#define OPWEAVE_CHECK(cond, ...) OPWEAVE_CHECK_AS(::opweave::Error, cond, ##__VA_ARGS__)
