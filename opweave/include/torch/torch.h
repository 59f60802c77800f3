#pragma once
#include <iostream>

#include <opweave/compat.h>
