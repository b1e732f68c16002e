#include "tests/generators/drawn_nest.h"

#include <algorithm>
#include <sstream>

#include "tests/generators/drawing.h"
#include "tests/generators/transforms.h"

namespace iotune::generators {
namespace {

constexpr std::int64_t kAccessesLimit = 20000;  // a rank

// How far below its start a nest reaches, so that no offset becomes negative.
std::int64_t reach_below(const Nest& nest, std::uint32_t ranks) {
  std::int64_t below = 0;
  for (const NestLoop& loop : nest.loops) {
    below += std::min<std::int64_t>(loop.stride_bytes * (loop.count - 1), 0);
  }
  below += std::min<std::int64_t>(nest.rank_stride_bytes * (ranks - 1), 0);
  return -below;
}

std::int64_t draw_stride(Drawing& draw, std::int64_t inner_bytes) {
  std::int64_t stride = 0;
  switch (draw.between(0, 9)) {
    case 0:
      break;  // the same place again
    case 1:
    case 2:
      stride = inner_bytes;  // without a gap
      break;
    case 3:
    case 4:
    case 5:
      stride = inner_bytes + draw.between(1, 1 << 16);
      break;
    case 6:
    case 7:
      stride = inner_bytes * draw.between(2, 64);  // room for others
      break;
    default:
      stride = draw.between(1, 1 << 20);  // may overlap what the loop within touches
  }
  return draw.percent(15) ? -stride : stride;
}

Nest draw_one(Drawing& draw, std::uint32_t ranks) {
  Nest nest{};
  const std::int64_t parts = draw.percent(70) ? 1 : draw.between(2, 3);
  std::int64_t at = 0;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t length =
        draw.percent(50) ? std::int64_t{512} << draw.between(0, 11) : draw.between(1, 1 << 18);
    nest.body.push_back({at, length});
    at += length + (draw.percent(50) ? 0 : draw.between(0, 1 << 14));
  }
  const std::int64_t depth = draw.between(1, 5);
  std::int64_t accesses = parts;
  std::int64_t inner_bytes = at;
  for (std::int64_t level = 0; level < depth; ++level) {
    // Enough room is left for three iterations of each loop still to come.
    std::int64_t left = kAccessesLimit / accesses;
    for (std::int64_t later = level + 1; later < depth; ++later) left /= 3;
    const std::int64_t most = std::clamp<std::int64_t>(left, 3, depth == 1 ? 10000 : 100);
    const std::int64_t least = depth == 1 ? 200 : std::min<std::int64_t>(most, depth == 2 ? 15 : 3);
    const std::int64_t count = draw.between(least, most);
    const std::int64_t stride = draw_stride(draw, inner_bytes);
    nest.loops.push_back({count, stride});
    accesses *= count;
    inner_bytes = std::max(inner_bytes, std::abs(stride) * count);
  }
  std::reverse(nest.loops.begin(), nest.loops.end());
  nest.rank_stride_bytes = draw.percent(40) ? at : draw_stride(draw, inner_bytes);
  nest.start_bytes = draw.between(0, 1 << 20) + reach_below(nest, ranks);
  return nest;
}

void append(Stream& stream, const Nest& nest) {
  std::vector<std::int64_t> index(nest.loops.size(), 0);
  std::int64_t at = nest.start_bytes + stream.rank * nest.rank_stride_bytes;
  while (true) {
    for (const patterns::Extent& part : nest.body) {
      stream.accesses.push_back({at + part.offset, part.length});
    }
    std::size_t level = nest.loops.size();
    while (level > 0) {
      const NestLoop& loop = nest.loops[level - 1];
      at += loop.stride_bytes;
      if (++index[level - 1] < loop.count) break;
      at -= loop.stride_bytes * loop.count;
      index[--level] = 0;
    }
    if (level == 0) return;
  }
}

}  // namespace

std::size_t DrawnNest::depth() const noexcept {
  std::size_t deepest = 0;
  for (const Nest& nest : nests) deepest = std::max(deepest, nest.loops.size());
  return deepest;
}

std::string DrawnNest::text() const {
  std::ostringstream text;
  text << ranks << " ranks";
  for (const Nest& nest : nests) {
    text << ", start " << nest.start_bytes;
    for (const NestLoop& loop : nest.loops) {
      text << ' ' << loop.count << "x(" << std::showpos << loop.stride_bytes << ')'
           << std::noshowpos;
    }
    for (const patterns::Extent& part : nest.body) {
      text << " {" << part.offset << ',' << part.length << '}';
    }
    text << " rank " << std::showpos << nest.rank_stride_bytes << std::noshowpos;
  }
  if (interleaved()) text << ", in turns of " << turn;
  if (noise_percent > 0) text << ", noise " << noise_percent << " %";
  return text.str();
}

DrawnNest draw_nest(std::uint64_t seed) {
  Drawing draw(seed);
  DrawnNest drawn{};
  drawn.ranks = static_cast<std::uint32_t>(draw.percent(20) ? 1 : draw.between(2, 32));
  drawn.turn = static_cast<std::size_t>(draw.percent(60) ? 1 : draw.between(2, 4));
  const std::int64_t nests = draw.percent(25) ? draw.between(2, 3) : 1;
  for (std::int64_t n = 0; n < nests; ++n) drawn.nests.push_back(draw_one(draw, drawn.ranks));
  drawn.noise_percent = draw.percent(25) ? 0.5 * static_cast<double>(draw.between(1, 4)) : 0;
  return drawn;
}

Workload expand(const DrawnNest& of, std::uint64_t seed) {
  Workload made{"drawn nest " + std::to_string(seed), of.text(), {}};
  for (std::uint32_t rank = 0; rank < of.ranks; ++rank) {
    Workload parts{"", "", {}};
    for (const Nest& nest : of.nests) {
      parts.streams.push_back({rank, {}});
      append(parts.streams.back(), nest);
    }
    made.streams.push_back(interleaved(parts, parts.streams.size(), of.turn).streams.front());
  }
  if (of.noise_percent > 0) {
    Workload noisy = with_noise(std::move(made), of.noise_percent, seed);
    noisy.name = "drawn nest " + std::to_string(seed);
    return noisy;
  }
  return made;
}

}  // namespace iotune::generators
