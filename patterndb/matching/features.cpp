#include "patterndb/matching/features.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "patterndb/matching/geometry.h"
#include "patterndb/settings/parameters.h"

namespace iotune::patterndb {
namespace {

// What HDF5, ROMIO and file systems take where nobody says anything else.
constexpr double kExchangeBytes = 16 * kMiB, kReadSieveBytes = 4 * kMiB;
constexpr double kWriteSieveBytes = 512 * kKiB, kChunkCacheBytes = kMiB;
constexpr double kMetadataBytes = 2048, kHdf5SieveBytes = 65536;  // of HDF5
constexpr double kStripeBytes = 4 * kMiB, kStripeCount = 1;

double log2_of(double number) {
  return std::log2(std::max(number, 1.0));
}

double count_of(std::uint64_t number) {
  return static_cast<double>(std::max<std::uint64_t>(number, 1));
}

class Values {
 public:
  explicit Values(const Settings& settings) : values_(settings.values()) {}

  std::string text(const char* name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::string() : found->second;
  }
  // The last number of "threshold,boundary"; `otherwise` where nothing is set.
  double number(const char* name, double otherwise) const {
    const std::string value = text(name);
    if (value.empty()) return otherwise;
    const std::size_t comma = value.rfind(',');
    return std::strtod(value.c_str() + (comma == std::string::npos ? 0 : comma + 1), nullptr);
  }
  bool has(const char* name) const { return values_.count(name) != 0; }

 private:
  const std::map<std::string, std::string>& values_;
};

// How ROMIO and HDF5 move a collective or independent call.
struct Mechanism {
  bool two_phase = false, sieved = false;
  double aggregators = 0, buffer_bytes = 0;
};

Mechanism mechanism_of(const Pattern& pattern, const Geometry& geometry,
                       const FeatureQuestion& question, const Values& values) {
  Mechanism found;
  const bool parallel = pattern.ranks > 1;
  const bool interleaved = geometry.pieces > 1;
  const char* const exchange = pattern.write ? "romio_cb_write" : "romio_cb_read";
  const char* const sieve = pattern.write ? "romio_ds_write" : "romio_ds_read";
  const std::string exchanged = values.text(exchange), sieving = values.text(sieve);
  const bool collective = parallel && pattern.mode == "collective" &&
                          values.text("dxpl_mpio_collective_opt") != "individual" &&
                          values.text("collective_buffering") != "false";
  // ROMIO exchanges where ranks interleave, unless it is set otherwise.
  const bool always = exchanged == "enable" || values.text("romio_no_indep_rw") == "true";
  found.two_phase = collective && exchanged != "disable" && (interleaved || always);
  if (found.two_phase) {
    // One a node, unless a list allows more (notes of ROMIO: cb_config_list "*:N").
    const double nodes = count_of(question.nodes);
    const std::string list = values.text("cb_config_list");
    const double of_node = list.size() > 2 ? std::strtod(list.c_str() + 2, nullptr) : 1.0;
    const double allowed = nodes * std::max(of_node, 1.0);
    found.aggregators =
        std::min({values.number("cb_nodes", allowed), allowed, count_of(pattern.ranks)});
    found.buffer_bytes = values.number("cb_buffer_size", kExchangeBytes);
    return found;
  }
  found.aggregators = count_of(pattern.ranks);
  // Of an independent transfer HDF5 calls MPI-IO once for each piece: ROMIO sees no gaps to sieve.
  found.sieved = parallel && interleaved && sieving != "disable" && pattern.mode == "collective";
  if (found.sieved) {
    found.buffer_bytes = pattern.write ? values.number("ind_wr_buffer_size", kWriteSieveBytes)
                                       : values.number("ind_rd_buffer_size", kReadSieveBytes);
  }
  return found;
}

// Of a rank's share of one dataset: the chunks that it touches.
double chunks_of_rank(const Pattern& pattern, double rank_bytes, double chunk_bytes) {
  if (pattern.chunk.empty()) return 0;
  double chunks = 1;
  const auto& dimensions = pattern.descriptor.dimensions;
  for (std::size_t i = 0; i < pattern.chunk.size() && i < dimensions.size(); ++i) {
    const double held = static_cast<double>(dimensions[i].count);
    chunks *= std::ceil(held / count_of(pattern.chunk[i]));
  }
  return std::max(chunks, rank_bytes / chunk_bytes);
}

}  // namespace

bool features_of(const Pattern& pattern, const FeatureQuestion& question, const Settings& settings,
                 Features& features) {
  Geometry geometry;
  if (!geometry_of(pattern, geometry)) return false;
  const Values values(settings);
  const double ranks = count_of(pattern.ranks), nodes = count_of(question.nodes);
  const double rank_bytes = geometry.piece_bytes * geometry.pieces;
  const double dataset_bytes = rank_bytes * ranks;
  const double calls = count_of(question.datasets) * count_of(question.repeats);
  const double file_bytes = dataset_bytes * calls;
  const bool interleaved = geometry.pieces > 1;
  const double gap_bytes = interleaved ? (dataset_bytes - rank_bytes) / geometry.pieces : 0.0;
  double chunk_bytes = static_cast<double>(pattern.element_bytes);
  for (const std::uint64_t extent : pattern.chunk) chunk_bytes *= count_of(extent);
  const double chunks = chunks_of_rank(pattern, rank_bytes, chunk_bytes);

  const Mechanism how = mechanism_of(pattern, geometry, question, values);
  // From the first byte of a rank to its last, with the others' in between.
  const double reach_bytes =
      interleaved ? rank_bytes + gap_bytes * (geometry.pieces - 1) : rank_bytes;
  const double aggregator_bytes = how.two_phase ? dataset_bytes / how.aggregators : rank_bytes;
  double steps = 0, system_calls = geometry.pieces, moved_bytes = rank_bytes;
  if (how.two_phase) {
    steps = std::ceil(aggregator_bytes / std::max(how.buffer_bytes, 1.0));
    system_calls = steps;
    moved_bytes = aggregator_bytes;
  } else if (how.sieved) {
    // A window begins at a piece, and ends behind it where the next one lies beyond the window.
    const bool one_by_one = geometry.piece_bytes + gap_bytes > how.buffer_bytes;
    steps = one_by_one ? geometry.pieces *
                             std::ceil(geometry.piece_bytes / std::max(how.buffer_bytes, 1.0))
                       : std::ceil(reach_bytes / std::max(how.buffer_bytes, 1.0));
    const double read_bytes =
        one_by_one ? std::min(steps * how.buffer_bytes, reach_bytes) : reach_bytes;
    // What is written through the sieve is read before.
    system_calls = steps * (pattern.write ? 2 : 1);
    moved_bytes = pattern.write ? read_bytes + (one_by_one ? rank_bytes : reach_bytes) : read_bytes;
  }
  const double asked_bytes = how.two_phase ? aggregator_bytes : rank_bytes;

  const double known_count =
      question.stripe_count > 0 ? count_of(question.stripe_count) : kStripeCount;
  const double known_bytes =
      question.stripe_bytes > 0 ? count_of(question.stripe_bytes) : kStripeBytes;
  const double stripe_count = question.striped ? values.number("striping_factor", known_count) : 0;
  const double stripe_bytes = question.striped ? values.number("striping_unit", known_bytes) : 0;
  const double stripes =
      stripe_bytes > 0 ? std::min(stripe_count, std::ceil(reach_bytes / stripe_bytes)) : 0;
  const double writers = how.two_phase ? how.aggregators : ranks;
  const double writers_of_stripe =
      stripe_count > 0 ? std::max(1.0, writers * stripes / stripe_count) : writers;
  const double reserved =
      values.has("fallocate") ? values.number("fallocate", 0) / file_bytes + 1 : 0;

  const double found[] = {
      pattern.write ? 1.0 : 0.0,
      pattern.mode == "collective" ? 1.0 : 0.0,
      pattern.chunk.empty() ? 0.0 : 1.0,
      pattern.filters > 0 ? 1.0 : 0.0,
      interleaved ? 1.0 : 0.0,
      log2_of(ranks),
      log2_of(ranks / nodes),
      log2_of(geometry.piece_bytes),
      log2_of(geometry.pieces),
      log2_of(gap_bytes),
      log2_of(rank_bytes),
      log2_of(file_bytes),
      log2_of(calls),
      log2_of(static_cast<double>(pattern.element_bytes)),
      pattern.chunk.empty() ? 0.0 : log2_of(chunk_bytes),
      log2_of(chunks),
      how.two_phase ? 1.0 : 0.0,
      how.sieved ? 1.0 : 0.0,
      log2_of(how.aggregators),
      log2_of(how.buffer_bytes),
      log2_of(aggregator_bytes),
      log2_of(steps),
      log2_of(system_calls * calls),
      log2_of(moved_bytes / std::max(system_calls, 1.0)),
      log2_of(moved_bytes / asked_bytes),
      log2_of(stripe_count),
      log2_of(stripe_bytes),
      log2_of(stripes),
      log2_of(writers_of_stripe),
      log2_of(values.number("alignment", 0)),
      log2_of(reserved),
      pattern.chunk.empty() ? 0.0
                            : log2_of(values.number("chunk_cache", kChunkCacheBytes) / chunk_bytes),
      log2_of(values.number("meta_block_size", kMetadataBytes)),
      log2_of(values.number("sieve_buf_size", kHdf5SieveBytes)),
  };
  static_assert(sizeof found / sizeof *found == kFeatureCount);
  std::copy(std::begin(found), std::end(found), features.begin());
  return true;
}

}  // namespace iotune::patterndb
