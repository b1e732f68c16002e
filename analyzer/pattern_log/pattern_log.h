// The offset patterns of many streams as bytes: loops in streams, loops over ranks, and what
// repeats over ranks, datasets, files and steps stored once. Lossless; never longer than the plain
// lists but for a header. FORMAT.md has the bytes, README.md the algorithm.
//
//   PatternLogWriter log;
//   const auto stream = log.add_stream(rank, "checkpoint.h5:/density");
//   log.add(stream, extents);            // piece by piece, streams in any order
//   std::vector<std::byte> bytes = log.finish();
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/pattern_log/shapes.h"
#include "patterns/extent.h"

namespace iotune::analyzer {

struct PatternLogOptions {
  // Leaves (an access, or one in the body of a loop) of all streams that are held before they are
  // written: a bound for memory where streams have no pattern, 2^18 at most. Regular streams have
  // few and are never cut.
  std::size_t leaves_held = std::size_t{1} << 18U;
};

class PatternLogWriter {
 public:
  explicit PatternLogWriter(const PatternLogOptions& options = {});
  ~PatternLogWriter();
  PatternLogWriter(const PatternLogWriter&) = delete;
  PatternLogWriter& operator=(const PatternLogWriter&) = delete;

  // Streams are numbered 0, 1, 2, …; an order in which ranks follow each other costs least.
  std::uint32_t add_stream(std::int64_t rank, std::string_view name);
  // `physical_offsets`: where each access lies in the stream's own data, in bytes; empty, or as
  // many as accesses, in all calls for a stream or in none.
  void add(std::uint32_t stream, std::span<const patterns::Extent> accesses,
           std::span<const std::int64_t> physical_offsets = {});
  // Nothing more is added to the stream; frees its memory.
  void end_stream(std::uint32_t stream);
  // Bytes that are complete, for callers who write them out as they come; finish() returns the
  // rest then.
  std::vector<std::byte> take();
  std::vector<std::byte> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct PatternLogStream {
  std::int64_t rank;
  std::string name;
};

// Reads a log of which the bytes outlive it.
class PatternLogReader {
 public:
  // Nothing where the bytes are damaged (as far as it tells without the accesses).
  static std::optional<PatternLogReader> open(std::span<const std::byte> bytes);
  // What is to be said of bytes that open() does not read.
  static const char* why_not(std::span<const std::byte> bytes) noexcept;
  ~PatternLogReader();
  PatternLogReader(PatternLogReader&&) noexcept;
  PatternLogReader& operator=(PatternLogReader&&) noexcept;

  const std::vector<PatternLogStream>& streams() const noexcept;

  // The accesses of one stream in their order.
  class Accesses {
   public:
    ~Accesses();
    Accesses(Accesses&&) noexcept;
    Accesses& operator=(Accesses&&) noexcept;
    // Fills `to` as far as there is something; 0 at the end and on damage, which failed() tells.
    // `physical_offsets`: empty, or room for as many; zeros where the stream has none.
    std::size_t read(std::span<patterns::Extent> to, std::span<std::int64_t> physical_offsets = {});
    bool failed() const noexcept;

   private:
    friend class PatternLogReader;
    struct State;
    explicit Accesses(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
  };
  Accesses accesses(std::uint32_t stream) const;

  // The loops of one stream, not expanded, channel by channel as they stand in the log. What a
  // channel is: channels.h. False on damage.
  using TermVisitor = std::function<void(std::uint32_t channel, const pattern_log::Shapes& shapes,
                                         const pattern_log::TermList& terms)>;
  bool visit_terms(std::uint32_t stream, const TermVisitor& visit) const;

 private:
  struct State;
  explicit PatternLogReader(std::shared_ptr<State> state) noexcept;
  std::shared_ptr<State> state_;
};

}  // namespace iotune::analyzer
