// The applications and benchmarks of the Pattern PLFS papers as accesses to one shared file:
//   J. He et al., Discovering Structure in Unstructured I/O, PDSW (SC Companion) 2012;
//   J. He et al., I/O Acceleration with Pattern Detection, HPDC 2013.
// The papers give the shapes and few sizes; each function's Workload::basis says what is theirs
// and what is our choice. Defaults are the sizes of the table in docs/results/patterns.md.
// Offsets and lengths are in bytes; P is the number of ranks and r a rank.
#pragma once

#include <cstdint>

#include "tests/generators/workload.h"

namespace iotune::generators {

// One file, N writers: record k of rank r lies at (k·P + r)·record.
struct FsTest {
  std::uint32_t ranks = 64;
  std::int64_t writes = 16384;  // a rank
  std::int64_t record_bytes = 4096;
};
Workload fs_test(const FsTest& = {});

// Each process writes one fixed stride; the block is a multiple of 64 KiB, or that and 31 KiB
// (`odd_bytes` = 31744), so that no block but the first is aligned.
struct PatternIo {
  std::uint32_t ranks = 512;
  std::int64_t writes = 64;
  std::int64_t blocks_of_64_kib = 1;
  std::int64_t odd_bytes = 0;
};
Workload pattern_io(const PatternIo& = {});

// A lattice of extent^4 sites, halved in each dimension over 16 ranks. A writes runs of x as they
// lie in the file; in B every rank writes one contiguous portion; C is B and every rank writes
// the header at 0 first.
struct Milc {
  std::int64_t extent = 16;  // sites in each of t, z, y, x
  std::int64_t header_bytes = 96;
  std::int64_t site_bytes = 288;
  std::int64_t portion_writes = 1;  // B, C: writes a rank
};
Workload milc_a(const Milc& = {});
Workload milc_b(const Milc& = {});
Workload milc_c(const Milc& = {});

// Record variables of netCDF: in each record every variable has a slab a rank.
struct RecordVariables {
  std::uint32_t ranks = 64;
  std::int64_t records = 500;
  std::int64_t variables = 12;
};
Workload record_variables(const RecordVariables& = {});

// Parallel netCDF tools on a geodesic grid: the same, with slabs of layers of cells.
struct Pagoda {
  std::uint32_t ranks = 16;
  std::int64_t records = 19;
  std::int64_t cells = 40962;
};
Workload pagoda(const Pagoda& = {});

// 2-D strided: a rank at (py, px) of a grid writes `rows` rows of `pieces` consecutive pieces.
struct App1 {
  std::uint32_t ranks_y = 8;
  std::uint32_t ranks_x = 8;
  std::int64_t rows = 64;
  std::int64_t pieces = 16;
  std::int64_t piece_bytes = 4096;
};
Workload lanl_app1(const App1& = {});

// Strides that change from one period to the next. The papers say only that; three readings:
//   library      an I/O library lays records out with one stride a period, all ranks in turn
//   independent  each rank appends padded records to an area of its own, one a period
//   collective   two-phase I/O: aggregators write their file domains in buffer-sized pieces
struct App2 {
  std::uint32_t ranks = 64;
  std::int64_t periods = 3;
  std::int64_t writes = 1000;           // a rank and period
  std::uint32_t ranks_per_writer = 8;   // collective: ranks that one aggregator writes for
  std::int64_t buffer_bytes = 1 << 19;  // collective: what it writes at most at a time
};
Workload lanl_app2_library(const App2& = {});
Workload lanl_app2_independent(const App2& = {});
Workload lanl_app2_collective(const App2& = {});

// 1 KiB a rank in every 64 KiB, in the order of the file.
struct App3 {
  std::uint32_t ranks = 64;
  std::int64_t writes = 65536;  // a rank
};
Workload lanl_app3(const App3& = {});

// The same places in the order of tiles of `tile` × `tile`.
struct App3Tiles {
  std::uint32_t ranks = 64;
  std::int64_t tiles = 16;  // in each of two dimensions
  std::int64_t tile = 8;
};
Workload lanl_app3_tiles(const App3Tiles& = {});

// 1 KiB pieces of a matrix that a grid of ranks shares by blocks, row by row.
struct App3Grid {
  std::uint32_t ranks_y = 8;
  std::uint32_t ranks_x = 8;
  std::int64_t rows = 128;     // of a rank's block
  std::int64_t columns = 128;  // pieces in each
};
Workload lanl_app3_grid(const App3Grid& = {});

// NAS BT-IO, simple mode: diagonal multipartition of an extent^3 grid over a square number of
// ranks, a write for each row in x of each cell, five doubles a point.
struct BtIo {
  std::uint32_t ranks = 16;  // a square
  std::int64_t extent = 64;  // class A: 64, B: 102
  std::int64_t dumps = 40;
};
Workload btio(const BtIo& = {});
inline Workload btio_a() {
  return btio({.ranks = 16, .extent = 64, .dumps = 40});
}
inline Workload btio_b() {
  return btio({.ranks = 16, .extent = 102, .dumps = 8});
}

// FLASH's checkpoint: a slab of 80 blocks a rank in each of 24 datasets, as FUSE passes it on: cut
// where the file's offset is a multiple of `split_bytes` (0: not cut).
struct Flash {
  std::uint32_t ranks = 64;
  std::int64_t variables = 24;
  std::int64_t blocks = 80;  // a rank
  std::int64_t block_bytes = 4096;
  std::int64_t split_bytes = 128 << 10;
};
Workload flash(const Flash& = {});

}  // namespace iotune::generators
