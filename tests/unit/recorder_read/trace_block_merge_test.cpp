// Blocks that ranks merged in a tree, and the block of each rank that is made of them again.
#include "recorder/trace_block_merge.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <random>

#include "recorder/read/join.h"
#include "recorder/read/trace_blocks/events_decoder.h"
#include "recorder/read/trace_blocks/shared_ranks.h"
#include "recorder/read/trace_reader.h"
#include "tests/unit/recorder_read/made_files.h"

namespace iotune::recorder {
namespace {

using made::RingBytes;
using Bytes = std::vector<std::byte>;

Bytes message_of(BlockType type, const Bytes& payload, std::uint64_t rank,
                 std::uint64_t ordinal = 0) {
  std::vector<std::uint64_t> scratch(rank_block_scratch_bytes() / 8 + 1);
  Bytes message(64 + 16 * payload.size());
  patterns::ByteWriter out(message);
  if (!add_rank_block(type, payload, ordinal, rank, std::as_writable_bytes(std::span(scratch)),
                      out)) {
    return {};
  }
  message.resize(out.bytes_used());
  return message;
}

Bytes merged(const Bytes& a, const Bytes& b) {
  std::vector<std::uint64_t> scratch(merge_rank_blocks_scratch_bytes(a, b) / 8 + 1);
  Bytes out(kMergeRoom * (a.size() + b.size()));
  out.resize(merge_rank_blocks(a, b, std::as_writable_bytes(std::span(scratch)), out));
  return out;
}

// As the ranks do it: neighbours first.
Bytes merged_in_a_tree(std::vector<Bytes> messages) {
  for (std::size_t step = 1; step < messages.size(); step *= 2) {
    for (std::size_t i = 0; i + step < messages.size(); i += 2 * step) {
      messages[i] = merged(messages[i], messages[i + step]);
    }
  }
  return messages[0];
}

std::map<std::int64_t, std::vector<Bytes>> blocks_by_rank(const Bytes& message,
                                                          std::size_t* entries = nullptr) {
  std::map<std::int64_t, std::vector<Bytes>> blocks;
  RankBlockCursor cursor(message);
  while (cursor.next()) {
    if (entries != nullptr) ++*entries;
    const auto shared = SharedRanks::read(Bytes(cursor.payload().begin(), cursor.payload().end()));
    EXPECT_TRUE(shared.has_value());
    if (!shared) continue;
    for (std::size_t k = 0; k < shared->size(); ++k) {
      blocks[shared->rank(k)].push_back(shared->payload(k));
    }
  }
  EXPECT_FALSE(cursor.failed());
  return blocks;
}

struct Decoded {
  std::vector<Call> calls;
  std::vector<std::unique_ptr<CallStream>> streams;
};
Decoded decode(const Bytes& payload) {
  Decoded decoded;
  EXPECT_TRUE(decode_events(payload, decoded.calls, decoded.streams));
  return decoded;
}

// All but times.
void expect_same_calls(const Bytes& expected, const Bytes& actual) {
  const Decoded a = decode(expected), b = decode(actual);
  ASSERT_EQ(a.calls.size(), b.calls.size());
  for (std::size_t i = 0; i < a.calls.size(); ++i) {
    ASSERT_EQ(a.calls[i].name(), b.calls[i].name()) << i;
    ASSERT_EQ(a.calls[i].layers(), b.calls[i].layers());
    ASSERT_EQ(a.calls[i].keys(), b.calls[i].keys());
    ASSERT_EQ(a.calls[i].texts(), b.calls[i].texts());
    ASSERT_TRUE(std::equal(a.calls[i].numbers.begin(), a.calls[i].numbers.end(),
                           b.calls[i].numbers.begin(), b.calls[i].numbers.end()));
  }
}

// A rank of a regular program: its own slab of a shared file, in rows.
Bytes regular_rank(std::int64_t rank, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  RingBytes ring;
  std::uint64_t now = 1000;
  const auto add = [&](CallNumber call, std::vector<std::int64_t> keys,
                       std::vector<std::int64_t> numbers, const std::string& text = {},
                       bool control = false) {
    const std::uint64_t duration = 50 + random() % 500;
    ring.add(call, {now, duration}, std::move(keys), std::move(numbers), text, control);
    now += duration + random() % 100;
  };
  add(CallNumber::kopen, {}, {577, 420, 9}, "/scratch/run/out." + std::to_string(rank) + ".dat",
      true);
  for (std::int64_t i = 0; i < 40; ++i) {
    add(CallNumber::kpwrite, {9, 3}, {512, rank * 4096 + i * 1048576, 512});
    if (i % 8 == 7) add(CallNumber::kpread, {9, 3}, {64, rank * 64, 64});
  }
  add(CallNumber::kclose, {9, 3}, {0}, {}, true);
  return made::encoded(ring.bytes(), 0, 0, false);
}

TEST(TraceBlockMerge, regular_ranks_become_few_blocks_that_do_not_grow) {
  std::size_t bytes_before = 0;
  for (const std::int64_t ranks : {1, 2, 7, 64, 1000}) {
    std::vector<Bytes> messages, payloads;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      payloads.push_back(regular_rank(rank, static_cast<std::uint64_t>(rank)));
      messages.push_back(
          message_of(BlockType::kEvents, payloads.back(), static_cast<std::uint64_t>(rank)));
      ASSERT_FALSE(messages.back().empty());
    }
    const Bytes message = merged_in_a_tree(messages);
    std::size_t entries = 0;
    const auto blocks = blocks_by_rank(message, &entries);
    ASSERT_EQ(blocks.size(), static_cast<std::size_t>(ranks));
    for (const auto& [rank, own] : blocks) {
      ASSERT_EQ(own.size(), 1U);
      expect_same_calls(payloads[static_cast<std::size_t>(rank)], own[0]);
    }
    // Rank 0, whose offsets begin at 0, may differ in form.
    EXPECT_LE(entries, 3U) << ranks;
    if (ranks == 1000) {
      EXPECT_LT(message.size(), 3 * bytes_before);
    }
    if (ranks == 64) bytes_before = message.size();
  }
}

TEST(TraceBlockMerge, times_are_those_of_all_ranks) {
  std::vector<Bytes> messages;
  std::uint64_t sum = 0, calls = 0;
  std::uint64_t first = UINT64_MAX, last = 0, least = UINT64_MAX, largest = 0;
  for (std::uint64_t rank = 0; rank < 13; ++rank) {
    RingBytes ring;
    std::uint64_t now = 500 + 7 * rank;
    for (int i = 0; i < 30; ++i) {
      const std::uint64_t duration = 100 + (rank * 31 + static_cast<std::uint64_t>(i) * 17) % 90;
      ring.add(CallNumber::kpwrite, {now, duration}, {9, 3}, {64, i * 64, 64});
      first = std::min(first, now);
      last = std::max(last, now + duration);
      least = std::min(least, duration);
      largest = std::max(largest, duration);
      sum += duration;
      ++calls;
      now += duration + 3;
    }
    messages.push_back(
        message_of(BlockType::kEvents, made::encoded(ring.bytes(), 0, 0, false), rank));
  }
  const Bytes message = merged_in_a_tree(messages);
  RankBlockCursor cursor(message);
  ASSERT_TRUE(cursor.next());
  const auto shared = SharedRanks::read(Bytes(cursor.payload().begin(), cursor.payload().end()));
  ASSERT_TRUE(shared && shared->size() == 13);
  std::uint64_t shares = 0;
  for (std::size_t k = 0; k < 13; ++k) {
    const Bytes payload = shared->payload(k);
    patterns::ByteReader reader(payload);
    for (int i = 0; i < 3; ++i) reader.varint();
    EXPECT_EQ(reader.varint(), first);
    EXPECT_EQ(reader.varint(), 1U);
    reader.take(reader.varint());
    reader.varint();
    for (std::uint64_t keys = reader.varint(); keys > 0; --keys) reader.svarint();
    reader.take(reader.varint());
    reader.varint();
    EXPECT_EQ(reader.varint(), 30U);
    EXPECT_EQ(reader.varint(), 0U);
    EXPECT_EQ(reader.varint(), 0U);
    EXPECT_EQ(reader.varint(), last - first);
    shares += reader.varint();
    EXPECT_EQ(reader.varint(), least);
    EXPECT_EQ(reader.varint(), largest);
    ASSERT_FALSE(reader.failed());
  }
  EXPECT_EQ(shares, sum);
  EXPECT_EQ(calls, 13U * 30U);
}

TEST(TraceBlockMerge, process_texts_keep_every_byte) {
  std::vector<Bytes> messages;
  std::vector<std::string> texts;
  std::mt19937_64 random(3);
  for (int rank = 0; rank < 300; ++rank) {
    texts.push_back("pid=" + std::to_string(4000 + rank / 48 * 1000 + rank % 48) + "\nhost=nid00" +
                    std::to_string(100 + rank / 48) + "\nrank=" + std::to_string(rank) +
                    "\nzeros=007 0 00 0" + std::to_string(rank) +
                    "\nhuge=123456789012345678901234567890\nstart_ticks=" +
                    std::to_string(random() >> 20U) + "\n");
    messages.push_back(message_of(BlockType::kProcess, made::bytes_of(texts.back()),
                                  static_cast<std::uint64_t>(rank)));
  }
  const auto blocks = blocks_by_rank(merged_in_a_tree(messages));
  ASSERT_EQ(blocks.size(), 300U);
  for (const auto& [rank, own] : blocks) {
    ASSERT_EQ(own.size(), 1U);
    EXPECT_EQ(own[0], made::bytes_of(texts[static_cast<std::size_t>(rank)]));
  }
}

// Whatever the ranks did, each has its calls back.
TEST(TraceBlockMerge, of_random_ranks_nothing_is_lost) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 40; ++round) {
    const std::size_t ranks = 1 + random() % 20;
    std::vector<Bytes> messages;
    std::vector<std::vector<Bytes>> payloads(ranks);
    const bool alike = random() % 2 == 0;
    const std::uint64_t seed = random();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      std::mt19937_64 own(alike ? seed : random());
      Bytes message;
      for (std::uint32_t epoch = 0; epoch < 1 + seed % 3; ++epoch) {
        RingBytes ring;
        std::uint64_t now = 100;
        for (std::size_t i = 0; i < 1 + own() % 50; ++i) {
          std::vector<std::int64_t> numbers;
          for (std::size_t d = own() % 6; d > 0; --d) {
            numbers.push_back(static_cast<std::int64_t>(
                own() % 3 == 0 ? own() : own() % 9 * static_cast<std::uint64_t>(rank + 1)));
          }
          ring.add(static_cast<CallNumber>(own() % kCallCount), {now, own() % 90},
                   {static_cast<std::int64_t>(own() % 3)}, numbers,
                   own() % 3 == 0 ? "/a/b" + std::to_string(rank * own() % 13) : "",
                   own() % 2 == 0);
          now += 100;
        }
        payloads[rank].push_back(made::encoded(ring.bytes(), 0, epoch, false));
        const Bytes block = message_of(BlockType::kEvents, payloads[rank].back(), rank);
        ASSERT_FALSE(block.empty());
        message.insert(message.end(), block.begin(), block.end());
      }
      messages.push_back(message);
    }
    const auto blocks = blocks_by_rank(merged_in_a_tree(messages));
    ASSERT_EQ(blocks.size(), ranks);
    for (const auto& [rank, own] : blocks) {
      const std::vector<Bytes>& expected = payloads[static_cast<std::size_t>(rank)];
      ASSERT_EQ(own.size(), expected.size());
      std::map<std::uint64_t, Bytes> by_epoch;
      for (const Bytes& payload : own) {
        patterns::ByteReader in(payload);
        in.varint();
        by_epoch[in.varint()] = payload;
      }
      for (std::size_t epoch = 0; epoch < expected.size(); ++epoch) {
        expect_same_calls(expected[epoch], by_epoch.at(epoch));
      }
    }
  }
}

TEST(TraceBlockMerge, what_is_not_regular_stays_as_it_is) {
  std::mt19937_64 random(5);
  std::vector<Bytes> messages;
  std::size_t sum = 0;
  for (std::uint64_t rank = 0; rank < 64; ++rank) {
    RingBytes ring;
    for (int i = 0; i < 300; ++i) {
      ring.add(CallNumber::kpread, {static_cast<std::uint64_t>(i) * 10, 5}, {9, 3},
               {64, static_cast<std::int64_t>(random() % 1000000 * 64), 64});
    }
    messages.push_back(
        message_of(BlockType::kEvents, made::encoded(ring.bytes(), 0, 0, false), rank));
    sum += messages.back().size();
  }
  const Bytes message = merged_in_a_tree(messages);
  EXPECT_LE(message.size(), sum);
  EXPECT_EQ(blocks_by_rank(message).size(), 64U);
}

TEST(TraceBlockMerge, damage_is_never_more_than_an_error) {
  std::vector<Bytes> messages;
  for (std::uint64_t rank = 0; rank < 9; ++rank) {
    messages.push_back(
        message_of(BlockType::kEvents, regular_rank(static_cast<std::int64_t>(rank), rank), rank));
  }
  const Bytes whole = merged_in_a_tree(messages);
  const Bytes other = message_of(BlockType::kEvents, regular_rank(9, 9), 9);
  std::size_t noticed = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned change : {1U, 0x80U, 0xffU}) {
      Bytes damaged = whole;
      damaged[at] ^= static_cast<std::byte>(change);
      noticed += merged(damaged, other).empty() ? 1 : 0;
      RankBlockCursor cursor(damaged);
      while (cursor.next()) {
        const auto shared =
            SharedRanks::read(Bytes(cursor.payload().begin(), cursor.payload().end()));
        if (!shared || shared->size() > 100) continue;
        for (std::size_t k = 0; k < shared->size(); ++k) shared->payload(k);
      }
    }
  }
  EXPECT_GT(noticed, 0U);
}

// The same five ranks twice: one by one, and as blocks that they share.
struct Traces {
  Bytes apart = made::trace_head(), together = made::trace_head();
};
constexpr int kFirstPid = 1 << 30;

Traces traces_of_five_ranks() {
  Traces traces;
  std::vector<Bytes> messages;
  for (int rank = 0; rank < 5; ++rank) {
    const Bytes process = made::bytes_of(made::process_text(kFirstPid + rank, rank));
    const Bytes more = made::bytes_of("mpi=MPICH%204.0.2\nrank=" + std::to_string(rank) + "\n");
    const Bytes events = regular_rank(rank, 1), end = made::bytes_of("end=finalize\ncalls=47\n");
    Bytes message;
    const auto add = [&](BlockType type, const Bytes& payload, std::uint64_t ordinal) {
      made::add_block(traces.apart, type, payload);
      const Bytes one = message_of(type, payload, static_cast<std::uint64_t>(rank), ordinal);
      message.insert(message.end(), one.begin(), one.end());
    };
    add(BlockType::kProcess, process, 0);
    add(BlockType::kProcess, more, 1);
    add(BlockType::kEvents, events, 0);
    add(BlockType::kEnd, end, 0);
    messages.push_back(message);
  }
  const Bytes message = merged_in_a_tree(messages);
  RankBlockCursor cursor(message);
  while (cursor.next()) {
    made::add_block(traces.together, BlockType::kShared,
                    Bytes(cursor.payload().begin(), cursor.payload().end()));
  }
  return traces;
}

TEST(TraceBlockMerge, a_trace_with_shared_blocks_reads_like_one_without) {
  const auto [apart, together] = traces_of_five_ranks();
  EXPECT_LT(together.size(), apart.size());
  const made::Folder folder;
  const auto one = TraceReader::open(folder.file("apart.iotrace", apart));
  const auto two = TraceReader::open(folder.file("together.iotrace", together));
  ASSERT_TRUE(one && two);
  EXPECT_TRUE(two->warnings().empty());
  ASSERT_EQ(two->process_count(), one->process_count());
  for (std::size_t i = 0; i < one->process_count(); ++i) {
    EXPECT_EQ(two->head(i).attributes, one->head(i).attributes);
    EXPECT_EQ(two->head(i).end, one->head(i).end);
    EXPECT_EQ(two->head(i).calls, one->head(i).calls);
    const ProcessCalls a = one->read(i), b = two->read(i);
    EXPECT_TRUE(b.damage.empty());
    ASSERT_EQ(a.calls.size(), b.calls.size());
    for (std::size_t k = 0; k < a.calls.size(); ++k) {
      EXPECT_EQ(a.calls[k].name(), b.calls[k].name());
      EXPECT_EQ(a.calls[k].texts(), b.calls[k].texts());
    }
  }
}

// What a process did behind the end of its run is joined: its ranks' blocks stay as they are.
TEST(TraceBlockMerge, leftovers_do_not_take_shared_blocks_apart) {
  const Traces traces = traces_of_five_ranks();
  const made::Folder folder;
  const std::string path = folder.file("run.iotrace", traces.together);
  Bytes late;
  made::add_block(late, BlockType::kProcess, made::bytes_of(made::process_text(kFirstPid + 3, 3)));
  RingBytes ring;
  for (std::int64_t i = 0; i < 4; ++i) ring.add(CallNumber::kpwrite, {100, 5}, {4, 1}, {64, i, 64});
  made::add_block(late, BlockType::kEvents, made::encoded(ring.bytes(), 0, 99));
  made::add_block(late, BlockType::kEnd, made::bytes_of("end=exit\ncalls=51\n"));
  const std::string buffer =
      folder.file("late.iobuf", made::buffer_bytes(kFirstPid + 3, late, {}, 1));
  const auto before = TraceReader::open(path);
  ASSERT_TRUE(before);
  for (int again = 0; again < 2; ++again) {  // a buffer may be joined twice
    const Result<JoinReport> report = join({buffer}, path, false);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->processes, 5U);
    EXPECT_EQ(report->calls, 5 * before->head(0).calls + 4);
    // Two text blocks and one of calls are more.
    EXPECT_LT(std::filesystem::file_size(path), traces.together.size() + late.size() + 256);
    const auto after = TraceReader::open(path);
    ASSERT_TRUE(after);
    EXPECT_TRUE(after->warnings().empty());
    ASSERT_EQ(after->process_count(), 5U);
    for (std::size_t rank = 0; rank < 5; ++rank) {
      const std::uint64_t more = rank == 3 ? 4 : 0;
      EXPECT_EQ(after->head(rank).calls, before->head(rank).calls + more);
      EXPECT_EQ(after->read(rank).calls.size(), before->read(rank).calls.size() + more);
      EXPECT_EQ(after->head(rank).attributes.at("mpi"), "MPICH 4.0.2");
      EXPECT_EQ(after->head(rank).end.at("end"), rank == 3 ? "exit" : "finalize");
    }
  }
}

}  // namespace
}  // namespace iotune::recorder
