// A path in memory of its own: an open may happen on a small stack.
#pragma once

#include "recorder/preload/mapped_file.h"
#include "recorder/preload/short_text.h"

namespace iotune::recorder {

class PrivatePath {
 public:
  PrivatePath() noexcept
      : path_(static_cast<ShortText<4096>*>(private_memory(sizeof(ShortText<4096>)))) {}
  ~PrivatePath() {
    if (path_ != nullptr) unmap(path_, sizeof(ShortText<4096>));
  }
  PrivatePath(const PrivatePath&) = delete;
  PrivatePath& operator=(const PrivatePath&) = delete;
  // Zeroed memory is an empty text; nullptr where there is no memory.
  ShortText<4096>* get() noexcept { return path_; }

 private:
  ShortText<4096>* path_;
};

}  // namespace iotune::recorder
