// A view of MPI-IO: which bytes of the file its data stream consists of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recorder/read/call_arguments.h"

namespace iotune::analyzer {

struct FileExtent {
  std::uint64_t offset, bytes;
};

struct FileExtents {
  std::vector<FileExtent> extents;  // in the order of the data; neighbours are one
  bool more = false;                // than were asked for
  std::string unknown;              // why there are none, or none behind these
};

// " [at 0+100 400+100 ...]", " [at ?: why]"
std::string extents_text(const FileExtents& found);

// The layout repeats every tile_bytes_ of the file from the displacement on, and holds data_bytes_
// of data each time. Words of a trace may be anything: what does not fit together is unknown.
class FileView {
 public:
  // Every byte of the file, as MPI_File_open leaves it.
  FileView() = default;
  // Nothing can be said of it.
  static FileView unknown(std::string why);
  // As an iotune_view says.
  static FileView of(const recorder::CallArguments& view);

  bool is_known() const { return kind_ != Kind::kUnknown; }
  // Its data are the file's bytes from the displacement on.
  bool is_whole() const { return kind_ == Kind::kWhole; }
  // Of one element of the view, in which offsets count.
  std::uint64_t element_bytes() const { return element_bytes_; }

  // Of a subarray: bytes from one index to the next, the slowest dimension first; empty of any
  // other view.
  const std::vector<std::uint64_t>& steps_bytes() const { return steps_; }
  std::uint64_t displacement() const { return displacement_; }
  std::uint64_t tile_bytes() const { return tile_bytes_; }

  // Where `bytes` of data lie from `position`, in bytes of the data stream, on.
  FileExtents locate(std::uint64_t position, std::uint64_t bytes, std::size_t most) const;

  template <class A>
  void archive(A& a) {
    a(kind_, displacement_, element_bytes_, data_bytes_, tile_bytes_, why_, runs_, starts_,
      subsizes_, steps_);
  }

 private:
  struct Run {
    std::uint64_t offset, bytes, stride, count;
    std::uint64_t before;  // data of the runs before it
    template <class A>
    void archive(A& a) {
      a(offset, bytes, stride, count, before);
    }
  };
  enum class Kind : std::int8_t { kUnknown = -1, kWhole, kSubarray, kRuns, kFirstRuns };

  bool take_subarray(std::span<const std::int64_t> values);
  bool take_runs(std::span<const std::int64_t> values);
  // One piece from `position` of a tile's data on; nothing behind what is known.
  std::optional<FileExtent> piece(std::uint64_t position) const;

  Kind kind_ = Kind::kWhole;
  std::uint64_t displacement_ = 0, element_bytes_ = 1, data_bytes_ = 0, tile_bytes_ = 0;
  std::string why_;
  std::vector<Run> runs_;
  // Subarray, the slowest dimension first: bytes from one index to the next.
  std::vector<std::uint64_t> starts_, subsizes_, steps_;
};

}  // namespace iotune::analyzer
