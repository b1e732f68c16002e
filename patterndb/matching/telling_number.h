// Of names that differ in numbers alone one number may tell kinds of files apart (out_h0_0001.h5
// and out_h1_0001.h5), which others count: then each kind is a series of its own within the run.
// Known by what the files were, for names alone do not say which number counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace iotune::patterndb {

// What a closed file says of its kind.
struct FileKind {
  std::uint64_t bytes = 0;
  bool collective = false;
};
// Whether what one file took says something of the other: of one size, but for what a growing run
// adds from step to step.
bool is_alike(const FileKind& a, const FileKind& b);

class TellingNumber {
 public:
  // A file with these numbers in its name was closed.
  void closed(const std::vector<std::string>& numbers, const FileKind& kind);
  // Which of the names' numbers tells kinds apart, once that is seen; it stays so.
  std::optional<std::size_t> position() const { return position_; }

 private:
  struct Closed {
    std::vector<std::string> numbers;
    FileKind kind;
  };
  bool tells(std::size_t position) const;

  std::deque<Closed> newest_;
  std::optional<std::size_t> position_;
};

}  // namespace iotune::patterndb
