// How a database is changed. A private one on a local file system by transactions in the file,
// which write what they change. Another one is copied, the copy is changed and renamed over it:
// those who only read it need no lock, and on a file system of many hosts, where neither locks nor
// the order of writes can be relied on, no database is torn.
#pragma once

#include <functional>
#include <string>

namespace iotune::patterndb {

// By the file system of the file's folder; what is not known to be local is taken for shared.
bool is_on_network(const std::string& path);

// Whether it is changed in place: its owner alone may read it, so that a process that reads it may
// lock it, and its file system is local. What others may read they may not lock.
bool takes_transactions(const std::string& path);

// Makes a private copy of `path` beside it, lets `change` work on the copy's path, and renames it
// over `path` once its bytes are on the storage. Nothing is changed where `change` throws. Throws
// sqlite::Busy where another holds the lock past `wait_milliseconds`. A lock older than ten minutes
// is a dead process's and is broken. The lock needs nothing but link(2) to be atomic.
void change_by_copy(const std::string& path, int wait_milliseconds,
                    const std::function<void(const std::string& copy)>& change);

// The same on a local file system, where SQLite's lock on the file itself holds: it ends with its
// process.
void change_under_sqlite_lock(const std::string& path, int wait_milliseconds,
                              const std::function<void(const std::string& copy)>& change);

// Whether somebody changes the file in place just now, or died while doing so: another program, or
// an older version. A journal alone says no more than that somebody means to.
bool is_changed_in_place(const std::string& path);

}  // namespace iotune::patterndb
