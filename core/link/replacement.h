// What a library of iotune's puts in the place of functions of libc (interpose() in
// real_function.h), as a list.
#pragma once

#include <cstring>
#include <span>

namespace iotune {

// A name of libc, where its own function is kept, and what is called instead.
struct Replacement {
  const char* name;
  void** real;
  void* function;
};
using Replacements = std::span<const Replacement>;

template <typename Function, typename Own>
Replacement replacement(const char* name, Function*& real, Own* own) noexcept {
  static_assert(sizeof real == sizeof(void*));
  return {name, reinterpret_cast<void**>(&real), reinterpret_cast<void*>(own)};
}

// nullptr: the list has no such name.
inline const Replacement* find_replacement(Replacements list, const char* name) noexcept {
  for (const Replacement& one : list) {
    if (std::strcmp(one.name, name) == 0) return &one;
  }
  return nullptr;
}

}  // namespace iotune
