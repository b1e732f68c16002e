#include "analyzer/order/accesses/access_notes.h"

#include <algorithm>

#include "analyzer/index/nest.h"
#include "analyzer/order/count_overlaps.h"

namespace iotune::analyzer {

std::uint32_t AccessNotes::site_of(const recorder::CallSignature& call, const CallsAround& around,
                                   bool truncates) {
  const SiteKey key{&call,          around.mpi,    around.hdf5,   truncates,
                    around.commits, around.atomic, around.dataset};
  const auto [at, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(sites_.size()));
  if (is_new) {
    sites_.push_back({&call, around.mpi, around.hdf5, std::string(around.dataset), truncates,
                      around.commits, around.atomic});
  }
  return at->second;
}

void AccessNotes::add(const recorder::CallSignature& call, const CallsAround& around, AccessRun run,
                      bool truncates) {
  if (run.start < 0 || run.start >= kMostBytes || run.length <= 0) return;
  run.length = std::min(run.length, kMostBytes - run.start);
  const RunBounds bounds = bounds_of(run);
  if (bounds.first < 0 || bounds.end > kMostBytes) return;
  run.site = site_of(call, around, truncates);
  const AccessKind kind{run.file, run.site, run.write, call.layer == Layer::kMpiIo, run.length};
  if (last_ == nullptr || *last_kind_ != kind) {
    const auto at = folders_.try_emplace(kind).first;
    last_kind_ = &at->first;
    last_ = &at->second;
  }
  last_->add(std::move(run));
}

FoldedKinds AccessNotes::take_kinds() {
  FoldedKinds kinds;
  for (auto& [kind, folder] : folders_) {
    folder.finish(kinds.emplace_back(kind, std::vector<AccessRun>()).second);
  }
  folders_.clear();
  last_ = nullptr;
  return kinds;
}

}  // namespace iotune::analyzer
