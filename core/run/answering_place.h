// Whether the file system of a folder of ours answers (design.md, rule 12). Those on local file
// systems always do. Any other is asked once a node, by a process that may be left behind, and then
// believed for some seconds; one that has not answered within a second is not asked again by this
// node in this run.
#pragma once

#include "core/os/short_text.h"
#include "core/run/left_process.h"

namespace iotune {

// `path`: absolute. Where it is false nothing may be looked up there, which is said once.
bool place_answers(const char* path) noexcept;

// Whether the path leads to a file system that is not local: what is asked there may take long.
bool is_distant(const char* path) noexcept;

// A line on stderr when this object has been there for 5 s: of one who waits for a folder that has
// answered before. Nothing where that is local.
class SaysWhereItWaits {
 public:
  explicit SaysWhereItWaits(const char* path) noexcept;
  ~SaysWhereItWaits() { process_.wait_for_end(); }
  SaysWhereItWaits(const SaysWhereItWaits&) = delete;
  SaysWhereItWaits& operator=(const SaysWhereItWaits&) = delete;

 private:
  ShortText<1200> line_;
  LeftProcess process_;
};

}  // namespace iotune
