// Which files may be written to, by any process of this user on this node that caches: a table in
// shared memory, and in each process which of its descriptors may write.
//
// A file has one word of the table, which others may share: how many may write to it, and a count
// of changes of that. Bytes that were read while nobody could write are the file's for as long as
// the word is what it was before they were read. All of it is free of locks: it is called from
// signal handlers, and a process may die anywhere in between. What is lost then makes a file count
// as written for too long, never for too short.
#pragma once

#include <cstdint>

#include "prefetch/preload/library_interface.h"

namespace iotune::prefetch {

// What is known of a file without asking its storage: a change of any of it is a change.
struct FileStamp {
  std::uint64_t device = 0, inode = 0, bytes = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

// False where the descriptor is none of a regular file.
bool stamp_of(int fd, FileStamp& stamp) noexcept;

// By the constructor, once: finds the descriptors that were inherited. nullptr, or what is missing:
// then nothing below does anything, and nothing may be cached.
const char* set_up_written_files(const PrefetchHost& host) noexcept;

// The file's word; above all files of the table's own storage, which never wait, 0 is not said.
std::uint64_t file_word(const FileStamp& stamp) noexcept;
bool may_be_written(std::uint64_t word) noexcept;

// Whether the table is still what others find: it may have been removed. A system call.
bool table_stands() noexcept;

// Takes back what dead processes have left. System calls, as many as there are processes.
void forget_dead_writers() noexcept;

// As recorder::Service has them.
std::uint32_t before_change(int directory, const char* path) noexcept;
void after_change(std::uint32_t token) noexcept;
void opened(int fd, int flags) noexcept;
std::uint32_t before_any_close(int fd) noexcept;
void after_any_close(std::uint32_t token) noexcept;
void mapped(int fd) noexcept;

// This process is one of the ranks of the run that is called so.
void register_rank(const char* run_id) noexcept;
unsigned registered_ranks(const char* run_id) noexcept;

}  // namespace iotune::prefetch
