#include "analyzer/calls/file_view.h"

#include <algorithm>
#include <limits>

namespace iotune::analyzer {
namespace {

// Offsets in files are signed 64-bit numbers.
constexpr std::uint64_t kFarthest = std::numeric_limits<std::int64_t>::max();

constexpr std::size_t kMostPieces = std::size_t{1} << 22U;

bool multiply(std::uint64_t& to, std::uint64_t by) {
  return !__builtin_mul_overflow(to, by, &to) && to <= kFarthest;
}

void add(std::vector<FileExtent>& to, FileExtent extent, std::size_t most, bool& more) {
  if (!to.empty() && to.back().offset + to.back().bytes == extent.offset) {
    to.back().bytes += extent.bytes;
  } else if (to.size() == most) {
    more = true;
  } else {
    to.push_back(extent);
  }
}

}  // namespace

std::string extents_text(const FileExtents& found) {
  std::string text = " [at";
  for (const FileExtent& extent : found.extents) {
    text += ' ' + std::to_string(extent.offset) + '+' + std::to_string(extent.bytes);
  }
  if (found.more) text += " ...";
  if (!found.unknown.empty()) text += " ?: " + found.unknown;
  return text + ']';
}

FileView FileView::unknown(std::string why) {
  FileView view;
  view.kind_ = Kind::kUnknown;
  view.why_ = std::move(why);
  return view;
}

FileView FileView::of(const recorder::CallArguments& call) {
  const auto number = [&](const char* name) { return call.find(name)->numbers[0]; };
  const std::int64_t words[] = {number("displacement"), number("etype_bytes"), number("data_bytes"),
                                number("tile_bytes")};
  const std::int64_t kind = number("kind");
  if (kind < 0 || kind > 3) return unknown("its view could not be decoded");
  FileView view;
  view.kind_ = static_cast<Kind>(kind);
  view.displacement_ = static_cast<std::uint64_t>(words[0]);
  view.element_bytes_ = static_cast<std::uint64_t>(words[1]);
  view.data_bytes_ = static_cast<std::uint64_t>(words[2]);
  view.tile_bytes_ = static_cast<std::uint64_t>(words[3]);
  const auto values = call.find("layout")->numbers;
  bool fits = std::all_of(words, words + 4, [](std::int64_t word) { return word >= 0; }) &&
              view.element_bytes_ > 0;
  if (view.kind_ == Kind::kWhole) fits = fits && view.data_bytes_ == view.tile_bytes_;
  if (view.kind_ == Kind::kSubarray) fits = fits && view.take_subarray(values);
  if (view.kind_ == Kind::kRuns || view.kind_ == Kind::kFirstRuns) {
    fits = fits && view.take_runs(values);
  }
  return fits ? view : unknown("its view contradicts itself");
}

bool FileView::take_subarray(std::span<const std::int64_t> values) {
  if (values.size() < 4 || values.size() % 3 != 1 ||
      std::any_of(values.begin(), values.end(), [](std::int64_t word) { return word < 0; })) {
    return false;
  }
  const std::size_t n = values.size() / 3;
  const auto row = [&](std::size_t which, std::size_t d) {
    return static_cast<std::uint64_t>(values[1 + which * n + d]);
  };
  starts_.resize(n);
  subsizes_.resize(n);
  steps_.resize(n);
  auto step = static_cast<std::uint64_t>(values[0]);
  std::uint64_t data = step;
  for (std::size_t d = n; d-- > 0;) {
    steps_[d] = step;
    subsizes_[d] = row(1, d);
    starts_[d] = row(2, d);
    if (subsizes_[d] > row(0, d) || starts_[d] > row(0, d) - subsizes_[d]) return false;
    if (!multiply(step, row(0, d)) || !multiply(data, subsizes_[d])) return false;
  }
  return data == data_bytes_;
}

bool FileView::take_runs(std::span<const std::int64_t> values) {
  if (values.size() % 4 != 0) return false;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < values.size(); i += 4) {
    if (values[i + 1] <= 0 || values[i + 3] <= 0) return false;
    const Run run{static_cast<std::uint64_t>(values[i]), static_cast<std::uint64_t>(values[i + 1]),
                  static_cast<std::uint64_t>(values[i + 2]),
                  static_cast<std::uint64_t>(values[i + 3]), before};
    std::uint64_t data = run.bytes;
    if (!multiply(data, run.count) || data > kFarthest - before) return false;
    before += data;
    runs_.push_back(run);
  }
  return kind_ == Kind::kRuns ? before == data_bytes_ : before <= data_bytes_;
}

std::optional<FileExtent> FileView::piece(std::uint64_t position) const {
  if (kind_ == Kind::kSubarray) {
    const std::size_t n = starts_.size();
    const std::uint64_t row_bytes = subsizes_[n - 1] * steps_[n - 1];
    const std::uint64_t inside = position % row_bytes;
    std::uint64_t row = position / row_bytes;
    std::uint64_t offset = starts_[n - 1] * steps_[n - 1] + inside;
    for (std::size_t d = n - 1; d-- > 0;) {
      offset += (starts_[d] + row % subsizes_[d]) * steps_[d];
      row /= subsizes_[d];
    }
    return FileExtent{offset, row_bytes - inside};
  }
  const auto next =
      std::upper_bound(runs_.begin(), runs_.end(), position,
                       [](std::uint64_t value, const Run& run) { return value < run.before; });
  if (next == runs_.begin()) return std::nullopt;
  const Run& run = next[-1];
  const std::uint64_t block = (position - run.before) / run.bytes;
  if (block >= run.count) return std::nullopt;
  const std::uint64_t inside = (position - run.before) % run.bytes;
  return FileExtent{run.offset + block * run.stride + inside, run.bytes - inside};
}

FileExtents FileView::locate(std::uint64_t position, std::uint64_t bytes, std::size_t most) const {
  FileExtents found;
  if (kind_ == Kind::kUnknown) {
    found.unknown = why_;
    return found;
  }
  if (bytes == 0) return found;
  if (kind_ == Kind::kWhole) {
    found.extents.push_back({displacement_ + position, bytes});
    return found;
  }
  if (data_bytes_ == 0) {
    found.unknown = "its view holds no data";
    return found;
  }
  std::uint64_t tile = position / data_bytes_, inside = position % data_bytes_;
  // Neighbours join without an end to their number: a trace may claim any.
  for (std::size_t pieces = 0; bytes > 0 && !found.more; ++pieces) {
    if (pieces == kMostPieces) found.more = true;
    const std::optional<FileExtent> one = piece(inside);
    if (!one) {
      found.unknown = "its view is too irregular to be kept whole";
      return found;
    }
    const std::uint64_t here = std::min(bytes, one->bytes);
    add(found.extents, {displacement_ + tile * tile_bytes_ + one->offset, here}, most, found.more);
    bytes -= here;
    inside += here;
    if (inside == data_bytes_) {
      inside = 0;
      ++tile;
    }
  }
  return found;
}

}  // namespace iotune::analyzer
