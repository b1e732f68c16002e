// Makes a container smaller: one index in place of many, and logs without what was overwritten.
// FORMAT.md says in which order files come and go, so that a death at any moment loses nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "logstore/read/container.h"

namespace iotune::logstore {

struct CompactOptions {
  // Logs of which a smaller share is still needed are written anew. 0: none; above 1: all, in the
  // file's order. With a half, logs take at most twice the bytes that are needed.
  double least_live = 0.5;
  // The single indexes stay beside the merged one, and so does every log.
  bool keeps_indexes = false;
  // No more bytes than these are copied; beyond, logs stay as they are.
  std::int64_t most_copied_bytes = INT64_MAX;
  // Waits for the storage. Without, only where nothing of the file was ever synced: then nothing
  // is there that a crash of the machine must not take.
  bool syncs = true;
  // The caller has the exclusive flock(2) on `container` that says that nobody writes.
  bool lock_is_held = false;
  // For tests: called before each change of the container with what it is. An errno in place of 0:
  // the change fails so.
  std::function<int(const char* change)> before_change;
};

struct CompactReport {
  std::int64_t log_bytes_before = 0;
  std::int64_t log_bytes = 0;
  std::int64_t index_bytes_before = 0;  // merged and single ones
  std::int64_t index_bytes = 0;
  std::int64_t copied_bytes = 0;
  std::int64_t removed_logs = 0;
};

// Compacts the container at `path`. An error, and nothing lost, where somebody has it open for
// writing, where it has lost bytes, and where there is no room or no permission. errno is set then.
Result<CompactReport> compact(const std::string& path, const CompactOptions& options = {});

// What compaction would bring, as far as it is known without going over the file's pieces.
struct CompactionGain {
  std::int64_t single_indexes = 0;  // that the merged one would stand for
  std::int64_t index_bytes = 0;     // of these
  std::int64_t log_bytes = 0;
  std::int64_t most_live_bytes = 0;  // of the logs
};
CompactionGain compaction_gain(const Container& container);
// At close: from 16 single indexes or 64 KiB of them on, and where more than half of the logs, and
// at least a mebibyte, is not needed.
bool compaction_is_worth_it(const CompactionGain& gain);

// The files of a writer as it knows them by itself.
struct OwnFiles {
  std::string writer;  // its name; empty: there is none
  std::int64_t index_bytes = 0;
  std::int64_t log_bytes = 0;
};
// By one look at the directory, and at sizes where there are few files: a close should cost little
// where there is nothing to win.
bool compaction_may_be_worth_it(int directory, const OwnFiles& own) noexcept;

// For who closed the file as the last one, and holds the exclusive lock on `container`: compacts
// where that is worth it and nothing is lost, and copies no more than a gibibyte. Waits for the
// storage only where something of the file was synced before. 0 or -errno.
int compact_on_close(const std::string& path) noexcept;

// For who reads the file and holds the same lock: one index in place of all; logs stay as they are.
// Nothing is said where that cannot be done: then it stays as it is. 0 or -errno.
int merge_indexes(const std::string& path) noexcept;

}  // namespace iotune::logstore
