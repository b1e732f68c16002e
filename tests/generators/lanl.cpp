// The anonymous applications of Los Alamos National Laboratory.
#include <algorithm>

#include "tests/generators/applications.h"

namespace iotune::generators {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kSlotBytes = 64 * kKiB;  // App 3: what all ranks write into in turn
constexpr std::int64_t kPieceBytes = kKiB;

// A record of the library: 4, 8, 12 KiB … by period.
std::int64_t record_bytes(std::int64_t period) {
  return (period + 1) * 4 * kKiB;
}

}  // namespace

Workload lanl_app1(const App1& of) {
  Workload made{"LANL App1",
                "HPDC 2013, 3.3: 2-D strided, a global pattern was found. Sizes are our choice",
                {}};
  const std::int64_t width = of.pieces * of.piece_bytes;  // of one rank's part of a row
  const std::int64_t row = of.ranks_x * width;
  for (std::uint32_t py = 0; py < of.ranks_y; ++py) {
    for (std::uint32_t px = 0; px < of.ranks_x; ++px) {
      Stream stream{py * of.ranks_x + px, {}};
      for (std::int64_t i = 0; i < of.rows; ++i) {
        for (std::int64_t k = 0; k < of.pieces; ++k) {
          stream.accesses.push_back(
              {(py * of.rows + i) * row + px * width + k * of.piece_bytes, of.piece_bytes});
        }
      }
      made.streams.push_back(std::move(stream));
    }
  }
  return made;
}

Workload lanl_app2_library(const App2& of) {
  Workload made{"LANL App2, I/O library",
                "HPDC 2013, 3.3: the application's own library arranged the data so that strides "
                "were fixed and global patterns possible. Reading: in each period the ranks' "
                "records lie in turn, and its record size is another",
                {}};
  for (std::uint32_t rank = 0; rank < of.ranks; ++rank) {
    Stream stream{rank, {}};
    std::int64_t region = 0;
    for (std::int64_t period = 0; period < of.periods; ++period) {
      const std::int64_t record = record_bytes(period);
      for (std::int64_t k = 0; k < of.writes; ++k) {
        stream.accesses.push_back({region + (k * of.ranks + rank) * record, record});
      }
      region += of.writes * of.ranks * record;
    }
    made.streams.push_back(std::move(stream));
  }
  return made;
}

Workload lanl_app2_independent(const App2& of) {
  Workload made{"LANL App2, MPI-IO independent",
                "HPDC 2013, 3.3: each process writes with different strides in different periods; "
                "compressed by local patterns only. Reading: each rank has an area of its own a "
                "period and leaves a gap of 512 bytes after each record, so that no rank's pieces "
                "fill another's",
                {}};
  constexpr std::int64_t kGap = 512;
  for (std::uint32_t rank = 0; rank < of.ranks; ++rank) {
    Stream stream{rank, {}};
    std::int64_t region = 0;
    for (std::int64_t period = 0; period < of.periods; ++period) {
      const std::int64_t slot = record_bytes(period) + kGap;
      for (std::int64_t k = 0; k < of.writes; ++k) {
        stream.accesses.push_back({region + (rank * of.writes + k) * slot, slot - kGap});
      }
      region += of.writes * of.ranks * slot;
    }
    made.streams.push_back(std::move(stream));
  }
  return made;
}

Workload lanl_app2_collective(const App2& of) {
  Workload made{"LANL App2, MPI-IO collective",
                "HPDC 2013, 3.3: as independent. Reading: two-phase I/O; what all ranks write in a "
                "collective call is cut into one file domain an aggregator, and each writes its "
                "own in pieces of at most a buffer, the last one shorter",
                {}};
  const std::uint32_t writers = std::max(of.ranks / of.ranks_per_writer, 1U);
  for (std::uint32_t writer = 0; writer < writers; ++writer) {
    Stream stream{writer * of.ranks_per_writer, {}};
    std::int64_t call_at = 0;
    for (std::int64_t period = 0; period < of.periods; ++period) {
      // A call carries 64 records a rank and some bytes of a header, which leave the domains
      // uneven.
      const std::int64_t call_bytes = of.ranks * 64 * record_bytes(period) + 640;
      const std::int64_t domain = (call_bytes + writers - 1) / writers;
      for (std::int64_t call = 0; call < of.writes / 10; ++call) {
        const std::int64_t end = std::min(domain * (writer + 1), call_bytes);
        for (std::int64_t at = domain * writer; at < end; at += of.buffer_bytes) {
          stream.accesses.push_back({call_at + at, std::min(of.buffer_bytes, end - at)});
        }
        call_at += call_bytes;
      }
    }
    made.streams.push_back(std::move(stream));
  }
  return made;
}

Workload lanl_app3(const App3& of) {
  Workload made{
      "LANL App3",
      "HPDC 2013, 2.1 and 3.3: 64 processes, a file of 4 GB, an index of 192 MB (48 bytes "
      "a write: 65,536 writes of 1 KiB a process), one entry in memory",
      {}};
  for (std::uint32_t rank = 0; rank < of.ranks; ++rank) {
    Stream stream{rank, {}};
    stream.accesses.reserve(static_cast<std::size_t>(of.writes));
    for (std::int64_t k = 0; k < of.writes; ++k) {
      stream.accesses.push_back({k * kSlotBytes + rank * kPieceBytes, kPieceBytes});
    }
    made.streams.push_back(std::move(stream));
  }
  return made;
}

Workload lanl_app3_tiles(const App3Tiles& of) {
  Workload made{"LANL App3, tiles",
                "HPDC 2013, 3.3: 2-D strided. Reading: the places of App 3 as a matrix, visited "
                "tile by tile (8x8), so that rows and tiles nest",
                {}};
  const std::int64_t columns = of.tiles * of.tile;
  for (std::uint32_t rank = 0; rank < of.ranks; ++rank) {
    Stream stream{rank, {}};
    for (std::int64_t ti = 0; ti < of.tiles; ++ti) {
      for (std::int64_t tj = 0; tj < of.tiles; ++tj) {
        for (std::int64_t i = ti * of.tile; i < (ti + 1) * of.tile; ++i) {
          for (std::int64_t j = tj * of.tile; j < (tj + 1) * of.tile; ++j) {
            stream.accesses.push_back(
                {(i * columns + j) * kSlotBytes + rank * kPieceBytes, kPieceBytes});
          }
        }
      }
    }
    made.streams.push_back(std::move(stream));
  }
  return made;
}

Workload lanl_app3_grid(const App3Grid& of) {
  Workload made{"LANL App3, grid",
                "HPDC 2013, 3.3: 2-D strided. Reading: a matrix of 1 KiB pieces, a block of it a "
                "rank of an 8x8 grid",
                {}};
  const std::int64_t width = of.ranks_x * of.columns;
  for (std::uint32_t py = 0; py < of.ranks_y; ++py) {
    for (std::uint32_t px = 0; px < of.ranks_x; ++px) {
      Stream stream{py * of.ranks_x + px, {}};
      for (std::int64_t i = py * of.rows; i < (py + 1) * of.rows; ++i) {
        for (std::int64_t j = px * of.columns; j < (px + 1) * of.columns; ++j) {
          stream.accesses.push_back({(i * width + j) * kPieceBytes, kPieceBytes});
        }
      }
      made.streams.push_back(std::move(stream));
    }
  }
  return made;
}

}  // namespace iotune::generators
