// A new container, which nobody ever sees a half of.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "logstore/format.h"
#include "logstore/read/container_files.h"
#include "recorder/read/result.h"

namespace iotune::logstore {

// Makes a container at `path`, where nothing is yet: in a directory beside it that is then renamed.
// `mode`: of the file; it stands on the handle. The directory has what is needed to make logs in
// it. `durable`: it is on the storage when this returns. 0 or -errno: -EEXIST where something is.
int make_container(const std::string& path, const Description& description, mode_t mode,
                   bool durable) noexcept;

// The same, not durable, for who goes on to open it: the container as find_container() finds it,
// and in `handle` a descriptor of its handle, opened with `handle_flags`, the lowest that is free.
int make_container(const std::string& path, const Description& description, mode_t mode,
                   int handle_flags, FoundContainer& made, Descriptor& handle) noexcept;

// The same, durable, with an error for people.
[[nodiscard]] std::optional<recorder::Error> make_container(const std::string& path,
                                                            const Description& description);

// Modes of what is in a container whose handle has `mode`. Who may open the file needs to search
// the directory; who owns it makes logs there, even of a file that is made read-only, and locks of
// some file systems need what is locked open for writing.
mode_t directory_mode(mode_t mode) noexcept;
mode_t inner_file_mode(mode_t mode) noexcept;

// A random number that is not 0: a container's id.
std::uint64_t random_id() noexcept;

// PARENT/.iotune-ID.ENDING, in the directory that `path` lies in.
std::string name_beside(std::uint64_t id, const std::string& path, const char* ending);

// A name that is free, in the directory that `path` lies in: PARENT/.iotune-ID.ENDING
std::string name_aside(const std::string& path, const char* ending);

// rename(2) to a name that must be free. 0 or -errno.
int rename_to_free_name(const std::string& from, const std::string& to) noexcept;

// The name `to`, which is taken, for what is at `from`: without a moment without a file, where the
// file system can. `old`: where what had the name is then; an error leaves both as they were. 0 or
// -errno.
int take_name_of(const std::string& from, const std::string& to, const char* ending,
                 std::string& old);

// The container that had a name. Its description goes first: others see by it that what is left is
// no longer the file.
void remove_what_was(const std::string& container);

// The directory that `path` lies in, for open(2).
std::string parent_of(const std::string& path);

}  // namespace iotune::logstore
