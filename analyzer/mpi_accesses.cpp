#include "analyzer/mpi_accesses.h"

#include <string_view>

#include "recorder/read/call_arguments.h"

namespace iotune::analyzer {
namespace {

using recorder::Call;
using recorder::CallArguments;
using recorder::Layer;

constexpr std::int64_t kAppend = 128, kSeekSet = 600, kSeekCurrent = 602;  // FORMAT.md

bool has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

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
  const bool is_view = call.name() == "iotune_view";
  if (!is_view && call.signature()->layer != Layer::kMpiIo) return std::nullopt;
  const std::optional<CallArguments> arguments = arguments_of(call);
  const auto* const handle = arguments ? arguments->find("file") : nullptr;
  if (handle == nullptr || handle->numbers.size() != 1) return std::nullopt;
  const std::int64_t id = handle->numbers[0];
  const std::string_view name = call.name();
  const auto number = [&](const char* word) {
    return arguments->number(*call.signature(), word).value_or(-1);
  };
  if (is_view) {
    files_[id].view = FileView::of(*arguments);
    return std::nullopt;
  }
  const bool good = arguments->result.value_or(-1) == 0;
  if (name == "MPI_File_open") {
    const bool appends = (number("amode") & kAppend) != 0;
    if (good) {
      files_[id] = {FileView(), appends ? std::nullopt : std::optional<std::uint64_t>(0)};
    }
    return std::nullopt;
  }
  if (name == "MPI_File_close") {
    if (good) files_.erase(id);
    return std::nullopt;
  }
  if (name == "MPI_File_set_view") {
    if (good) files_[id] = {not_seen(), 0};
    return std::nullopt;
  }
  const auto found = files_.find(id);
  OpenFile unseen;
  if (found == files_.end()) unseen.view = not_seen();
  OpenFile& file = found == files_.end() ? unseen : found->second;
  if (name == "MPI_File_seek") {
    const std::int64_t whence = number("whence"), offset = number("offset");
    if (!good) return std::nullopt;
    if (whence == kSeekSet) {
      file.pointer = moved(0, offset);
    } else {
      file.pointer = whence == kSeekCurrent ? moved(file.pointer, offset) : std::nullopt;
    }
    return std::nullopt;
  }
  if (!call.signature()->transfer) return std::nullopt;
  const auto unknown = [](const char* why) { return FileExtents{{}, false, why}; };
  const std::int64_t count = number("count"), type_bytes = number("type_bytes");
  std::uint64_t bytes = static_cast<std::uint64_t>(count);
  if (!good || count < 0 || type_bytes < 0 ||
      __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(type_bytes), &bytes)) {
    // Where the pointer is now is not known either.
    if (!has(name, "_at")) file.pointer.reset();
    return unknown("the call failed");
  }
  if (has(name, "_shared") || has(name, "_ordered")) return unknown("a shared file pointer");
  const std::uint64_t element = file.view.element_bytes();
  std::optional<std::uint64_t> position = file.pointer;
  if (has(name, "_at")) {
    position = moved(0, number("offset"));
  } else {
    file.pointer = moved(file.pointer, static_cast<std::int64_t>(bytes / element));
  }
  if (found != files_.end()) view_ = &file.view;
  if (!position) return unknown("the file pointer's place is not in the trace");
  return file.view.locate(*position * element, bytes, most);
}

}  // namespace iotune::analyzer
