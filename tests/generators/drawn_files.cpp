#include "tests/generators/drawn_files.h"

#include <algorithm>
#include <numeric>

namespace iotune::testing {
namespace {

using Random = std::mt19937_64;
using Indices = std::vector<std::uint64_t>;

std::uint64_t between(Random& random, std::uint64_t least, std::uint64_t most) {
  return least + random() % (most - least + 1);
}

bool chance(Random& random, std::uint64_t percent) {
  return random() % 100 < percent;
}

struct Dimension {
  std::uint64_t extent = 0;
  std::vector<Indices> parts;
  std::string name;
};

Indices from_to(std::uint64_t first, std::uint64_t end) {
  Indices indices(end - first);
  std::iota(indices.begin(), indices.end(), first);
  return indices;
}

Dimension blocks(Random& random, std::uint64_t parts, std::uint64_t most, bool with_halo) {
  Dimension one;
  const std::uint64_t usual = between(random, 4, most), rest = random() % parts;
  const std::uint64_t kind = random() % 4;
  std::vector<std::uint64_t> sizes(parts, usual);
  if (kind == 1) {
    for (std::uint64_t i = 0; i < rest; ++i) ++sizes[i];
  } else if (kind == 2) {
    sizes.back() += rest;
  }
  std::uint64_t halo = with_halo ? between(random, 1, 2) : 0;
  std::uint64_t at = 0;
  one.extent = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  for (const std::uint64_t size : sizes) {
    const std::uint64_t low = at > halo ? at - halo : 0;
    one.parts.push_back(from_to(low, std::min(one.extent, at + size + halo)));
    at += size;
  }
  one.name = parts == 1 ? "*" : halo > 0 ? "BLOCK+halo" : "BLOCK";
  return one;
}

Dimension rounds(Random& random, std::uint64_t parts, std::uint64_t most) {
  Dimension one;
  const std::uint64_t k = chance(random, 30) ? 1 : between(random, 2, 4);
  const std::uint64_t whole = between(random, 2, std::max<std::uint64_t>(2, most / k));
  one.extent = parts * k * whole + (chance(random, 50) ? random() % (parts * k) : 0);
  one.parts.resize(parts);
  for (std::uint64_t i = 0; i < one.extent; ++i) one.parts[i / k % parts].push_back(i);
  one.name = parts == 1 ? "*" : "CYCLIC(" + std::to_string(k) + ")";
  return one;
}

// The process grid of `ranks` in so many dimensions.
std::vector<std::uint64_t> grid_of(Random& random, std::uint64_t ranks, std::size_t dimensions) {
  std::vector<std::uint64_t> grid(dimensions, 1);
  for (std::uint64_t left = ranks, p = 2; left > 1;) {
    if (left % p != 0) {
      ++p;
      continue;
    }
    grid[random() % dimensions] *= p;
    left /= p;
  }
  return grid;
}

// One record of an array from `begin` on.
DrawnArray drawn_array(Random& random, const std::vector<std::uint32_t>& ranks,
                       std::uint64_t begin) {
  DrawnArray array;
  const std::size_t n = between(random, 1, 3);
  const std::vector<std::uint64_t> grid = grid_of(random, ranks.size(), n);
  const std::uint64_t most = n == 1 ? 600 : n == 2 ? 24 : 8;
  const std::uint64_t element = std::uint64_t{1} << random() % 4;
  const bool halo = chance(random, 12);
  std::vector<Dimension> dimensions;
  array.kind = std::to_string(n) + "D";
  for (std::size_t d = 0; d < n; ++d) {
    const bool cyclic = grid[d] > 1 && !halo && chance(random, 20);
    dimensions.push_back(cyclic ? rounds(random, grid[d], std::min<std::uint64_t>(most, 16))
                                : blocks(random, grid[d], most, halo && grid[d] > 1));
    array.kind += " " + dimensions.back().name + "/" + std::to_string(grid[d]);
  }
  array.begin = begin;
  array.end = begin + element;
  for (const Dimension& one : dimensions) array.end = begin + (array.end - begin) * one.extent;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    std::vector<std::uint64_t> at{0};
    std::uint64_t place = r;
    for (std::size_t d = n; d-- > 0;) {
      const Indices& mine = dimensions[d].parts[place % grid[d]];
      place /= grid[d];
      std::uint64_t inside = 1;
      for (std::size_t e = d + 1; e < n; ++e) inside *= dimensions[e].extent;
      std::vector<std::uint64_t> more;
      for (const std::uint64_t i : mine) {
        for (const std::uint64_t before : at) more.push_back(i * inside + before);
      }
      at = std::move(more);
    }
    std::sort(at.begin(), at.end());
    for (const std::uint64_t index : at) {
      const std::uint64_t offset = begin + index * element;
      DrawnCall* const last = array.calls.empty() ? nullptr : &array.calls.back();
      if (last != nullptr && last->rank == ranks[r] && last->offset + last->bytes == offset) {
        last->bytes += element;
      } else {
        array.calls.push_back({ranks[r], offset, element});
      }
    }
  }
  return array;
}

void move_by(DrawnArray& array, std::uint64_t by) {
  array.begin += by;
  array.end += by;
  for (DrawnCall& call : array.calls) call.offset += by;
}

class Drawing {
 public:
  explicit Drawing(Random& random) : random_(random) {
    static constexpr std::uint32_t kRanks[] = {2, 3, 4, 6, 8, 12, 16, 24, 32, 64};
    file_.ranks = kRanks[random_() % std::size(kRanks)];
    gaps_ = random_() % 4;
    gap_ = between(random_, 1, 2000);
    metadata_ = chance(random_, 50) ? 0 : between(random_, 5, 40);
  }

  DrawnFile run() {
    if (chance(random_, 40)) at_ += between(random_, 1, 4096);
    if (chance(random_, 40)) add_metadata();
    const std::uint64_t arrays = between(random_, 1, 30);
    const bool alike = chance(random_, 30);
    while (file_.arrays.size() < arrays) {
      if (!file_.arrays.empty() && alike && chance(random_, 80)) {
        DrawnArray copy = file_.arrays.back();
        if (copy.records == 1) {
          move_by(copy, at_ - copy.begin);
          at_ = copy.end;
          file_.arrays.push_back(std::move(copy));
        } else {
          add_array();
        }
      } else if (chance(random_, 4)) {
        add_records();
      } else {
        add_array();
      }
      add_gap();
    }
    if (chance(random_, 40)) add_metadata();
    put_in_order();
    return std::move(file_);
  }

 private:
  std::vector<std::uint32_t> some_ranks() {
    std::vector<std::uint32_t> ranks(file_.ranks);
    std::iota(ranks.begin(), ranks.end(), 0U);
    if (!chance(random_, 12) || file_.ranks < 4) return ranks;
    // Some are absent: all from one on, or every second one.
    if (chance(random_, 50)) {
      ranks.resize(file_.ranks / 2);
    } else {
      std::erase_if(ranks, [](std::uint32_t rank) { return rank % 2 == 1; });
    }
    return ranks;
  }

  void add_array() {
    file_.arrays.push_back(drawn_array(random_, some_ranks(), at_));
    at_ = file_.arrays.back().end;
  }

  // Two or three variables in turn, row by row.
  void add_records() {
    const std::uint64_t variables = between(random_, 2, 3), records = between(random_, 5, 20);
    const std::uint64_t first = at_;
    std::vector<DrawnArray> of;
    for (std::uint64_t v = 0; v < variables; ++v) {
      of.push_back(drawn_array(random_, some_ranks(), at_));
      at_ = of.back().end;
    }
    const std::uint64_t pitch = at_ - first;
    for (DrawnArray& one : of) {
      one.records = records;
      one.pitch = pitch;
      one.kind += " records";
      const std::vector<DrawnCall> row = one.calls;
      for (std::uint64_t i = 1; i < records; ++i) {
        for (DrawnCall call : row) {
          call.offset += i * pitch;
          one.calls.push_back(call);
        }
      }
      file_.arrays.push_back(std::move(one));
    }
    at_ = first + records * pitch;
  }

  void add_gap() {
    if (chance(random_, metadata_)) add_metadata();
    if (gaps_ == 1) at_ += gap_;
    if (gaps_ == 2 && chance(random_, 50)) at_ += between(random_, 1, 3000);
    if (gaps_ == 3) at_ = (at_ + 511) / 512 * 512;
  }

  void add_metadata() {
    const auto rank = chance(random_, 70) ? 0 : static_cast<std::uint32_t>(random_() % file_.ranks);
    const std::uint64_t bytes = between(random_, 8, 600);
    file_.metadata.push_back({rank, at_, bytes});
    at_ += bytes;
    if (chance(random_, 30)) at_ += between(random_, 1, 100);
  }

  // Array by array, some of them twice; metadata before, between and behind.
  void put_in_order() {
    const bool behind = chance(random_, 50);
    const auto add = [&](const std::vector<DrawnCall>& calls) {
      file_.calls.insert(file_.calls.end(), calls.begin(), calls.end());
    };
    std::size_t next = 0;
    std::vector<std::size_t> begun;  // the first call of each array
    for (const DrawnArray& array : file_.arrays) {
      for (; !behind && next < file_.metadata.size() && file_.metadata[next].offset < array.begin;
           ++next) {
        file_.calls.push_back(file_.metadata[next]);
      }
      begun.push_back(file_.calls.size());
      add(array.calls);
      if (chance(random_, 10)) add(array.calls);
    }
    for (; next < file_.metadata.size(); ++next) file_.calls.push_back(file_.metadata[next]);
    if (chance(random_, 25)) fill(begun, chance(random_, 50));
  }

  // As HDF5 and netCDF write fill values: rank 0 writes whole arrays, all at first or each before
  // its ranks write it.
  void fill(const std::vector<std::size_t>& begun, bool all_first) {
    for (std::size_t a = file_.arrays.size(); a-- > 0;) {
      const DrawnArray& array = file_.arrays[a];
      if (array.records > 1) continue;
      const std::size_t at = all_first ? 0 : begun[a];
      file_.calls.insert(file_.calls.begin() + static_cast<std::ptrdiff_t>(at),
                         {0, array.begin, array.end - array.begin});
    }
  }

  Random& random_;
  DrawnFile file_;
  std::uint64_t at_ = 0, gaps_ = 0, gap_ = 0, metadata_ = 0;
};

}  // namespace

DrawnFile drawn_file(Random& random) {
  return Drawing(random).run();
}

}  // namespace iotune::testing
