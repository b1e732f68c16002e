#include <gtest/gtest.h>

#include <random>

#include "core/os/host_label.h"
#include "recorder/call_table.h"
#include "recorder/read/format_call.h"
#include "recorder/read/join.h"
#include "recorder/read/trace_reader.h"
#include "tests/unit/recorder_read/made_files.h"

namespace iotune::recorder {
namespace {

using made::add_block;
using made::bytes_of;
using made::encoded;
using made::Folder;
using made::process_text;
using made::RingBytes;

RingBytes writes(std::uint64_t start, int count, std::int64_t base = 0) {
  RingBytes ring;
  for (int i = 0; i < count; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    ring.add(CallNumber::kpwrite, {start + 10 * n, 5}, {4, 1}, {64, base + 64 * i, 64});
  }
  return ring;
}

ProcessCalls only_process(const std::string& path) {
  Result<TraceReader> reader = TraceReader::open(path);
  EXPECT_TRUE(reader) << (reader ? "" : reader.error().text());
  if (!reader || reader->process_count() != 1) return {};
  return reader->read(0);
}

TEST(Reader, AKilledProcessKeepsItsBlocksAndItsRing) {
  const Folder folder;
  std::vector<std::byte> blocks;
  add_block(blocks, BlockType::kProcess, bytes_of(process_text(1 << 30, 3, "r", call_table_crc())));
  add_block(blocks, BlockType::kEvents, encoded(writes(100, 4).bytes(), 0, 0));
  const auto path = folder.file(
      "a.iobuf", made::buffer_bytes(1 << 30, blocks, {{0, 1, writes(200, 3, 256).bytes()}}));
  const ProcessCalls process = only_process(path);
  ASSERT_EQ(process.calls.size(), 7U);
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(process.calls[static_cast<std::size_t>(i)].numbers[1], 64 * i);
  }
  EXPECT_EQ(process.calls[6].start_ns, 220U);
  EXPECT_EQ(process.rank(), 3);
  EXPECT_EQ(process.text("program"), "/opt/a b");
  EXPECT_TRUE(process.end.empty());
  EXPECT_TRUE(process.damage.empty());
}

TEST(Reader, ARingWhoseEpochIsEncodedIsNotCountedTwice) {
  const Folder folder;
  std::vector<std::byte> blocks;
  add_block(blocks, BlockType::kProcess, bytes_of(process_text(1 << 30, 0, "r", call_table_crc())));
  const RingBytes ring = writes(100, 4);
  add_block(blocks, BlockType::kEvents, encoded(ring.bytes(), 0, 5));
  const auto path = folder.file(
      "a.iobuf", made::buffer_bytes(1 << 30, blocks, {{0, 5, ring.bytes()}, {1, 5, ring.bytes()}}));
  EXPECT_EQ(only_process(path).calls.size(), 8U);  // thread 1 has an epoch 5 of its own
}

TEST(Reader, WhatIsBehindADamagedRecordIsReported) {
  const Folder folder;
  std::vector<std::byte> blocks;
  add_block(blocks, BlockType::kProcess, bytes_of(process_text(1 << 30, 0, "r", call_table_crc())));
  std::vector<std::byte> ring = writes(100, 9).bytes();
  const std::size_t record_bytes = ring.size() / 9;
  ring[5 * record_bytes + 4] = ring[5 * record_bytes + 5] = std::byte{0x7f};  // no such function
  const auto path = folder.file("a.iobuf", made::buffer_bytes(1 << 30, blocks, {{0, 5, ring}}));
  const auto damage_in = [&](const std::string& file) {
    const ProcessCalls process = only_process(file);
    EXPECT_EQ(process.calls.size(), 5U);
    ASSERT_EQ(process.damage.size(), 1U);
    EXPECT_NE(process.damage[0].find(std::to_string(4 * record_bytes) + " bytes behind a damaged"),
              std::string::npos);
  };
  damage_in(path);
  // The trace that is made of it says so, too, and a second join says it once.
  const std::string out = folder.path("out.iotrace");
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(join({path}, out, false));
    damage_in(out);
  }
}

// A thread that goes on after the end was written has more than the copy in the block.
TEST(Reader, ARingThatWentOnBehindItsBlockHoldsItsCalls) {
  const Folder folder;
  std::vector<std::byte> blocks;
  add_block(blocks, BlockType::kProcess, bytes_of(process_text(1 << 30, 0, "r", call_table_crc())));
  add_block(blocks, BlockType::kEvents, encoded(writes(100, 4).bytes(), 0, 5));
  const auto path =
      folder.file("a.iobuf", made::buffer_bytes(1 << 30, blocks, {{0, 5, writes(100, 9).bytes()}}));
  EXPECT_EQ(only_process(path).calls.size(), 9U);
}

TEST(Reader, ARingOfAnotherTableIsLeftAlone) {
  const Folder folder;
  std::vector<std::byte> blocks;
  add_block(blocks, BlockType::kProcess, bytes_of(process_text(1 << 30, 0, "r", 12345)));
  const auto path =
      folder.file("a.iobuf", made::buffer_bytes(1 << 30, blocks, {{0, 0, writes(1, 4).bytes()}}));
  const ProcessCalls process = only_process(path);
  EXPECT_TRUE(process.calls.empty());
  ASSERT_EQ(process.damage.size(), 1U);
  EXPECT_NE(process.damage[0].find("another version"), std::string::npos);
}

TEST(Reader, ThreadsAreMergedByTimeAndKeepTheirOrder) {
  const Folder folder;
  auto trace = made::trace_head();
  add_block(trace, BlockType::kProcess, bytes_of(process_text(7, 0)));
  add_block(trace, BlockType::kEvents, encoded(writes(105, 5).bytes(), 1, 0));
  add_block(trace, BlockType::kEvents, encoded(writes(150, 5).bytes(), 0, 1));
  add_block(trace, BlockType::kEvents, encoded(writes(100, 5).bytes(), 0, 0));
  add_block(trace, BlockType::kEnd, bytes_of("end=exit\ncalls=15\ndropped=2\n"));
  const ProcessCalls process = only_process(folder.file("t.iotrace", trace));
  ASSERT_EQ(process.calls.size(), 15U);
  for (std::size_t i = 1; i < process.calls.size(); ++i) {
    EXPECT_LE(process.calls[i - 1].end_ns(), process.calls[i].end_ns());
  }
  EXPECT_EQ(process.dropped, 2U);
  EXPECT_EQ(process.end.at("end"), "exit");
}

TEST(Reader, DepthIsTheLayersAround) {
  const Folder folder;
  RingBytes ring;
  constexpr std::uint8_t kHdf5 = 1, kMpi = 2, kPosix = 8;
  ring.add(CallNumber::kpwrite, {120, 5}, {4, 1}, {8, 0, 8}, "", false, kHdf5 | kMpi);
  ring.add(CallNumber::kiotune_file, {126, 0}, {1}, {4, 3}, "/x", true, kHdf5 | kMpi | kPosix);
  ring.add(CallNumber::kpwrite, {130, 5}, {4, 1}, {8, 8, 8}, "", false, kHdf5 | kMpi);
  ring.add(CallNumber::kMPI_File_sync, {110, 30}, {}, {9, 0}, "", true, kHdf5);
  ring.add(CallNumber::kH5Fflush, {100, 50}, {}, {1, 0, 0}, "", true, 0);
  ring.add(CallNumber::kH5Fclose, {200, 5}, {}, {1, 0}, "", true, 0);
  auto trace = made::trace_head();
  add_block(trace, BlockType::kProcess, bytes_of(process_text(7, 0)));
  add_block(trace, BlockType::kEvents, encoded(ring.bytes()));
  const ProcessCalls process = only_process(folder.file("t.iotrace", trace));
  EXPECT_EQ(depth_of(process.calls[0]), 2U);
  EXPECT_EQ(depth_of(process.calls[1]), 2U);
}

// A joined trace of two processes, and how many calls each batch has.
std::vector<std::byte> two_processes() {
  auto trace = made::trace_head();
  for (int p = 0; p < 2; ++p) {
    add_block(trace, BlockType::kProcess, bytes_of(process_text(7 + p, p)));
    for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
      add_block(trace, BlockType::kEvents,
                encoded(writes(100 * epoch, 3, 1000 * p).bytes(), 0, epoch));
    }
    add_block(trace, BlockType::kEnd, bytes_of("end=exit\n"));
  }
  return trace;
}

TEST(Reader, DamageOfAnyByteLosesOneBlockAndIsReported) {
  const Folder folder;
  const auto trace = two_processes();
  for (std::size_t i = 0; i < trace.size(); ++i) {
    auto damaged = trace;
    damaged[i] ^= std::byte{0x41};
    const auto path = folder.file("t.iotrace", damaged);
    const Result<TraceReader> reader = TraceReader::open(path);
    if (i < kTraceHeadBytes) {
      ASSERT_FALSE(reader);
      EXPECT_EQ(reader.error().path, path);
      continue;
    }
    ASSERT_TRUE(reader) << i;
    std::size_t calls = 0;
    for (std::size_t p = 0; p < reader->process_count(); ++p) {
      const ProcessCalls process = reader->read(p);
      calls += process.calls.size();
      // Calls never go over to the other process.
      for (const Call& call : process.calls) {
        if (process.attributes.contains("rank")) {
          EXPECT_EQ(call.numbers[1] / 1000, process.rank()) << i;
        }
      }
    }
    EXPECT_GE(calls, 15U) << i;
    const bool padding = calls == 18 && reader->warnings().empty();
    EXPECT_TRUE(padding || !reader->warnings().empty()) << i;
  }
}

TEST(Reader, TruncationAnywhereKeepsWhatIsBefore) {
  const Folder folder;
  const auto trace = two_processes();
  std::size_t before = 0;
  for (std::size_t size = kTraceHeadBytes; size < trace.size(); size += 3) {
    auto cut = trace;
    cut.resize(size);
    const Result<TraceReader> reader = TraceReader::open(folder.file("t.iotrace", cut));
    ASSERT_TRUE(reader);
    std::size_t calls = 0;
    for (std::size_t p = 0; p < reader->process_count(); ++p) calls += reader->read(p).calls.size();
    EXPECT_GE(calls, before);
    before = calls;
  }
  EXPECT_EQ(before, 18U);
}

TEST(Reader, ADamagedBufferIsNeverACrash) {
  const Folder folder;
  std::vector<std::byte> blocks;
  add_block(blocks, BlockType::kProcess, bytes_of(process_text(1 << 30, 3)));
  add_block(blocks, BlockType::kEvents, encoded(writes(100, 4).bytes(), 0, 0));
  const auto buffer = made::buffer_bytes(1 << 30, blocks, {{0, 1, writes(200, 3).bytes()}});
  std::mt19937_64 random(5);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < 256; ++i) places.push_back(i);
  for (std::size_t i = 8192; i < buffer.size(); i += 23) places.push_back(i);
  for (const std::size_t i : places) {
    auto damaged = buffer;
    damaged[i] ^= static_cast<std::byte>(1 + random() % 255);
    const Result<TraceReader> reader = TraceReader::open(folder.file("a.iobuf", damaged));
    if (!reader) continue;
    for (std::size_t p = 0; p < reader->process_count(); ++p) {
      for (const Call& call : reader->read(p).calls) EXPECT_FALSE(format_call(call).empty());
    }
  }
  for (std::size_t size = 0; size < buffer.size(); size += 211) {
    auto cut = buffer;
    cut.resize(size);
    const Result<TraceReader> reader = TraceReader::open(folder.file("a.iobuf", cut));
    if (reader) {
      (void)reader->read(0);
    }
  }
}

TEST(Reader, WhatIsNoTraceIsAnErrorThatNamesTheFile) {
  const Folder folder;
  for (const auto& path :
       {folder.path("missing"), folder.file("text", bytes_of("hello world, hello")),
        folder.file("empty", {}), std::string("/tmp")}) {
    const Result<TraceReader> reader = TraceReader::open(path);
    ASSERT_FALSE(reader);
    EXPECT_NE(reader.error().text().find(path), std::string::npos);
  }
}

std::vector<std::byte> buffer_of(int pid, int rank, const std::string& run, int blocks_of_calls,
                                 bool ring) {
  std::vector<std::byte> blocks;
  add_block(blocks, BlockType::kProcess, bytes_of(process_text(pid, rank, run)));
  for (int i = 0; i < blocks_of_calls; ++i) {
    add_block(blocks, BlockType::kEvents,
              encoded(writes(100, 4).bytes(), 0, static_cast<std::uint32_t>(i)));
  }
  std::vector<made::MadeRing> rings;
  if (ring)
    rings.push_back({0, static_cast<std::uint32_t>(blocks_of_calls), writes(900, 2).bytes()});
  return made::buffer_bytes(static_cast<std::uint32_t>(pid), blocks, rings, 1);
}

TEST(Join, BuffersOfARunBecomeOneTrace) {
  const Folder folder;
  const std::string out = folder.path("out.iotrace");
  const auto second = folder.file("b.iobuf", buffer_of(1 << 30, 1, "r", 1, true));
  const auto first = folder.file("a.iobuf", buffer_of((1 << 30) + 1, 0, "r", 2, false));
  Result<JoinReport> report = join({second, first}, out, false);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->processes, 2U);
  EXPECT_EQ(report->calls, 14U);
  EXPECT_EQ(std::filesystem::status(out).permissions() & std::filesystem::perms::all,
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const Result<TraceReader> reader = TraceReader::open(out);
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->warnings().empty());
  EXPECT_EQ(reader->read(0).rank(), 0);
  EXPECT_EQ(reader->read(1).calls.size(), 6U);
  EXPECT_TRUE(std::filesystem::exists(first));

  // Again, with one that has grown and one more: nothing counts twice.
  folder.file("a.iobuf", buffer_of((1 << 30) + 1, 0, "r", 3, false));
  const auto third = folder.file("c.iobuf", buffer_of((1 << 30) + 2, 2, "r", 1, false));
  report = join({first, third}, out, true);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->processes, 3U);
  EXPECT_EQ(report->calls, 22U);

  // Another run's trace is replaced.
  const auto other = folder.file("d.iobuf", buffer_of((1 << 30) + 3, 0, "other", 1, false));
  report = join({other}, out, false);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->calls, 4U);
}

TEST(Join, WhatIsNoTraceIsNotReplaced) {
  const Folder folder;
  const auto precious = folder.file("precious", bytes_of("not a trace at all, but dear"));
  const auto buffer = folder.file("a.iobuf", buffer_of(1 << 30, 0, "r", 1, false));
  const Result<JoinReport> report = join({buffer}, precious, true);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().path, precious);
  EXPECT_EQ(std::filesystem::file_size(precious), 28U);
  EXPECT_TRUE(std::filesystem::exists(buffer));
  EXPECT_FALSE(join({buffer}, folder.path("no/such/folder/x"), false));
  EXPECT_FALSE(join({folder.path("missing")}, folder.path("out"), false));
}

TEST(HostLabel, IsShortAndOfLettersDigitsAndDashes) {
  const auto label_of = [](const char* node_name) {
    std::string label;
    make_host_label(node_name, [&](char letter) { label += letter; });
    return label;
  };
  EXPECT_EQ(label_of("n1.cluster.org"), "n1");
  EXPECT_EQ(label_of("login_1-b"), "login-1-b");
  EXPECT_EQ(label_of("gr\xc3\xb6\xc3\x9f"
                     "e"),
            "gr----e");
  EXPECT_EQ(label_of(""), "node");
  EXPECT_EQ(label_of(".org"), "node");
}

TEST(Join, ABufferInUseIsKept) {
  const Folder folder;
  std::vector<std::byte> blocks;
  add_block(blocks, BlockType::kProcess,
            bytes_of("pid=" + std::to_string(::getpid()) + "\nrun=r\nstart_ticks=0\n"));
  add_block(blocks, BlockType::kEvents, encoded(writes(100, 4).bytes()));
  const auto path = folder.file(
      "made.1.iobuf", made::buffer_bytes(static_cast<std::uint32_t>(::getpid()), blocks, {}));
  const Result<JoinReport> report = join({path}, folder.path("out"), true);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->removed, 0U);
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_FALSE(report->warnings.empty());
}

std::string formatted(const RingBytes& ring) {
  const Folder folder;
  auto trace = made::trace_head();
  add_block(trace, BlockType::kProcess, bytes_of(process_text(7, 0)));
  add_block(trace, BlockType::kEvents, encoded(ring.bytes()));
  const ProcessCalls process = only_process(folder.file("t.iotrace", trace));
  std::string text;
  for (const Call& call : process.calls) text += format_call(call) + "\n";
  return text;
}

TEST(Format, CallsReadAsInFigure2) {
  RingBytes ring;
  ring.add(CallNumber::kH5Pcreate, {}, {}, {11, 167772177}, "H5P_FILE_ACCESS", true);
  ring.add(CallNumber::kH5Fcreate, {}, {}, {2, 0, 167772177, 16777216}, "output/ParaEg0.h5", true);
  ring.add(CallNumber::kH5Screate_simple, {}, {}, {2, 2, 24, 24, -1, 67108866}, "", true);
  ring.add(CallNumber::kH5Sselect_hyperslab, {}, {},
           {67108867, 0, 2, 0, 0, 2, 1, 1, 2, 6, 24, -1, 0}, "", true);
  ring.add(
      CallNumber::kH5Dwrite, {}, {},
      {83886080, 50331660, 67108868, 67108867, 0, 0, 1, 1, 4, 144, 2, 2, 0, 0, 1, 1, 6, 24, 1, 1});
  ring.add(CallNumber::kH5Fclose, {}, {}, {16777216, 0}, "", true);
  ring.add(CallNumber::kpwrite, {}, {5, 1}, {100, 4096, 100});
  EXPECT_EQ(formatted(ring),
            "H5Pcreate (H5P_FILE_ACCESS) 167772177\n"
            "H5Fcreate (output/ParaEg0.h5,0x2,0,167772177) 16777216\n"
            "H5Screate_simple (2,{24;24},NULL) 67108866\n"
            "H5Sselect_hyperslab (67108867,0,{0;0},{1;1},{6;24},NULL) 0\n"
            "H5Dwrite (83886080,50331660,67108868,67108867,0) 0 "
            "[regular start={0;0} stride={1;1} count={6;24} block={1;1}; collective]\n"
            "H5Fclose (16777216) 0\n"
            "pwrite (5,100,4096) 100\n");
}

TEST(Format, WordsThatDoNotFitTheSignatureAreShownAsTheyAre) {
  RingBytes ring;
  ring.add(CallNumber::kH5Fcreate, {}, {3}, {2, 0}, "a\nb", true);
  EXPECT_EQ(formatted(ring), "H5Fcreate (3,2,0,a\\x0ab)\n");
}

}  // namespace
}  // namespace iotune::recorder
