// Which dataset a path means: a program may write a path again with other dimensions, and then it
// is another dataset; or the dataset has grown, and then it is not.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "analyzer/call_owners.h"
#include "analyzer/file_table.h"

namespace iotune::analyzer {

// Of one process. Ranks name the same dataset by its dimensions, not by how many came before it:
// one of them may have moved nothing of an earlier one.
class DatasetVersions {
 public:
  // Each call in its turn: tells datasets that the process made from those that it opened.
  void follow(const recorder::Call& call);

  // After a definition of `object`: what was moved of it before it had this name is the same
  // dataset's.
  void name(FileRecord& file, std::int64_t object, const DatasetDefinition& definition);

  // The dataset that was defined as `object`.
  DatasetRecord& record_of(FileRecord& file, std::int64_t object,
                           const DatasetDefinition& definition, bool write);

  template <class A>
  void archive(A& a) {
    a(made_ids_, made_, by_object_, newest_, names_, unnamed_);
  }

 private:
  // A path, or for what has none (H5Dcreate_anon, and no link by now) which of them it is.
  std::string name_of(const FileRecord& file, std::int64_t object,
                      const DatasetDefinition& definition);

  recorder::CallArguments arguments_;
  std::unordered_set<std::int64_t> made_ids_;
  std::unordered_map<std::int64_t, bool> made_;                                 // by object
  std::unordered_map<std::int64_t, DatasetRecord*> by_object_[2];               // read, written
  std::unordered_map<const std::list<DatasetRecord>*, DatasetRecord*> newest_;  // by versions
  std::unordered_map<std::int64_t, std::string> names_;                         // by object
  std::unordered_map<const FileRecord*, int> unnamed_;                          // how many
};

}  // namespace iotune::analyzer
