#pragma once
#include <opweave/cuda_index.h>
