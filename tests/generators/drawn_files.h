// Files of several arrays, drawn: who makes which call, and what each array is.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace iotune::testing {

struct DrawnCall {
  std::uint32_t rank;
  std::uint64_t offset, bytes;
};

struct DrawnArray {
  std::string kind;                  // what was drawn, in words: "2D BLOCK,CYCLIC(2) 4x2 halo"
  std::uint64_t begin = 0, end = 0;  // of its first record, where it has several
  std::uint64_t records = 1, pitch = 0;
  std::vector<DrawnCall> calls;  // one after the other
};

struct DrawnFile {
  std::uint32_t ranks = 0;
  std::vector<DrawnArray> arrays;   // in the order of the file
  std::vector<DrawnCall> metadata;  // small pieces of single ranks
  std::vector<DrawnCall> calls;     // all, in the order of time
};

// 1 to 30 arrays of 1 to 3 dimensions by 2 to 64 ranks.
DrawnFile drawn_file(std::mt19937_64& random);

}  // namespace iotune::testing
