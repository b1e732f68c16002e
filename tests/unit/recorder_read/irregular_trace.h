// A trace of calls that no loop describes: as long to read as there are calls.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/recorder_read/made_files.h"

namespace iotune::recorder::made {

inline constexpr std::int64_t kHdf5File = 16777216, kDataset = 83886080, kObject = 1;
inline constexpr int kBatches = 4, kCallsABatch = 900;

// A batch of a rank that moves bytes at drawn places of three files, by HDF5, MPI-IO and POSIX.
inline RingBytes batch_of(int batch, std::mt19937_64& draw) {
  RingBytes ring;
  std::uint64_t now = 1000 + static_cast<std::uint64_t>(batch) * 10'000'000;
  const auto control = [&](CallNumber number, std::vector<std::int64_t> numbers,
                           const std::string& text = {}) {
    ring.add(number, {now += 10, 5}, {}, std::move(numbers), text, true);
  };
  const auto file_note = [&](std::int64_t number, std::int64_t handle, std::int64_t layer,
                             const std::string& path) {
    ring.add(CallNumber::kiotune_file, {now += 10, 0}, {number}, {handle, layer}, path, true);
  };
  if (batch == 0) {
    control(CallNumber::kopen, {66, 0, 5}, "/scratch/posix.dat");
    file_note(1, 5, 3, "/scratch/posix.dat");
    control(CallNumber::kMPI_File_open, {1, 2, 0, 777, 0}, "mpi.dat");
    file_note(2, 777, 1, "/scratch/mpi.dat");
    control(CallNumber::kH5Fcreate, {2, 0, 167772177, kHdf5File}, "a.h5");
    file_note(3, kHdf5File, 0, "/scratch/a.h5");
    std::string names = "/scratch/a.h5";
    names += '\0';
    names += "/Data1";
    ring.add(CallNumber::kiotune_dataset, {now += 10, 0}, {kObject},
             {kDataset, 4, 0, 1, 0, 1, 1000000, -1}, names, true);
  }
  for (int i = 0; i < kCallsABatch; ++i) {
    const auto at = static_cast<std::int64_t>(draw() % 100000);
    now += 100;
    if (i % 3 == 0) {
      ring.add(CallNumber::kpwrite, {now, 20}, {5, 1}, {8, 8 * at, 8});
    } else if (i % 3 == 1) {
      ring.add(CallNumber::kMPI_File_write_at, {now, 40}, {}, {777, 16 * at, 16, 1275068685, 0, 1});
    } else {
      ring.add(CallNumber::kH5Dwrite, {now, 60}, {},
               {kDataset, 50331660, 67108868, 67108867, 0, 0, kObject, 0, 4, 3, 2, 1, at, 1, 1, 3});
    }
  }
  if (batch == kBatches - 1) {
    control(CallNumber::kH5Fclose, {kHdf5File, 0});
    control(CallNumber::kMPI_File_close, {777, 0});
  }
  return ring;
}

// Of three ranks.
inline std::vector<std::byte> irregular_trace() {
  std::mt19937_64 draw(7);
  auto trace = trace_head();
  for (int rank = 0; rank < 3; ++rank) {
    add_block(trace, BlockType::kProcess, bytes_of(process_text(100 + rank, rank)));
    for (int batch = 0; batch < kBatches; ++batch) {
      const auto epoch = static_cast<std::uint32_t>(batch);
      add_block(trace, BlockType::kEvents, encoded(batch_of(batch, draw).bytes(), 0, epoch));
    }
    add_block(trace, BlockType::kEnd, bytes_of("end=exit\n"));
  }
  return trace;
}

}  // namespace iotune::recorder::made
