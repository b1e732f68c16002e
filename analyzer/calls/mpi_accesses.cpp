#include "analyzer/calls/mpi_accesses.h"

#include "analyzer/calls/call_facts.h"
#include "recorder/read/access_words.h"

namespace iotune::analyzer {
namespace {

using recorder::Call;

constexpr std::int64_t kAppend = 128, kSeekSet = 600, kSeekCurrent = 602;  // FORMAT.md

// The pointer `by` elements further; nothing before the file's beginning.
std::optional<std::uint64_t> moved(std::optional<std::uint64_t> from, std::int64_t by) {
  if (!from) return std::nullopt;
  const std::uint64_t to = *from + static_cast<std::uint64_t>(by);
  return static_cast<std::int64_t>(to) < 0 ? std::nullopt : std::optional(to);
}

FileView not_seen() {
  return FileView::unknown("its view was not recorded");
}

}  // namespace

std::optional<FileExtents> MpiAccesses::follow(const Call& call, std::size_t most) {
  view_ = nullptr;
  if (call.signature() == nullptr) return std::nullopt;
  const CallFacts& facts = facts_of(*call.signature());
  const bool is_view = facts.note == CallFacts::Note::kView;
  if (!is_view && call.signature()->layer != Layer::kMpiIo) return std::nullopt;
  if (call.signature()->transfer) return follow_transfer(call, facts, most);
  if (!read_arguments(call, arguments_)) return std::nullopt;
  const auto* const handle = arguments_.find("file");
  if (handle == nullptr || handle->numbers.size() != 1) return std::nullopt;
  const std::int64_t id = handle->numbers[0];
  const auto number = [&](const char* word) {
    return arguments_.number(*call.signature(), word).value_or(-1);
  };
  // What the call left the pointer at; earlier builds did not ask.
  const auto stands_at = [&]() { return moved(0, number("position")); };
  if (is_view) {
    files_[id].view = FileView::of(arguments_);
    return std::nullopt;
  }
  if (arguments_.result.value_or(-1) != 0) return std::nullopt;
  switch (facts.mpi_file) {
    case CallFacts::MpiFile::kOpen: {
      const bool appends = (number("amode") & kAppend) != 0;
      files_[id] = {FileView(), appends ? stands_at() : std::optional<std::uint64_t>(0)};
      break;
    }
    case CallFacts::MpiFile::kClose:
      files_.erase(id);
      break;
    case CallFacts::MpiFile::kSetView:
      files_[id] = {not_seen(), 0};
      break;
    case CallFacts::MpiFile::kSeek: {
      const auto found = files_.find(id);
      if (found == files_.end()) break;
      const std::int64_t whence = number("whence"), offset = number("offset");
      std::optional<std::uint64_t>& pointer = found->second.pointer;
      if (whence == kSeekSet) {
        pointer = moved(0, offset);
      } else {
        pointer = whence == kSeekCurrent ? moved(pointer, offset) : stands_at();
      }
      break;
    }
    case CallFacts::MpiFile::kOther:
      break;
  }
  return std::nullopt;
}

std::optional<FileExtents> MpiAccesses::follow_transfer(const Call& call, const CallFacts& facts,
                                                        std::size_t most) {
  const std::optional<std::int64_t> handle = handle_of(call);
  if (!handle) return std::nullopt;
  const auto found = files_.find(*handle);
  OpenFile unseen;
  if (found == files_.end()) unseen.view = not_seen();
  OpenFile& file = found == files_.end() ? unseen : found->second;
  const auto unknown = [](const char* why) { return FileExtents{{}, false, why}; };
  const std::optional<std::int64_t> length = recorder::access_words(call).length_bytes;
  if (!length) {
    // Where the pointer is now is not known either.
    if (!facts.explicit_offset) file.pointer.reset();
    return unknown("the call failed");
  }
  if (facts.shared_pointer) return unknown("a shared file pointer");
  const auto bytes = static_cast<std::uint64_t>(*length);
  const std::uint64_t element = file.view.element_bytes();
  std::optional<std::uint64_t> position = file.pointer;
  if (facts.explicit_offset) {
    const auto at = static_cast<std::size_t>(call.signature()->meaning.offset_place);
    position = moved(0, at < call.numbers.size() ? call.numbers[at] : -1);
  } else {
    file.pointer = moved(file.pointer, static_cast<std::int64_t>(bytes / element));
  }
  if (found != files_.end()) view_ = &file.view;
  if (!position) return unknown("the file pointer's place is not in the trace");
  return file.view.locate(*position * element, bytes, most);
}

}  // namespace iotune::analyzer
