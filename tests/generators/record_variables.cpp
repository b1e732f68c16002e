// Record variables of netCDF: one record after the other, and in it one variable after the other.
#include <array>
#include <span>

#include "tests/generators/applications.h"

namespace iotune::generators {
namespace {

// Slab of rank r in variable v of a record: record·R + offset[v] + r·slab[v].
std::vector<Stream> slabs_of_records(std::uint32_t ranks, std::int64_t records,
                                     std::int64_t header_bytes,
                                     std::span<const std::int64_t> slab_bytes) {
  std::int64_t record_bytes = 0;
  for (const std::int64_t slab : slab_bytes) record_bytes += slab * ranks;
  std::vector<Stream> streams;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    Stream stream{rank, {}};
    for (std::int64_t record = 0; record < records; ++record) {
      std::int64_t variable_at = header_bytes + record * record_bytes;
      for (const std::int64_t slab : slab_bytes) {
        stream.accesses.push_back({variable_at + rank * slab, slab});
        variable_at += slab * ranks;
      }
    }
    streams.push_back(std::move(stream));
  }
  return streams;
}

}  // namespace

Workload record_variables(const RecordVariables& of) {
  std::vector<std::int64_t> slabs;
  for (std::int64_t v = 0; v < of.variables; ++v) slabs.push_back((v * v * 7 % 13 + 1) * 800);
  return {"12 record variables",
          "Our choice: more variables a record than the papers' window holds, slabs of seven sizes "
          "in no order",
          slabs_of_records(of.ranks, of.records, 1024, slabs)};
}

Workload pagoda(const Pagoda& of) {
  constexpr std::array<std::int64_t, 9> kLayers = {1, 25, 1, 1, 25, 1, 25, 1, 1};
  std::vector<std::int64_t> slabs;
  // Single precision; the cells of the last rank are filled up, as slabs of one size a variable
  // are what the formula has.
  const std::int64_t cells = (of.cells + of.ranks - 1) / of.ranks;
  for (const std::int64_t layers : kLayers) slabs.push_back(cells * layers * 4);
  return {"Pagoda",
          "HPDC 2013, 3.2.2 and 5.1: netCDF, N-1 strided, segments of different types, a file of "
          "250 MB, rate 2.9. Nine variables, three with 25 layers, on 40,962 cells of a geodesic "
          "grid: our choice, 19 records make 250 MB",
          slabs_of_records(of.ranks, of.records, 8192, slabs)};
}

}  // namespace iotune::generators
