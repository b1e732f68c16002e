#include "prefetch/filesystem/stream_models.h"

namespace iotune::prefetch {

StreamModels::Key StreamModels::enter(const std::string& path) {
  const std::lock_guard lock(mutex_);
  Key key{path, 0};
  while (!open_.insert(key).second) ++key.second;
  return key;
}

Model StreamModels::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(key);
  return found == models_.end() ? nullptr : found->second;
}

void StreamModels::leave(const Key& key, std::vector<std::byte> learned) {
  const std::lock_guard lock(mutex_);
  open_.erase(key);
  if (learned.empty()) return;
  models_[key] = std::make_shared<const std::vector<std::byte>>(std::move(learned));
}

}  // namespace iotune::prefetch
