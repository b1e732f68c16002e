// Reads a log from a file a section at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/pattern_log/log_bytes.h"
#include "recorder/read/result.h"
#include "recorder/read/trace_blocks/input_file.h"

namespace iotune::analyzer::pattern_log {

class SectionFile {
 public:
  static recorder::Result<SectionFile> open(const std::string& path);

  // The coded bytes of the next section. False at the end and on damage, which damaged() tells.
  bool next(std::vector<std::byte>& coded);
  bool damaged() const noexcept { return damaged_; }
  // What is to be said where something in it is damaged.
  const char* why_not_read() const noexcept { return pattern_log::why_not_read(first_); }
  std::uint64_t bytes() const noexcept { return size_; }

 private:
  explicit SectionFile(recorder::InputFile file) : file_(std::move(file)), size_(file_.size()) {}

  recorder::InputFile file_;
  std::uint64_t size_, at_ = 0;
  std::byte first_{0};
  bool damaged_ = false;
};

}  // namespace iotune::analyzer::pattern_log
