// The names by which slice.cpp knows core's lock.
#pragma once

#include "core/os/sleep_lock.h"

namespace iotune::prefetch {

using ThreadLock = SleepLock;
using ThreadGuard = SleepGuard;

}  // namespace iotune::prefetch
