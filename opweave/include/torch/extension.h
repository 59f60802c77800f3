#pragma once
#include <iostream>

#include <opweave/compat.h>
#include <pybind11/pybind11.h>
