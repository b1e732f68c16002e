// What the predictors of one mount have learned, by file name and by which of the descriptors open
// at once on it: a program that is run again below the mount point finds it. Forgotten at unmount.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace iotune::prefetch {

using Model = std::shared_ptr<const std::vector<std::byte>>;

class StreamModels {
 public:
  using Key = std::pair<std::string, unsigned>;

  // Takes the first number on this path that no open stream has.
  Key enter(const std::string& path);
  // nullptr where there is none.
  Model find(const Key& key);
  // `learned` empty: what is known stays.
  void leave(const Key& key, std::vector<std::byte> learned);

 private:
  std::mutex mutex_;
  std::map<Key, Model> models_;
  std::set<Key> open_;
};

}  // namespace iotune::prefetch
