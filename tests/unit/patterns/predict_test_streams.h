// What the tests of the predictors share: running one over a stream and counting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "patterns/extent.h"
#include "patterns/predict/prediction.h"

namespace iotune::patterns::testing {

using Accesses = std::vector<Extent>;

// How many accesses were predicted exactly, each by the prediction made just before it.
template <typename P>
std::size_t count_right(P& predictor, const Accesses& stream, std::size_t from = 0) {
  std::size_t right = 0;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    Prediction next{};
    const bool hit = predictor.predict({&next, 1}) == 1 && next.extent == stream[i];
    right += hit && i >= from ? 1 : 0;
    predictor.observe(stream[i]);
  }
  return right;
}

template <typename P>
std::vector<Extent> next_of(const P& predictor, std::size_t count) {
  std::vector<Prediction> made(count);
  made.resize(predictor.predict(made));
  std::vector<Extent> extents;
  for (const Prediction& one : made) extents.push_back(one.extent);
  return extents;
}

struct TestLoop {
  std::int64_t count, stride;
};

// A nest of loops, outermost first, around `body`.
inline Accesses nest(const std::vector<TestLoop>& loops, const Accesses& body,
                     std::int64_t start = 0) {
  Accesses all{{start, 0}};
  for (const TestLoop& loop : loops) {
    Accesses next;
    for (const Extent& at : all) {
      for (std::int64_t i = 0; i < loop.count; ++i)
        next.push_back({at.offset + i * loop.stride, 0});
    }
    all = std::move(next);
  }
  Accesses expanded;
  for (const Extent& at : all) {
    for (const Extent& part : body) expanded.push_back({at.offset + part.offset, part.length});
  }
  return expanded;
}

}  // namespace iotune::patterns::testing
