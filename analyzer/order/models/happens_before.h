// Which segments of one process are before which of another, and what of them is visible there
// under each consistency model. README.md explains segments and events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/order/replay/clock_store.h"

namespace iotune::analyzer {

enum class ConsistencyModel : std::uint8_t { kPosix, kCommit, kSession, kMpiIo };
constexpr ConsistencyModel kConsistencyModels[] = {
    ConsistencyModel::kPosix, ConsistencyModel::kCommit, ConsistencyModel::kSession,
    ConsistencyModel::kMpiIo};
const char* name_of(ConsistencyModel model);

// An event on a file that counts in some model (order_table.h: FileRole).
struct FileEvent {
  std::uint32_t process;
  std::uint32_t file;
  std::uint64_t number;
  std::uint8_t roles;
};

// Something that was recorded and gives no order, and why.
struct OrderUnknown {
  std::string reason;
  std::uint64_t times = 0;
  std::uint32_t process = 0;  // of the first
  std::uint64_t event = 0;
};

class HappensBefore {
 public:
  static constexpr std::uint64_t kNever = UINT64_MAX;

  // Of so many processes, without any order between them.
  explicit HappensBefore(std::size_t processes, const std::vector<FileEvent>& file_events = {});

  // The least segment j of `q` such that what `p` did to `file` in segment `i` is properly before
  // all that `q` does in segments >= j; kNever where there is none. Rises with `i`. Exact for the
  // segments of `q` whose clocks were kept: another j is never less than the true one.
  // `order_alone`: of an access that needs no more, as a read.
  std::uint64_t first_visible(ConsistencyModel model, std::uint32_t p, std::uint64_t i,
                              std::uint32_t q, std::uint32_t file, bool order_alone) const;
  // Plain order.
  std::uint64_t first_after(std::uint32_t p, std::uint64_t i, std::uint32_t q) const;

  // Why a write of `p` in segment `i` is not visible to `q` in segment `j`.
  enum class Missing : std::uint8_t {
    kNothing,
    kOrder,  // between the two
    kOut,    // the writer's commit, close or sync before the order
    kIn      // the other's open or sync behind it
  };
  Missing missing(ConsistencyModel model, std::uint32_t p, std::uint64_t i, std::uint32_t q,
                  std::uint64_t j, std::uint32_t file, bool order_alone) const;

  const std::vector<OrderUnknown>& unknown() const { return unknown_; }
  std::size_t kept_rows() const { return clocks_.held(); }

  // For the replay: segment `number` of `process` begins with what is in `row`. By rising numbers.
  void keep(std::uint32_t process, std::uint64_t number, ClockStore::Row row);
  void add_unknown(const std::string& reason, std::uint32_t process, std::uint64_t event);
  ClockStore& clocks() { return clocks_; }

 private:
  // Something that lets in what others did: all that is known in segment `knows` is visible from
  // segment `from` on.
  struct Entry {
    std::uint64_t knows, from;
  };
  struct FileLine {  // of one process
    std::vector<std::uint64_t> commits, closes, syncs_out;
    std::vector<Entry> opens, syncs_in;
  };
  struct Kept {
    std::uint64_t segment;
    ClockStore::Row row;
  };
  const FileLine* line_of(std::uint32_t process, std::uint32_t file) const;
  std::uint64_t through(const std::vector<std::uint64_t>* out, const std::vector<Entry>* in,
                        std::uint32_t p, std::uint64_t i, std::uint32_t q) const;

  ClockStore clocks_;
  std::vector<std::vector<Kept>> kept_;                             // by process
  std::vector<std::unordered_map<std::uint32_t, FileLine>> files_;  // by process
  std::vector<OrderUnknown> unknown_;
  std::unordered_map<std::string, std::size_t> unknown_by_reason_;
};

}  // namespace iotune::analyzer
