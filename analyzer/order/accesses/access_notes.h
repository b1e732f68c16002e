// Collects the accesses of one process by file, call site, direction and length, as loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/order/accesses/access_runs.h"
#include "analyzer/order/accesses/fold_accesses.h"

namespace iotune::analyzer {

// The calls of libraries that a call was made in.
struct CallsAround {
  const recorder::CallSignature* mpi = nullptr;
  const recorder::CallSignature* hdf5 = nullptr;
  std::string_view dataset;              // as AccessNotes::kept keeps it
  bool commits = false, atomic = false;  // as CallSite's
  bool operator==(const CallsAround&) const = default;
};

struct AccessKind {
  std::uint32_t file, site;
  bool write, of_mpi;
  std::int64_t length;
  auto operator<=>(const AccessKind&) const = default;
};
using FoldedKinds = std::vector<std::pair<AccessKind, std::vector<AccessRun>>>;

class AccessNotes {
 public:
  // A text that stays.
  std::string_view kept(const std::string& text) { return *texts_.insert(text).first; }

  // The next accesses of a call; `run` says where and in which segments. What lies before 0 or
  // behind kMostBytes is left out.
  void add(const recorder::CallSignature& call, const CallsAround& around, AccessRun run,
           bool truncates = false);
  void add_without_place(std::uint32_t file, std::uint64_t accesses) {
    without_place_[file] += accesses;
  }
  // What MPI-IO moves of the file is seen below it.
  void is_below_mpi(std::uint32_t file) {
    if (file != last_below_) below_mpi_.insert(last_below_ = file);
  }

  FoldedKinds take_kinds();
  std::vector<CallSite> take_sites() { return std::move(sites_); }
  const std::unordered_map<std::uint32_t, std::uint64_t>& without_place() const {
    return without_place_;
  }
  const std::set<std::uint32_t>& below_mpi() const { return below_mpi_; }

 private:
  using SiteKey = std::tuple<const recorder::CallSignature*, const recorder::CallSignature*,
                             const recorder::CallSignature*, bool, bool, bool, std::string_view>;
  std::uint32_t site_of(const recorder::CallSignature& call, const CallsAround& around,
                        bool truncates);

  std::set<std::string> texts_;
  std::vector<CallSite> sites_;
  std::map<SiteKey, std::uint32_t> numbers_;
  std::map<AccessKind, AccessFolder> folders_;
  const AccessKind* last_kind_ = nullptr;
  AccessFolder* last_ = nullptr;
  std::unordered_map<std::uint32_t, std::uint64_t> without_place_;
  std::set<std::uint32_t> below_mpi_;
  std::uint32_t last_below_ = UINT32_MAX;
};

}  // namespace iotune::analyzer
