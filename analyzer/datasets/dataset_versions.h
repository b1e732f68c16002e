// Which dataset a path means: a program may write a path again with other dimensions, and then it
// is another dataset; or the dataset has grown, and then it is not. What stands at another address
// of the same file is another dataset, whatever its name; what stands at the same one is the same,
// whatever its names, unless it was made again there.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "analyzer/calls/call_owners.h"
#include "analyzer/summary/file_table.h"

namespace iotune::analyzer {

// Of one process. Ranks name the same dataset by its dimensions, not by how many came before it:
// one of them may have moved nothing of an earlier one.
class DatasetVersions {
 public:
  // Each call in its turn: tells datasets that the process made from those that it opened.
  void follow(const recorder::Call& call);

  // The process opened `file` by HDF5, by the call that was followed last on that thread.
  void opened(FileRecord& file, std::uint32_t thread);

  // After a definition of `object`: what was moved of it before it had this name is the same
  // dataset's.
  void name(FileRecord& file, std::int64_t object, const DatasetDefinition& definition);

  // The dataset that was defined as `object`.
  DatasetRecord& record_of(FileRecord& file, std::int64_t object,
                           const DatasetDefinition& definition, bool write);

  template <class A>
  void archive(A& a) {
    a(made_ids_, made_, by_object_, newest_, names_, unnamed_, makes_file_, generation_, makers_);
  }

 private:
  std::uint32_t generation_of(const FileRecord& file) const;
  // Nothing speaks against that the object is the record's dataset, as far as places go.
  bool may_be(const DatasetRecord& record, std::uint32_t generation, std::int64_t object,
              const DatasetDefinition& definition) const;

  // A path, or for what has none (H5Dcreate_anon, and no link by now) which of them it is.
  // The first one that it had, where it has several.
  std::string name_of(FileRecord& file, std::int64_t object, const DatasetDefinition& definition);

  recorder::CallArguments arguments_;
  std::unordered_set<std::int64_t> made_ids_;
  std::unordered_map<std::int64_t, bool> made_;                                 // by object
  std::unordered_map<std::int64_t, DatasetRecord*> by_object_[2];               // read, written
  std::unordered_map<const std::list<DatasetRecord>*, DatasetRecord*> newest_;  // by versions
  std::unordered_map<std::int64_t, std::string> names_;                         // by object
  std::unordered_map<const FileRecord*, int> unnamed_;                          // how many
  std::unordered_map<std::uint32_t, bool>
      makes_file_;  // by thread: its last call that opened a file
  std::unordered_map<const FileRecord*, std::uint32_t> generation_;
  // Who made what a record describes: the file's generation and the object.
  std::unordered_map<const DatasetRecord*, std::pair<std::uint32_t, std::int64_t>> makers_;
};

}  // namespace iotune::analyzer
