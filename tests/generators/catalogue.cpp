#include "tests/generators/catalogue.h"

#include "tests/generators/applications.h"
#include "tests/generators/transforms.h"

namespace iotune::generators {
namespace {

constexpr std::uint64_t kNoiseSeed = 20131;

Workload named(Workload of, const char* name) {
  of.name = name;
  return of;
}

void add(std::vector<Row>& rows, const std::string& name, Kind kind, double paper_rate,
         const std::function<Workload()>& make) {
  rows.push_back({name, kind, paper_rate, [make, name] { return named(make(), name.c_str()); }});
}

}  // namespace

std::vector<Row> catalogue(Size size) {
  const bool small = size == Size::small;
  const auto ranks = [small](std::uint32_t table) { return small ? 4U : table; };
  const auto count = [small](std::int64_t table, std::int64_t few) { return small ? few : table; };
  std::vector<Row> rows;
  add(rows, "FS-TEST", Kind::plain, 0,
      [=] { return fs_test({.ranks = ranks(64), .writes = count(16384, 300)}); });
  add(rows, "MILC A", Kind::nested, 37.0, [=] { return milc_a({.extent = count(16, 8)}); });
  add(rows, "MILC B", Kind::plain, 3.0, [] { return milc_b(); });
  add(rows, "MILC C", Kind::plain, 3.6, [] { return milc_c(); });
  add(rows, "MILC B in pieces", Kind::plain, 0,
      [=] { return milc_b({.portion_writes = count(4096, 64)}); });
  add(rows, "Pagoda", Kind::nested, 2.9, [=] { return pagoda({.ranks = ranks(16)}); });
  add(rows, "PatternIO", Kind::plain, 0, [=] { return pattern_io({.ranks = ranks(512)}); });
  add(rows, "PatternIO, uneven", Kind::plain, 0,
      [=] { return pattern_io({.ranks = ranks(512), .odd_bytes = 31744}); });
  add(rows, "LANL App1", Kind::nested, 0, [=] {
    return small ? lanl_app1({.ranks_y = 2, .ranks_x = 3, .rows = 9, .pieces = 5}) : lanl_app1();
  });
  const App2 app2{.ranks = small ? 8U : 64U, .writes = count(1000, 60)};
  add(rows, "LANL App2, library", Kind::plain, 0, [=] { return lanl_app2_library(app2); });
  add(rows, "LANL App2, independent", Kind::plain, 0, [=] { return lanl_app2_independent(app2); });
  add(rows, "LANL App2, collective", Kind::nested, 0, [=] { return lanl_app2_collective(app2); });
  add(rows, "LANL App3", Kind::plain, 0,
      [=] { return lanl_app3({.ranks = ranks(64), .writes = count(65536, 500)}); });
  add(rows, "LANL App3, tiles 8x8", Kind::nested, 0,
      [=] { return lanl_app3_tiles({.ranks = ranks(64), .tiles = count(16, 3)}); });
  add(rows, "LANL App3, grid 8x8", Kind::nested, 0, [=] {
    return small ? lanl_app3_grid({.ranks_y = 2, .ranks_x = 3, .rows = 9, .columns = 20})
                 : lanl_app3_grid();
  });
  add(rows, "BT-IO A", Kind::nested, 0,
      [=] { return small ? btio({.ranks = 4, .extent = 12, .dumps = 3}) : btio_a(); });
  add(rows, "BT-IO B, uneven", Kind::nested, 0,
      [=] { return small ? btio({.ranks = 9, .extent = 11, .dumps = 3}) : btio_b(); });
  add(rows, "12 record variables", Kind::nested, 0,
      [=] { return record_variables({.ranks = ranks(64), .records = count(500, 20)}); });
  add(rows, "FLASH, split", Kind::nested, 0, [=] { return flash({.ranks = ranks(64)}); });
  add(rows, "FS-TEST, 1 % noise", Kind::noisy, 0, [=] {
    return with_noise(fs_test({.ranks = ranks(64), .writes = count(4096, 300)}), 1.0, kNoiseSeed);
  });
  add(rows, "FS-TEST and FLASH, interleaved", Kind::nested, 0, [=] {
    Workload two = fs_test({.ranks = ranks(64), .writes = count(84, 84)});
    for (Stream& stream : flash({.ranks = ranks(64)}).streams) {
      two.streams.push_back(std::move(stream));
    }
    // Rank r's two streams next to each other.
    Workload paired{"", two.basis + "; and FLASH", {}};
    const std::size_t half = two.streams.size() / 2;
    for (std::size_t r = 0; r < half; ++r) {
      paired.streams.push_back(std::move(two.streams[r]));
      paired.streams.push_back(std::move(two.streams[half + r]));
    }
    return interleaved(paired, 2);
  });
  add(rows, "FS-TEST, four ranks as one stream", Kind::nested, 0,
      [=] { return interleaved(fs_test({.ranks = ranks(64), .writes = count(4096, 300)}), 4); });
  add(rows, "random", Kind::unstructured, 0,
      [=] { return random_accesses({.accesses = count(100000, 2000)}); });
  return rows;
}

}  // namespace iotune::generators
