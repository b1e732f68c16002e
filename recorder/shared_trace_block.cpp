#include "recorder/shared_trace_block.h"

#include <algorithm>
#include <cstring>

#include "patterns/tuple_loops.h"
#include "recorder/stream_values.h"

namespace iotune::recorder {
namespace {

using patterns::ByteReader;
using patterns::ByteWriter;

constexpr unsigned kRunWidth = kWordsPerRun;

bool write_runs(const std::int64_t* words, std::size_t runs, std::span<std::byte> scratch,
                ByteWriter& out) noexcept {
  out.varint(runs);
  if (runs > 1) {
    return patterns::encode_tuples({words, runs * kRunWidth}, runs, kRunWidth, scratch, out);
  }
  out.svarint(words[1]);
  out.svarint(words[2]);
  return !out.overflowed();
}

void write_times(const SharedTimes& times, std::uint64_t previous_token, ByteWriter& out) noexcept {
  out.varint(times.before_token - previous_token);
  out.varint(times.first_start);
  out.varint(times.last_end - times.first_start);
  out.varint(times.sum);
  out.varint(times.least);
  out.varint(times.largest);
}

// Adds the runs of one operand, n times `value` where it has none, to the builder.
struct Operand {
  ByteReader values, columns;
  std::uint64_t ranks;
  std::uint64_t next_column = 0;  // counted from 1; 0: no more

  explicit Operand(const SharedParts& parts) noexcept
      : values(parts.values), columns(parts.columns), ranks(parts.ranks) {
    pass();
  }
  void pass() noexcept {
    const std::uint64_t gap = columns.varint();
    next_column = gap == 0 ? 0 : next_column + gap;
  }
  bool add(std::uint64_t value, bool varies, std::span<std::int64_t> words,
           RunBuilder& builder) noexcept {
    if (!varies) {
      const auto first = static_cast<std::int64_t>(value);
      constexpr std::int64_t kNoStride = 0;
      builder.add(&first, &kNoStride, ranks);
      return true;
    }
    const std::size_t runs = read_runs(columns, ranks, words);
    for (std::size_t i = 0; i < runs; ++i) {
      const std::int64_t* const run = words.data() + i * kWordsPerRun;
      builder.add(run + 1, run + 2, static_cast<std::uint64_t>(run[0]));
    }
    pass();
    return runs > 0 && !columns.failed();
  }
};

// Memory for one column while two are joined.
struct ColumnSpace {
  std::int64_t* joined;
  std::span<std::int64_t> read;
  std::span<std::byte> encoder;

  ColumnSpace(std::span<std::byte> scratch, std::uint64_t ranks) noexcept
      : joined(reinterpret_cast<std::int64_t*>(scratch.data())),
        read(joined + (ranks + 1) * kWordsPerRun, ranks * kWordsPerRun),
        encoder(scratch.subspan((2 * ranks + 1) * kWordsPerRun * 8)) {}
};

bool merge_ranks(const SharedParts& a, const SharedParts& b, const ColumnSpace& space,
                 ByteWriter& out) noexcept {
  RunBuilder builder(space.joined, 1);
  for (const SharedParts* const parts : {&a, &b}) {
    ByteReader in(parts->rank_runs);
    const std::size_t runs = read_runs(in, parts->ranks, space.read);
    if (runs == 0) return false;
    for (std::size_t i = 0; i < runs; ++i) {
      const std::int64_t* const run = space.read.data() + i * kWordsPerRun;
      builder.add(run + 1, run + 2, static_cast<std::uint64_t>(run[0]));
    }
  }
  return write_runs(space.joined, builder.runs(), space.encoder, out);
}

bool merge_times(const SharedParts& a, const SharedParts& b, ByteWriter& out) noexcept {
  ByteReader in_a(a.time_values), in_b(b.time_values);
  std::uint64_t previous = 0;
  for (std::uint64_t i = 0; i < a.times; ++i) {
    SharedTimes mine = read_times(in_a, previous);
    const SharedTimes other = read_times(in_b, previous);
    if (mine.before_token != other.before_token) return false;
    mine.first_start = std::min(mine.first_start, other.first_start);
    mine.last_end = std::max(mine.last_end, other.last_end);
    mine.sum += other.sum;
    mine.least = std::min(mine.least, other.least);
    mine.largest = std::max(mine.largest, other.largest);
    write_times(mine, previous, out);
    previous = mine.before_token;
  }
  return !in_a.failed() && !in_b.failed();
}

bool merge_columns(const SharedParts& a, const SharedParts& b, const ColumnSpace& space,
                   ByteWriter& out) noexcept {
  Operand first(a), second(b);
  std::uint64_t written = 0;
  for (std::uint64_t i = 1; i <= a.tokens; ++i) {
    const std::uint64_t mine = first.values.varint(), other = second.values.varint();
    const bool first_varies = first.next_column == i, second_varies = second.next_column == i;
    if (mine == other && !first_varies && !second_varies) continue;
    RunBuilder builder(space.joined, 1);
    if (!first.add(mine, first_varies, space.read, builder) ||
        !second.add(other, second_varies, space.read, builder)) {
      return false;
    }
    out.varint(i - written);
    written = i;
    if (!write_runs(space.joined, builder.runs(), space.encoder, out)) return false;
  }
  out.varint(0);
  return !first.values.failed() && !second.values.failed();
}

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

// The bytes that `read` passed over.
template <typename Read>
std::span<const std::byte> passed(std::span<const std::byte> payload, ByteReader& in,
                                  Read read) noexcept {
  const std::size_t from = in.bytes_used();
  read();
  return payload.subspan(from, in.bytes_used() - from);
}

void pass_runs(ByteReader& in) noexcept {
  const std::uint64_t runs = in.varint();
  if (runs == 1) {
    in.varint();
    in.varint();
  } else {
    patterns::skip_tuples(in, runs, kRunWidth);
  }
}

}  // namespace

std::size_t read_runs(ByteReader& in, std::uint64_t n, std::span<std::int64_t> words) noexcept {
  const std::uint64_t runs = in.varint();
  if (in.failed() || runs == 0 || runs > n || runs * kWordsPerRun > words.size()) return 0;
  if (runs == 1) {
    words[0] = static_cast<std::int64_t>(n);
    words[1] = in.svarint();
    words[2] = in.svarint();
    return in.failed() ? 0 : 1;
  }
  if (!patterns::decode_tuples(in, runs, kRunWidth, words)) return 0;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < runs; ++i) {
    const auto ranks = static_cast<std::uint64_t>(words[i * kWordsPerRun]);
    if (ranks == 0 || ranks > n - sum) return 0;
    sum += ranks;
  }
  return sum == n ? runs : 0;
}

SharedTimes read_times(ByteReader& in, std::uint64_t previous_token) noexcept {
  SharedTimes times{};
  times.before_token = previous_token + in.varint();
  times.first_start = in.varint();
  times.last_end = times.first_start + in.varint();
  times.sum = in.varint();
  times.least = in.varint();
  times.largest = in.varint();
  return times;
}

bool SharedParts::read(std::span<const std::byte> payload) noexcept {
  ByteReader in(payload);
  type = static_cast<BlockType>(in.u8());
  ranks = in.varint();
  rank_runs = passed(payload, in, [&] { pass_runs(in); });
  tokens = in.varint();
  // Each token is a byte at least.
  if (in.failed() || ranks == 0 || ranks > UINT32_MAX || tokens > in.bytes_left()) return false;
  kinds = passed(payload, in, [&] {
    std::uint64_t known = 0;
    while (known < tokens && !in.failed()) {
      const std::uint64_t count = in.varint() / kTokenKinds;
      if (count == 0 || count > tokens - known) return in.fail();
      known += count;
    }
  });
  values = passed(payload, in, [&] {
    for (std::uint64_t i = 0; i < tokens && !in.failed(); ++i) in.varint();
  });
  times = in.varint();
  if (times > in.bytes_left()) return false;
  time_values = passed(payload, in, [&] {
    for (std::uint64_t i = 0; i < 6 * times && !in.failed(); ++i) in.varint();
  });
  columns = in.take(in.bytes_left());
  return !in.failed() && !columns.empty();
}

bool write_shared(BlockType type, std::uint64_t rank, const TraceBlockTokens& tokens,
                  const TokenSpace& space, ByteWriter& out) noexcept {
  out.u8(static_cast<std::uint8_t>(type));
  out.varint(1);
  const std::int64_t run[kWordsPerRun] = {1, static_cast<std::int64_t>(rank), 0};
  write_runs(run, 1, {}, out);
  out.varint(tokens.count);
  for (std::size_t i = 0; i < tokens.count;) {
    const TokenKind kind = space.kinds[i];
    std::size_t alike = 1;
    while (i + alike < tokens.count && space.kinds[i + alike] == kind) ++alike;
    out.varint(alike * kTokenKinds + static_cast<unsigned>(kind));
    i += alike;
  }
  for (std::size_t i = 0; i < tokens.count; ++i) out.varint(space.values[i]);
  out.varint(tokens.times);
  std::uint64_t previous = 0;
  for (std::size_t i = 0; i < tokens.times; ++i) {
    write_times(space.times[i], previous, out);
    previous = space.times[i].before_token;
  }
  out.varint(0);
  return !out.overflowed();
}

std::size_t merge_scratch_bytes(std::uint64_t ranks) noexcept {
  return (2 * ranks + 1) * kWordsPerRun * 8 + patterns::scratch_bytes(ranks, kRunWidth) + 64;
}

bool merge_shared(const SharedParts& a, const SharedParts& b, std::span<std::byte> scratch,
                  ByteWriter& out) noexcept {
  const std::uint64_t ranks = a.ranks + b.ranks;
  if (a.type != b.type || a.tokens != b.tokens || a.times != b.times ||
      !same_bytes(a.kinds, b.kinds) || scratch.size() < merge_scratch_bytes(ranks)) {
    return false;
  }
  const ColumnSpace space(scratch, ranks);
  const ByteWriter::Mark start = out.mark();
  out.u8(static_cast<std::uint8_t>(a.type));
  out.varint(ranks);
  bool whole = merge_ranks(a, b, space, out);
  out.varint(a.tokens);
  out.raw(a.kinds.data(), a.kinds.size());
  out.raw(a.values.data(), a.values.size());
  out.varint(a.times);
  whole = whole && merge_times(a, b, out) && merge_columns(a, b, space, out);
  if (whole && !out.overflowed()) return true;
  out.rewind(start);
  return false;
}

}  // namespace iotune::recorder
