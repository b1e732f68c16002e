#include "analyzer/pattern_log/section_file.h"

#include <algorithm>
#include <array>
#include <span>

#include "analyzer/pattern_log/log_bytes.h"
#include "patterns/bytes.h"

namespace iotune::analyzer::pattern_log {

recorder::Result<SectionFile> SectionFile::open(const std::string& path) {
  recorder::Result<recorder::InputFile> file = recorder::InputFile::open(path);
  if (!file) return file.error();
  return SectionFile(std::move(*file));
}

bool SectionFile::next(std::vector<std::byte>& coded) {
  if (damaged_ || at_ == size_) return false;
  std::array<std::byte, 1 + patterns::kMaxVarintBytes> head{};
  const std::size_t got = file_.read(at_, head);
  if (at_ == 0) first_ = head[0];
  const std::optional<SectionPlace> place = section_place(std::span(head).first(got), size_ - at_);
  damaged_ = !place || (place->last && at_ != 0);
  if (damaged_) return false;
  coded.resize(static_cast<std::size_t>(place->bytes));
  damaged_ = file_.read(at_ + place->begin, coded) != coded.size();
  at_ += place->begin + place->bytes;
  return !damaged_;
}

}  // namespace iotune::analyzer::pattern_log
