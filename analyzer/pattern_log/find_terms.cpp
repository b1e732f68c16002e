#include "analyzer/pattern_log/find_terms.h"

#include <algorithm>
#include <utility>

#include "patterns/loop_finder.h"

namespace iotune::analyzer::pattern_log {
namespace {

constexpr std::uint32_t kFirstCapacity = 24;

// What LoopFinder found, as shapes. The accesses are all there: leaves and strides are read there.
class FoundShapes {
 public:
  FoundShapes(patterns::LoopFinder& found, std::span<const Extent> accesses, Shapes& shapes)
      : found_(found), accesses_(accesses), shapes_(shapes) {}

  void append(const patterns::FoundTerm& term, TermList& list) {
    const patterns::Body& body = found_.body(term.body);
    list.terms.push_back({term.count, shape_of(term.body)});
    for (std::uint32_t l = 0; l < body.leaves; ++l) {
      list.leaves.push_back(accesses_[term.start + found_.leaves(body)[l]]);
    }
  }

 private:
  std::uint32_t shape_of(std::uint32_t index) {
    if (index == 0) return 0;
    if (index >= known_.size()) known_.resize(index + 1, 0);
    if (known_[index] != 0) return known_[index];
    const patterns::Body& body = found_.body(index);
    std::vector<ShapePart> parts(body.parts);
    for (std::uint32_t p = 0; p < body.parts; ++p) {
      const patterns::BodyPart& part = found_.parts(body)[p];
      parts[p] = {part.count, shape_of(part.body), 0};
    }
    std::vector<Extent> strides(body.leaves);
    for (std::uint32_t l = 0; l < body.leaves; ++l) {
      const std::uint32_t row = body.start + found_.leaves(body)[l];
      strides[l] = moved(accesses_[row + body.rows], accesses_[row], ~std::uint64_t{0});
    }
    return known_[index] = shapes_.intern(std::move(parts), std::move(strides));
  }

  patterns::LoopFinder& found_;
  std::span<const Extent> accesses_;
  Shapes& shapes_;
  std::vector<std::uint32_t> known_;  // by body; 0: not known yet
};

}  // namespace

TermList all_terms(std::span<const Extent> accesses, Shapes& shapes) {
  TermList list;
  if (accesses.empty()) return list;
  constexpr unsigned kDims = 2;
  static_assert(sizeof(Extent) == kDims * sizeof(std::uint64_t));
  std::vector<std::byte> scratch(patterns::scratch_bytes(accesses.size(), kDims));
  patterns::LoopFinder found(reinterpret_cast<const std::uint64_t*>(accesses.data()),
                             accesses.size(), kDims, scratch,
                             patterns::EncodeOptions{}.max_body_terms);
  found.run();
  FoundShapes made(found, accesses, shapes);
  for (std::uint32_t t = 0; t < found.term_count(); ++t) made.append(found.terms()[t], list);
  return list;
}

void TermFinder::add(std::span<const Extent> accesses, Shapes& shapes, TermList& list) {
  while (!accesses.empty()) {
    const std::size_t taken = finder_ ? finder_->add(accesses.data(), accesses.size()) : 0;
    accesses = accesses.subspan(taken);
    if (!accesses.empty()) make_room(shapes, list);
  }
}

std::size_t TermFinder::add_until_open(std::span<const Extent> accesses, Shapes& shapes,
                                       TermList& list) {
  std::size_t done = 0;
  while (done < accesses.size() && !(finder_ && finder_->open())) {
    const auto rest = accesses.subspan(done);
    const std::size_t taken = finder_ ? finder_->add_until_open(rest.data(), rest.size()) : 0;
    done += taken;
    if (taken < rest.size() && !(finder_ && finder_->open())) make_room(shapes, list);
  }
  return done;
}

void TermFinder::make_room(Shapes& shapes, TermList& list) {
  if (finder_ && capacity_ >= most_terms_) return take(finder_->terms_due(), shapes, list);
  const std::uint32_t capacity = std::min(finder_ ? 4 * capacity_ : kFirstCapacity, most_terms_);
  const std::size_t words = patterns::NestFinder::memory_bytes(capacity) / 8 + 1;
  // Not cleared: the finder clears what it reads before it writes it.
  auto memory = capacity == capacity_ ? std::move(memory_)
                                      : std::make_unique_for_overwrite<std::uint64_t[]>(words);
  patterns::NestFinder larger(std::as_writable_bytes(std::span(memory.get(), words)), capacity);
  larger.set_may_grow(capacity < most_terms_);
  if (finder_) larger.adopt(*finder_);
  finder_.emplace(larger);
  memory_ = std::move(memory);
  capacity_ = capacity;
}

void TermFinder::finish(Shapes& shapes, TermList& list) {
  if (!finder_) return;
  while (!finder_->finish()) make_room(shapes, list);
  take(static_cast<std::uint32_t>(finder_->terms().size()), shapes, list);
  finder_.reset();
  shape_of_ = {};
  if (capacity_ > kFirstCapacity) {
    memory_.reset();
    capacity_ = 0;
  }
}

void TermFinder::take(std::uint32_t terms, Shapes& shapes, TermList& list) {
  if (finder_->generation() != generation_) {
    generation_ = finder_->generation();
    shape_of_.clear();
  }
  const auto taken = finder_->terms().first(terms);
  for (std::size_t t = 0; t < taken.size();) {
    const Extent* const leaves = finder_->leaves(taken[t]);
    // Accesses lie side by side: all at once.
    std::size_t run = 0;
    while (t + run < taken.size() && taken[t + run].body == 0) ++run;
    if (run > 0) {
      list.terms.insert(list.terms.end(), run, {1, 0});
      list.leaves.insert(list.leaves.end(), leaves, leaves + run);
      t += run;
      continue;
    }
    list.terms.push_back({taken[t].count, shape_of(taken[t].body, shapes)});
    list.leaves.insert(list.leaves.end(), leaves, leaves + finder_->leaf_count(taken[t]));
    ++t;
  }
  finder_->drop(terms);
}

std::uint32_t TermFinder::shape_of(std::uint32_t index, Shapes& shapes) {
  if (index == 0) return 0;
  if (index < shape_of_.size() && shape_of_[index] != 0) return shape_of_[index];
  const patterns::NestBody& body = finder_->body(index);
  std::vector<ShapePart> parts(body.parts);
  for (std::uint32_t p = 0; p < body.parts; ++p) {
    const patterns::NestPart& part = finder_->parts(body)[p];
    parts[p] = {part.count, shape_of(part.body, shapes), 0};
  }
  const Extent* const strides = finder_->strides(body);
  const std::uint32_t shape =
      shapes.intern(std::move(parts), std::vector<Extent>(strides, strides + body.leaves));
  if (shape_of_.size() <= index) shape_of_.resize(index + 1, 0);
  shape_of_[index] = shape;
  return shape;
}

}  // namespace iotune::analyzer::pattern_log
