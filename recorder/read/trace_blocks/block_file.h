// Writing a trace file: a head, then blocks (FORMAT.md). The file takes its name when it is whole.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/files/fresh_file.h"
#include "recorder/format.h"
#include "recorder/read/call.h"
#include "recorder/read/result.h"

namespace iotune::recorder {

// Why `target` may not be replaced at all (recorder/replaceable.h); nothing where it can, or
// where nothing is there.
std::optional<Error> refusal_to_replace(const std::string& target);

// A new file that becomes `target` when it is whole, and vanishes when it never is. Readable by
// its owner only. commit() replaces what refusal_to_replace() allows.
class ReplacingFile {
 public:
  explicit ReplacingFile(std::string target) : target_(std::move(target)), file_(target_.c_str()) {}

  // The first failure is kept: commit() tells it.
  void write(std::span<const std::byte> bytes);

  // Without `replace` a target that is there is an error.
  std::optional<Error> commit(bool replace = true);

 private:
  std::string target_;
  FreshFile file_;
};

void write_trace_head(ReplacingFile& file);
void write_block(ReplacingFile& file, BlockType type, std::span<const std::byte> payload);
void write_text_block(ReplacingFile& file, BlockType type, const Attributes& attributes);

}  // namespace iotune::recorder
