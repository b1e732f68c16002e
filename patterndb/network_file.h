// A database on a file system of many hosts: neither its locks nor its order of writes can be
// relied on, so the file is never changed in place. It is copied, the copy is changed and renamed
// over it, under a lock that needs nothing but link(2) to be atomic. Readers need no lock at all.
#pragma once

#include <functional>
#include <string>

namespace iotune::patterndb {

// By the file system of the file's folder; what is not known to be local is taken for shared.
bool is_on_network(const std::string& path);

// Makes a private copy of `path` beside it, lets `change` work on the copy's path, and renames it
// over `path` once its bytes are on the storage. Nothing is changed where `change` throws. Throws
// sqlite::Busy where another holds the lock past `wait_milliseconds`. A lock older than ten minutes
// is a dead process's and is broken.
void change_by_copy(const std::string& path, int wait_milliseconds,
                    const std::function<void(const std::string& copy)>& change);

}  // namespace iotune::patterndb
