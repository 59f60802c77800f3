// AT_DISPATCH_*: run a lambda with `scalar_t` as the element type of a tensor.
#pragma once
#include "types.h"

#define AT_PRIVATE_CASE(type_enum, hint, ...)                                                   \
  case type_enum: {                                                                             \
    using hint [[maybe_unused]] = ::opweave::ScalarTypeToCPPTypeT<type_enum>;                   \
    return __VA_ARGS__();                                                                       \
  }
#define AT_DISPATCH_CASE(type_enum, ...) AT_PRIVATE_CASE(type_enum, scalar_t, __VA_ARGS__)
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                     \
  [&] {                                                                                         \
    const ::opweave::ScalarType opweave_type = ::opweave::detail::scalar_type_of(TYPE);         \
    switch (opweave_type) {                                                                     \
      __VA_ARGS__                                                                               \
      default:                                                                                  \
        throw ::opweave::NotImplementedError(OPWEAVE_HERE, ::opweave::detail::cat(              \
            "\"", NAME, "\" not implemented for '", opweave_type, "'"));                        \
    }                                                                                           \
  }()
namespace OPWEAVE_HIDDEN opweave {
namespace detail {
inline ScalarType scalar_type_of(ScalarType t) { return t; }
template <class T>
ScalarType scalar_type_of(const T& t) { return t.scalarType(); }
}  // namespace detail
}  // namespace opweave

#define AT_DISPATCH_CASE_FLOATING_TYPES(...)                       \
  AT_DISPATCH_CASE(::opweave::ScalarType::Double, __VA_ARGS__)     \
  AT_DISPATCH_CASE(::opweave::ScalarType::Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)                       \
  AT_DISPATCH_CASE(::opweave::ScalarType::Byte, __VA_ARGS__)       \
  AT_DISPATCH_CASE(::opweave::ScalarType::Char, __VA_ARGS__)       \
  AT_DISPATCH_CASE(::opweave::ScalarType::Int, __VA_ARGS__)        \
  AT_DISPATCH_CASE(::opweave::ScalarType::Long, __VA_ARGS__)       \
  AT_DISPATCH_CASE(::opweave::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES(...)                              \
  AT_DISPATCH_CASE(::opweave::ScalarType::ComplexDouble, __VA_ARGS__)    \
  AT_DISPATCH_CASE(::opweave::ScalarType::ComplexFloat, __VA_ARGS__)

#define OPWEAVE_DISPATCH(CASES, TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, CASES(__VA_ARGS__))
#define OPWEAVE_DISPATCH_1(CASES, A, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, CASES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define OPWEAVE_DISPATCH_2(CASES, A, B, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, CASES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__))
#define OPWEAVE_DISPATCH_3(CASES, A, B, C, TYPE, NAME, ...)                                                          \
  AT_DISPATCH_SWITCH(TYPE, NAME, CASES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__) \
                                     AT_DISPATCH_CASE(C, __VA_ARGS__))
#define OPWEAVE_CASES_FLOATING_COMPLEX(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define OPWEAVE_CASES_ALL_COMPLEX(...) AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define OPWEAVE_CASES_FLOATING_HALF(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(::opweave::ScalarType::Half, __VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(...) OPWEAVE_DISPATCH(AT_DISPATCH_CASE_FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(...) OPWEAVE_DISPATCH(OPWEAVE_CASES_FLOATING_HALF, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND(...) OPWEAVE_DISPATCH_1(AT_DISPATCH_CASE_FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND2(...) OPWEAVE_DISPATCH_2(AT_DISPATCH_CASE_FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES(...) OPWEAVE_DISPATCH(AT_DISPATCH_CASE_INTEGRAL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES_AND(...) OPWEAVE_DISPATCH_1(AT_DISPATCH_CASE_INTEGRAL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES(...) OPWEAVE_DISPATCH(AT_DISPATCH_CASE_ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND(...) OPWEAVE_DISPATCH_1(AT_DISPATCH_CASE_ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND2(...) OPWEAVE_DISPATCH_2(AT_DISPATCH_CASE_ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND3(...) OPWEAVE_DISPATCH_3(AT_DISPATCH_CASE_ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_COMPLEX_TYPES(...) OPWEAVE_DISPATCH(AT_DISPATCH_CASE_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(...) OPWEAVE_DISPATCH(OPWEAVE_CASES_FLOATING_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(...) OPWEAVE_DISPATCH(OPWEAVE_CASES_ALL_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(...) OPWEAVE_DISPATCH_1(OPWEAVE_CASES_ALL_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(...) OPWEAVE_DISPATCH_2(OPWEAVE_CASES_ALL_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(...) OPWEAVE_DISPATCH_3(OPWEAVE_CASES_ALL_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...)                              \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                              \
                     AT_PRIVATE_CASE(::opweave::ScalarType::Int, index_t, __VA_ARGS__) \
                     AT_PRIVATE_CASE(::opweave::ScalarType::Long, index_t, __VA_ARGS__))
