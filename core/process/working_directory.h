// Where relative paths of the program begin. After a privilege drop, and a change of its root, the
// kernel cannot be asked any more: what was known at that moment is followed from there.
#pragma once

#include <cstddef>

namespace iotune {

// Before the privilege drop, while the kernel may still be asked.
void remember_working_directory() noexcept;

// The working directory with a slash in front, as getcwd(2) has it: its length with the NUL, below
// 1 where it is unknown. After a privilege drop it is the one of that moment.
long working_directory(char* to, std::size_t bytes) noexcept;

// The program has changed its working directory. `path`: nullptr where it is unknown.
void working_directory_changed(const char* path) noexcept;

// What stands before absolute paths of the program; "" unless it has changed its root.
const char* root_of_paths() noexcept;

// The program's root becomes `path`.
void root_changes(const char* path) noexcept;

}  // namespace iotune
