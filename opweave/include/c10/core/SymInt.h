#pragma once
#include <opweave/compat.h>
