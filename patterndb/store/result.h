// Public functions of this room return a Result: no exception may leave it.
#pragma once

#include <string.h>

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "recorder/read/result.h"

namespace iotune::patterndb {

using recorder::Error;
using recorder::Result;

// Thrown inside this room only, turned into an Error by guarded() at its edge.
struct Fault {
  std::string message;
};

// What an errno means. Not strerror(): the program around may have threads that call it too.
inline std::string error_text(int number) {
  char buffer[128];
  return strerror_r(number, buffer, sizeof buffer);
}

// The value of what went well; else its error, thrown.
template <typename T>
T value_or_fault(Result<T> result) {
  if (!result) throw Fault{result.error().text()};
  return std::move(*result);
}

template <typename T, typename Function>
Result<T> guarded(Function&& function) noexcept {
  try {
    return Result<T>(std::forward<Function>(function)());
  } catch (const Fault& fault) {
    return Error{{}, fault.message};
  } catch (const std::bad_alloc&) {
    return Error{{}, "out of memory"};
  } catch (const std::exception& unexpected) {
    return Error{{}, unexpected.what()};
  } catch (...) {
    return Error{{}, "unknown fault"};
  }
}

}  // namespace iotune::patterndb
