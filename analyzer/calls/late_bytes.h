// Bytes that a library holds back: what H5Dwrite leaves in the chunk cache or the sieve buffer goes
// to the file when the dataset is closed, or the file flushed. A dataset's time is that too, or its
// rate would be that of memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyzer/summary/file_table.h"

namespace iotune::analyzer {

// Of one process, by calls in the order of their ends.
class LateBytes {
 public:
  struct Part {
    DatasetRecord* dataset;
    std::uint64_t nanoseconds;
  };

  // A write that HDF5 made itself, within a call of that thread.
  void moved_below(std::uint32_t thread, std::uint64_t bytes);
  // What moved_below() said since the thread's last call of HDF5.
  std::uint64_t take_below(std::uint32_t thread);

  // A transfer wrote `bytes` of the dataset open as `id`, and `below` of them went on to the file.
  void wrote(const FileRecord& file, std::int64_t id, DatasetRecord& dataset, double bytes,
             double below);

  // A call that is no transfer wrote `below` bytes in so much time: whose they were. Of the dataset
  // open as `id`, or of all of the file.
  std::vector<Part> settle(const FileRecord& file, std::optional<std::int64_t> id, double below,
                           std::uint64_t nanoseconds);

  template <class A>
  void archive(A& a) {
    a(below_, by_id_, owed_, waiting_);
  }

 private:
  std::unordered_map<std::uint32_t, std::uint64_t> below_;  // by thread
  std::unordered_map<std::int64_t, DatasetRecord*> by_id_;
  std::unordered_map<const DatasetRecord*, double> owed_;  // bytes not seen below yet
  std::unordered_map<const FileRecord*, std::vector<DatasetRecord*>> waiting_;  // owed more than 0
};

}  // namespace iotune::analyzer
