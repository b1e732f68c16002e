// Calls as columns, many at a time: what a table or a data frame is filled from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/calls/call_rows.h"
#include "recorder/read/access_words.h"

namespace iotune::analyzer {

enum class CallColumn : std::uint8_t {
  // 32-bit numbers.
  kRank,
  kProcess,
  kThread,
  kLevel,
  // 32-bit indices into names(); -1: none.
  kLayer,
  kCall,
  kFile,
  kDataset,
  kTimeKind,
  // 64-bit numbers.
  kStart,
  kDuration,
  // 64-bit numbers that may be missing.
  kOffset,
  kLength,
  kResult,
  // Texts; an empty one is a missing one.
  kSelection,
  kArguments,
  kText,
  kWords,
  kTransfers
};
inline constexpr std::size_t kCallColumns = 19;
inline constexpr std::int64_t kMissing = INT64_MIN;

// The column's name, as users know it; nothing for a number that is no column.
std::string_view column_name(CallColumn column);

// The rows of a batch; only the columns that were asked for are filled.
struct CallBatchColumns {
  std::size_t rows = 0;
  std::vector<std::int32_t> small[kCallColumns];
  std::vector<std::int64_t> large[kCallColumns];
  // Of texts: bytes, and rows + 1 offsets into them.
  std::string bytes[kCallColumns];
  std::vector<std::int64_t> offsets[kCallColumns];
};

class CallColumnReader {
 public:
  CallColumnReader(std::unique_ptr<CallRows> rows, std::vector<CallColumn> columns)
      : rows_(std::move(rows)), columns_(std::move(columns)) {}

  // At most `limit` rows; none at the end.
  CallBatchColumns next(std::size_t limit);

  // What the indices of a column of names mean, so far.
  std::vector<std::string> names(CallColumn column) const;
  const CallRows& rows() const { return *rows_; }

 private:
  void add(CallBatchColumns& to, CallColumn column, const CallRow& row);
  std::int32_t call_number(const recorder::Call& call);

  std::unique_ptr<CallRows> rows_;
  std::vector<CallColumn> columns_;
  recorder::AccessWords access_;  // of the row that is added
  std::vector<std::string> call_names_;
  std::unordered_map<std::string, std::int32_t> call_numbers_;
};

}  // namespace iotune::analyzer
