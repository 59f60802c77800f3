// Sources of several tests as one: most of the time that one takes to compile goes into the headers.
#include "compiled.cpp"
#include "errors.cpp"
#include "keys.cpp"
#include "types.cpp"
