// The applications of the Pattern PLFS papers, small, as (offset, length, file).
#include <gtest/gtest.h>

#include "round_trip.h"

namespace iotune::patterns {
namespace {

using testing::expect_round_trip;
using testing::Values;

class Accesses {
 public:
  void add(std::int64_t offset, std::int64_t length) {
    values_.insert(values_.end(), {offset, length, 3});
  }
  const Values& values() const { return values_; }

 private:
  Values values_;
};

TEST(Generators, fs_test_strided) {
  Accesses a;
  for (std::int64_t k = 0; k < 16384; ++k) a.add((k * 64 + 5) * 4096, 4096);
  EXPECT_LE(expect_round_trip(a.values(), 3), 24U);
}

TEST(Generators, milc_a) {
  constexpr std::int64_t kL = 16;
  Accesses a;
  for (std::int64_t t = 0; t < kL / 2; ++t) {
    for (std::int64_t z = 0; z < kL / 2; ++z) {
      for (std::int64_t y = 0; y < kL / 2; ++y) {
        a.add(96 + 288 * (8 + kL * (8 + y + kL * (z + kL * (8 + t)))), 288 * kL / 2);
      }
    }
  }
  EXPECT_LE(expect_round_trip(a.values(), 3), 40U);
}

TEST(Generators, milc_c_with_a_header) {
  Accesses a;
  a.add(0, 96);
  for (std::int64_t k = 0; k < 4096; ++k) a.add(7 * 4096 * 288 + k * 288, 288);
  EXPECT_LE(expect_round_trip(a.values(), 3), 32U);
}

TEST(Generators, app3_in_tiles) {
  Accesses a;
  for (std::int64_t ti = 0; ti < 16; ++ti) {
    for (std::int64_t tj = 0; tj < 16; ++tj) {
      for (std::int64_t i = 0; i < 8; ++i) {
        for (std::int64_t j = 0; j < 8; ++j) {
          a.add(((ti * 8 + i) * 128 + tj * 8 + j) * 65536 + 9 * 1024, 1024);
        }
      }
    }
  }
  EXPECT_LE(expect_round_trip(a.values(), 3), 50U);
}

TEST(Generators, app2_whose_strides_change) {
  Accesses a;
  for (std::int64_t q = 0; q < 3; ++q) {
    for (std::int64_t k = 0; k < 1000; ++k) {
      const std::int64_t size = 4096 * (q + 1);
      a.add((q << 32) + (k * 64 + 2) * size, size);
    }
  }
  EXPECT_LE(expect_round_trip(a.values(), 3), 60U);
}

TEST(Generators, btio_with_uneven_cells) {
  constexpr std::int64_t kN = 66;
  constexpr std::int64_t kC = 4;
  const auto low = [](std::int64_t c) { return c * kN / kC; };
  Accesses a;
  for (std::int64_t dump = 0; dump < 8; ++dump) {
    std::int64_t x = 1;
    std::int64_t y = 2;
    for (std::int64_t z = 0; z < kC; ++z, x = (x + 1) % kC, y = (y + kC - 1) % kC) {
      for (std::int64_t k = low(z); k < low(z + 1); ++k) {
        for (std::int64_t j = low(y); j < low(y + 1); ++j) {
          a.add(40 * (low(x) + kN * (j + kN * (k + kN * dump))), 40 * (low(x + 1) - low(x)));
        }
      }
    }
  }
  EXPECT_LE(expect_round_trip(a.values(), 3), 130U);
}

TEST(Generators, flash_split_by_fuse) {
  Accesses a;
  std::int64_t header = 12345;
  for (int variable = 0; variable < 24; ++variable) {
    header += 80 * 64 * 4096 + variable * variable % 7 * 512;
    const std::int64_t start = header + 11 * 80 * 4096;
    a.add(start, 131072);
    a.add(start + 131072, 131072);
    a.add(start + 262144, 65536);
  }
  expect_round_trip(a.values(), 3);
}

TEST(Generators, record_variables) {
  Accesses a;
  for (std::int64_t record = 0; record < 500; ++record) {
    std::int64_t offset = 1024 + record * 100000;
    for (std::int64_t v = 0; v < 12; ++v) {
      const std::int64_t slab = (v * 37 % 5 + 1) * 800;
      a.add(offset + 3 * slab, slab);
      offset += 8 * slab;
    }
  }
  EXPECT_LE(expect_round_trip(a.values(), 3), 120U);
}

TEST(Generators, interleaved_streams_in_one_sequence) {
  Accesses a;
  for (std::int64_t k = 0; k < 2000; ++k) {
    a.add(k * 4096, 4096);
    a.add((std::int64_t{1} << 40) + k * 24, 24);
    a.add((std::int64_t{1} << 41) - k * 512, 512);
  }
  EXPECT_LE(expect_round_trip(a.values(), 3), 80U);
}

}  // namespace
}  // namespace iotune::patterns
