#pragma once
#include <opweave/cuda.h>
