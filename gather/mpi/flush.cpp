// How what the ranks hold of a file goes out.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "gather/held/boundaries.h"
#include "gather/held/coverage.h"
#include "gather/held/split_pieces.h"
#include "gather/mpi/gathered_file.h"

namespace iotune::gather {
namespace {

// Of one call: an int counts its bytes.
constexpr std::int64_t kMostBytesOfACall = std::int64_t{1} << 30U;
// One call of its own moves it as fast as any.
constexpr std::int64_t kLargePiece = std::int64_t{512} << 10U;
// A range is exchanged where some rank has so many pieces in it: fewer writes take less time than
// one collective call.
constexpr std::size_t kLeastPieces = 32;

int class_of(int error) noexcept {
  int its_class = 0;
  if (error == 0) return 0;
  return g_mpi.MPI_Error_class(error, &its_class) == 0 && its_class != 0 ? its_class : error;
}

// Behind the first byte of the first one.
Word view_of_runs(const std::vector<Run>& runs) {
  const Word byte = g_world.constants.byte;
  Word type = 0;
  if (runs.size() == 1 && runs[0].count <= INT32_MAX) {
    if (g_mpi.MPI_Type_create_hvector(static_cast<int>(runs[0].count),
                                      static_cast<int>(runs[0].bytes), runs[0].stride, byte,
                                      &type) != 0) {
      return 0;
    }
  } else {
    std::vector<int> lengths;
    std::vector<std::int64_t> places;
    for (const Run& run : runs) {
      for (std::int64_t i = 0; i < run.count; ++i) {
        lengths.push_back(static_cast<int>(run.bytes));
        places.push_back(run.offset - runs.front().offset + i * run.stride);
      }
    }
    if (places.size() > INT32_MAX ||
        g_mpi.MPI_Type_create_hindexed(static_cast<int>(places.size()), lengths.data(),
                                       places.data(), byte, &type) != 0) {
      return 0;
    }
  }
  if (g_mpi.MPI_Type_commit(&type) == 0) return type;
  g_mpi.MPI_Type_free(&type);
  return 0;
}

void* no_status() noexcept {
  return reinterpret_cast<void*>(status_layout(g_world.abi).ignored);
}

}  // namespace

bool reduce(const std::int64_t* own, std::int64_t* all, std::size_t count, Word operation,
            Word comm) noexcept {
  return g_mpi.MPI_Allreduce(own, all, static_cast<int>(count), g_world.constants.int64, operation,
                             comm) == 0;
}

namespace {

constexpr std::size_t kMostSummed = Boundaries::kWords / 8;

// Sums modulo 2^64, over any number of ranks, without a sum that MPI's type cannot hold. `count` up
// to kMostSummed.
bool sum(std::uint64_t* words, std::size_t count, Word comm) noexcept {
  constexpr unsigned kHalf = 32;
  std::int64_t own[2 * kMostSummed] = {}, all[2 * kMostSummed];
  for (std::size_t i = 0; i < count; ++i) {
    own[2 * i] = static_cast<std::int64_t>(words[i] & 0xffffffffU);
    own[2 * i + 1] = static_cast<std::int64_t>(words[i] >> kHalf);
  }
  if (!reduce(own, all, 2 * count, g_world.constants.op_sum, comm)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = static_cast<std::uint64_t>(all[2 * i]) +
               (static_cast<std::uint64_t>(all[2 * i + 1]) << kHalf);
  }
  return true;
}

}  // namespace

// Got before the ranks agree: none of them may lack memory in the midst of it.
struct GatheredFile::Exchange {
  static constexpr std::size_t kMostRanges = 512;

  // Cut where one call would move too much: a part of a filled range is filled.
  void add_range(Range range) noexcept {
    for (; range.begin < range.end && used <= kMostRanges; range.begin += kMostBytesOfACall) {
      if (used < kMostRanges) {
        ranges[used] = {range.begin, std::min(range.end, range.begin + kMostBytesOfACall)};
      }
      ++used;
    }
  }

  Boundaries boundaries;
  std::int64_t own[kMostRanges + 1], all[kMostRanges + 1];
  Range ranges[kMostRanges];
  std::size_t used = 0;
  SplitPieces split;
};

int GatheredFile::write_runs(const std::vector<Run>& runs, const std::byte* data,
                             std::uint64_t& writes, std::uint64_t& written) noexcept {
  int wrong = 0;
  for (const Run& run : runs) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      const std::byte* const at = data + run.at + static_cast<std::size_t>(i * run.bytes);
      for (std::int64_t done = 0; done < run.bytes;) {
        const std::int64_t bytes = std::min(run.bytes - done, kMostBytesOfACall);
        const int result =
            g_mpi.MPI_File_write_at(opened_.second, run.offset + i * run.stride + done, at + done,
                                    static_cast<int>(bytes), g_world.constants.byte, no_status());
        if (result != 0 && wrong == 0) wrong = result;
        done += bytes;
        ++writes;
        written += static_cast<std::uint64_t>(bytes);
      }
    }
  }
  return wrong;
}

// What is held becomes what leaves. Others hold more meanwhile: a collective call that this rank's
// other threads waited for could wait for them.
void GatheredFile::begin_leaving() noexcept {
  const std::lock_guard lock(state_);
  held_.swap(leaving_);
  if (journal_ == nullptr) return;
  journal_->begin_leaving();
  if (leaving_.empty()) journal_->clear();  // it may have parts of calls that were not held
}

int GatheredFile::end_leaving(int wrong) noexcept {
  const std::lock_guard lock(state_);
  leaving_.clear();
  // Also after an error, which the program gets: what it writes there next is newer.
  if (journal_ != nullptr) journal_->clear();
  if (wrong != 0) unsaid_ = wrong;
  if (wrong_ == 0) wrong_ = wrong;
  return wrong;
}

// By this rank alone.
int GatheredFile::write_leaving() noexcept {
  GatherCounts& counts = account_.counts;
  int wrong = 0;
  try {
    const Ascending pieces = leaving_.ascending();
    wrong = write_runs(pieces.runs, pieces.data, counts.alone_writes, counts.alone_bytes);
  } catch (const std::bad_alloc&) {
    wrong = write_runs(leaving_.written(), leaving_.bytes_written(), counts.alone_writes,
                       counts.alone_bytes);
  }
  return end_leaving(wrong);
}

int GatheredFile::write_out() noexcept {
  const std::lock_guard one_at_a_time(way_out_);
  begin_leaving();
  return leaving_.empty() ? 0 : write_leaving();
}

// What went wrong on any rank, on all of them: each rank's own error, or another's class.
int GatheredFile::agree(int wrong) noexcept {
  const std::int64_t own = class_of(wrong);
  std::int64_t worst = 0;
  if (!reduce(&own, &worst, 1, g_world.constants.op_max, opened_.comm)) return wrong;
  return wrong != 0 ? wrong : static_cast<int>(worst);
}

// The ranges that all ranks' pieces fill, each byte once, and in which some rank has many; and this
// rank's pieces in each of them. False: there are none, on all ranks.
bool GatheredFile::agree_on_ranges(Exchange* exchange, const Ascending& pieces,
                                   const Range& all) noexcept {
  std::uint64_t steps[2] = {steps_of(pieces), exchange == nullptr ? 1U : 0U};
  if (!sum(steps, 2, opened_.comm) || steps[1] != 0) return false;
  if (fills(steps[0], all.begin, all.end)) {
    exchange->add_range(all);
  } else {
    exchange->boundaries.add(pieces);
    const auto words = exchange->boundaries.words();
    for (std::size_t at = 0; at < words.size(); at += kMostSummed) {
      const std::size_t count = std::min(kMostSummed, words.size() - at);
      if (!sum(words.data() + at, count, opened_.comm)) return false;
    }
    for (const Range& range : exchange->boundaries.covered_once()) exchange->add_range(range);
  }
  const std::size_t ranges = exchange->used;
  if (ranges == 0 || ranges > Exchange::kMostRanges) return false;
  std::int64_t* const most = exchange->own;  // pieces of a rank in each; last, whether one failed
  std::fill(most, most + ranges + 1, 0);
  try {
    exchange->split = split(pieces, {exchange->ranges, ranges});
    for (std::size_t i = 0; i < ranges; ++i) {
      const Part& part = exchange->split.parts[i];
      most[i] = static_cast<std::int64_t>(part.pieces);
      if (!part.in_one) most[ranges] = 1;  // two ranks write the same bytes there
    }
  } catch (const std::bad_alloc&) {
    most[ranges] = 1;
  }
  if (!reduce(most, exchange->all, ranges + 1, g_world.constants.op_max, opened_.comm) ||
      exchange->all[ranges] != 0) {
    return false;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < ranges; ++i) {
    if (exchange->all[i] < static_cast<std::int64_t>(kLeastPieces)) continue;
    exchange->ranges[kept++] = exchange->ranges[i];
  }
  exchange->used = kept;
  return kept > 0;
}

// One collective call a range, all through one view of this rank's pieces in them. `none_went`:
// this rank could not take part with its pieces.
int GatheredFile::write_ranges(Exchange& exchange, const Ascending& pieces,
                               bool& none_went) noexcept {
  const MpiConstants& mpi = g_world.constants;
  std::vector<Run> in_view;
  Word type = mpi.byte;
  try {
    exchange.split = split(pieces, {exchange.ranges, exchange.used});
    for (const Part& part : exchange.split.parts) {
      in_view.insert(in_view.end(), part.runs.begin(), part.runs.end());
    }
    if (!in_view.empty()) type = view_of_runs(in_view);
  } catch (const std::bad_alloc&) {
    type = 0;
  }
  none_went = type == 0;
  // Collective from here on, whatever was wrong. No rank makes another call meanwhile, and locks of
  // whole views would make the ranks write one after the other.
  if (locks_) g_mpi.MPI_File_set_atomicity(opened_.second, 0);
  const bool writes = !none_went && !in_view.empty();
  int wrong = g_mpi.MPI_File_set_view(opened_.second, writes ? in_view.front().offset : 0, mpi.byte,
                                      writes ? type : mpi.byte, "native", mpi.info_null);
  std::int64_t done = 0;
  for (std::size_t i = 0; i < exchange.used; ++i) {
    const Part none;
    const Part& part = writes ? exchange.split.parts[i] : none;
    const std::int64_t bytes = wrong == 0 ? static_cast<std::int64_t>(part.bytes) : 0;
    const int result = g_mpi.MPI_File_write_at_all(opened_.second, done, pieces.data + part.at,
                                                   static_cast<int>(bytes), mpi.byte, no_status());
    if (wrong == 0) wrong = result;
    done += static_cast<std::int64_t>(part.bytes);
    account_.counts.exchange_bytes += static_cast<std::uint64_t>(bytes);
    ++account_.counts.exchange_calls;
  }
  g_mpi.MPI_File_set_view(opened_.second, 0, mpi.byte, mpi.byte, "native", mpi.info_null);
  if (locks_) g_mpi.MPI_File_set_atomicity(opened_.second, 1);
  if (writes) g_mpi.MPI_Type_free(&type);
  return wrong;
}

int GatheredFile::flush() noexcept {
  const std::lock_guard one_at_a_time(way_out_);
  begin_leaving();
  GatherCounts& counts = account_.counts;
  Ascending pieces{{}, nullptr, 0};
  bool ordered = true;
  int wrong = 0;
  const bool holds = !leaving_.empty();
  try {
    if (holds) {
      pieces = leaving_.ascending();
      // By their owners, at once: the others' pieces are no part of what lies there.
      const std::vector<Run> large = take_large(pieces, kLargePiece);
      wrong = write_runs(large, pieces.data, counts.piece_writes, counts.piece_bytes);
    }
  } catch (const std::bad_alloc&) {
    ordered = false;
  }
  const int earlier = std::exchange(unsaid_, 0);
  // The least of all: begin, -end, may exchange, -holds, -error.
  const std::int64_t own[5] = {pieces.empty() ? INT64_MAX : pieces.begin(),
                               pieces.empty() ? INT64_MAX : -pieces.end(),
                               ordered && exchanges_ ? 1 : 0, holds ? -1 : 0, -class_of(earlier)};
  std::int64_t least[5];
  if (!reduce(own, least, 5, g_world.constants.op_min, opened_.comm)) return write_leaving();
  const int said = earlier != 0 ? earlier : static_cast<int>(-least[4]);
  if (least[3] == 0) return said;
  ++counts.flushes;
  const Range all{least[0], -least[1]};
  std::unique_ptr<Exchange> exchange;
  bool together = least[2] != 0 && all.begin < all.end;
  if (together) {
    exchange.reset(new (std::nothrow) Exchange);
    together = agree_on_ranges(exchange.get(), pieces, all);
  }
  bool none_went = false;
  int later = 0;
  if (together) {
    const int result = write_ranges(*exchange, pieces, none_went);
    if (wrong == 0) wrong = result;
  }
  const std::vector<Run>& others = together ? exchange->split.others : pieces.runs;
  if (!ordered) {
    later = write_leaving();
  } else if (!none_went) {
    later = write_runs(others, pieces.data, counts.piece_writes, counts.piece_bytes);
  }
  if (wrong == 0) wrong = later;
  const int agreed = agree(wrong);
  // When all others are done: they may read what lies between their pieces, and write it back.
  const int late =
      none_went ? write_runs(pieces.runs, pieces.data, counts.piece_writes, counts.piece_bytes) : 0;
  end_leaving(wrong != 0 ? wrong : late);
  unsaid_ = late;
  // No rank writes newer bytes while another's log has the older ones.
  if (journal_ != nullptr) all_say(opened_.comm, true);
  return agreed != 0 ? agreed : said;
}

}  // namespace iotune::gather
