#include "recorder/read/trace_blocks/marks_decoder.h"

#include <algorithm>

#include "patterns/bytes.h"
#include "recorder/ring/time_marks.h"

namespace iotune::recorder {
namespace {

constexpr std::uint64_t kUnknown = UINT64_MAX;
// Damage may claim any; no run is that long, and sums of such times do not overflow.
constexpr std::uint64_t kMostNs = UINT64_MAX >> 8U;

MarksHead read_head(patterns::ByteReader& in) {
  MarksHead head{};
  head.thread = in.varint();
  head.epoch = in.varint();
  head.calls = in.varint();
  return head;
}

// Marked calls have their own duration; the others of their stream share the rest of its sum.
void share_durations(std::span<const BinMark> marks, std::span<const std::uint32_t> order,
                     std::span<const InexactCalls> streams, std::span<Call> calls) {
  std::vector<InexactCalls> left(streams.begin(), streams.end());
  std::vector<bool> has_marks(streams.size());
  for (const BinMark& mark : marks) {
    if (calls[mark.call].exact) continue;
    InexactCalls& stream = left[order[mark.call]];
    stream.sum_ns -= std::min(stream.sum_ns, mark.duration_ns);
    --stream.calls;
    has_marks[order[mark.call]] = true;
  }
  auto mark = marks.begin();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const bool is_marked = mark != marks.end() && mark->call == i;
    if (!calls[i].exact && has_marks[order[i]]) {
      const InexactCalls& stream = left[order[i]];
      calls[i].duration_ns =
          is_marked ? mark->duration_ns
                    : std::clamp(stream.sum_ns / std::max<std::uint64_t>(stream.calls, 1),
                                 std::min(stream.least_ns, stream.largest_ns), stream.largest_ns);
    }
    if (is_marked) ++mark;
  }
}

}  // namespace

std::optional<MarksHead> read_marks_head(std::span<const std::byte> payload) {
  patterns::ByteReader in(payload);
  const MarksHead head = read_head(in);
  if (in.failed()) return std::nullopt;
  return head;
}

std::vector<BinMark> decode_marks(std::span<const std::byte> payload) {
  patterns::ByteReader in(payload);
  const std::uint64_t calls = read_head(in).calls;
  const std::uint64_t width_ns = in.varint(), count = in.varint();
  std::vector<BinMark> marks;
  if (in.failed() || width_ns == 0 || count > kMostMarks) return marks;
  std::uint64_t call = 0, bin = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t more_calls = in.varint(), more_bins = in.varint();
    const std::uint64_t steps = in.varint(), duration_ns = in.varint();
    const bool goes_on = i == 0 || (more_calls > 0 && more_bins > 0);
    if (in.failed() || !goes_on || more_calls > calls || call + more_calls >= calls ||
        more_bins > kMostNs || bin + more_bins >= kMostNs / width_ns || steps >= kBinSteps ||
        duration_ns > kMostNs) {
      return {};
    }
    call += more_calls;
    bin += more_bins;
    const std::uint64_t begin = bin * width_ns;
    const auto into =
        static_cast<std::uint64_t>(static_cast<unsigned __int128>(width_ns) * steps / kBinSteps);
    marks.push_back({call, begin + width_ns - 1, begin + into, duration_ns});
  }
  if (in.bytes_left() > 0) marks.clear();
  return marks;
}

void place_in_bins(std::span<const BinMark> marks, std::span<const std::uint32_t> order,
                   std::span<const InexactCalls> streams, std::uint64_t least_start_ns,
                   std::span<Call> calls) {
  if (marks.empty() || marks.back().call >= calls.size()) return;
  share_durations(marks, order, streams, calls);
  // Ends of single calls that are known. Calls stand in the order of their ends, so that of a
  // stream the last one has the last end.
  std::vector<std::uint64_t> known(calls.size(), kUnknown);
  std::vector<bool> seen(streams.size());
  for (std::size_t i = calls.size(); i-- > 0;) {
    const bool is_last = !seen[order[i]];
    seen[order[i]] = true;
    if (is_pseudo_call(calls[i].stream->name)) continue;
    if (calls[i].exact) {
      known[i] = calls[i].end_ns();
    } else if (is_last) {
      known[i] = streams[order[i]].last_end_ns;
    }
  }
  for (const BinMark& mark : marks) {
    if (calls[mark.call].exact) continue;
    // So that a batch does not begin before the one before it has ended.
    known[mark.call] = std::max(mark.end_ns, least_start_ns + mark.duration_ns);
  }

  std::size_t next_mark = 0;
  std::uint64_t low = 0, limit = 0;
  for (std::size_t at = marks.front().call; at < calls.size();) {
    // Up to the next call whose end is known, or that begins a bin.
    const std::size_t first_of_bin =
        next_mark < marks.size() ? marks[next_mark].call : calls.size();
    std::size_t to = at;
    while (to < first_of_bin && known[to] == kUnknown) ++to;
    const bool in_this_bin = to < first_of_bin;
    const std::uint64_t high = std::max(low, in_this_bin ? std::min(known[to], limit) : limit);
    const std::uint64_t parts = to - at + 1;
    for (std::size_t i = at; i < to; ++i) {
      Call& call = calls[i];
      if (call.exact) continue;
      const std::uint64_t end =
          low + static_cast<std::uint64_t>(static_cast<unsigned __int128>(high - low) *
                                           (i - at + 1) / parts);
      call.duration_ns = std::min(call.duration_ns, end);
      call.start_ns = end - call.duration_ns;
      call.in_bin = true;
    }
    if (to == calls.size()) break;
    if (!in_this_bin) limit = marks[next_mark++].bin_last_ns;
    Call& call = calls[to];
    if (known[to] != kUnknown) {
      low = std::max(low, known[to]);
      if (!call.exact) {
        // The clock may have gone back between two cores.
        low = std::min(low, std::max(limit, known[to]));
        call.duration_ns = std::min(call.duration_ns, low);
        call.start_ns = low - call.duration_ns;
        call.in_bin = true;
      }
    }
    at = to + 1;
  }
}

}  // namespace iotune::recorder
