#include "analyzer/pattern_log/shapes.h"

#include <utility>

#include "patterns/loop_finder.h"

namespace iotune::analyzer::pattern_log {
namespace {

using patterns::mix;

void append_shape(const Shapes& shapes, std::uint32_t index, std::vector<std::uint64_t>& numbers) {
  const Shape& shape = shapes[index];
  for (const ShapePart& part : shape.parts) {
    if (part.shape == 0) continue;
    numbers.push_back(part.count);
    append_shape(shapes, part.shape, numbers);
  }
  for (const Extent& stride : shape.strides) {
    numbers.push_back(unsigned_of(stride.offset));
    numbers.push_back(unsigned_of(stride.length));
  }
}

void append_shape_roles(const Shapes& shapes, std::uint32_t index, std::vector<Role>& roles) {
  const Shape& shape = shapes[index];
  for (const ShapePart& part : shape.parts) {
    if (part.shape == 0) continue;
    roles.push_back(Role::kCount);
    append_shape_roles(shapes, part.shape, roles);
  }
  for (std::size_t l = 0; l < shape.strides.size(); ++l) {
    roles.push_back(Role::kOffsetStride);
    roles.push_back(Role::kLengthStride);
  }
}

Extent take_extent(const std::uint64_t*& at) {
  const Extent taken = {signed_of(at[0]), signed_of(at[1])};
  at += 2;
  return taken;
}

std::uint32_t shape_of_numbers(Shapes& shapes, std::uint32_t like, const std::uint64_t*& at) {
  std::vector<ShapePart> parts = shapes[like].parts;
  for (ShapePart& part : parts) {
    if (part.shape == 0) continue;
    part.count = *at++;
    part.shape = shape_of_numbers(shapes, part.shape, at);
  }
  std::vector<Extent> strides(shapes[like].leaves);
  for (Extent& stride : strides) stride = take_extent(at);
  return shapes.intern(std::move(parts), std::move(strides));
}

}  // namespace

Shapes::Shapes() {
  shapes_.emplace_back();
}

void Shapes::clear() {
  shapes_.resize(1);
  by_hash_.clear();
  form_of_.clear();
}

std::uint32_t Shapes::intern(std::vector<ShapePart> parts, std::vector<Extent> strides) {
  std::uint64_t hash = mix(parts.size());
  std::uint64_t form = hash;
  for (const ShapePart& part : parts) {
    hash = mix(mix(hash ^ part.count) ^ part.shape);
    form = mix(form ^ shapes_[part.shape].form);
  }
  for (const Extent& stride : strides) {
    hash = mix(mix(hash ^ unsigned_of(stride.offset)) ^ unsigned_of(stride.length));
  }
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Shape& known = shapes_[it->second];
    if (known.strides != strides || known.parts.size() != parts.size()) continue;
    bool same = true;
    for (std::size_t p = 0; p < parts.size() && same; ++p) {
      same = known.parts[p].count == parts[p].count && known.parts[p].shape == parts[p].shape;
    }
    if (same) return it->second;
  }
  Shape made;
  made.rows = 0;
  made.leaves = 0;
  for (ShapePart& part : parts) {
    const Shape& inner = shapes_[part.shape];
    part.first_leaf = made.leaves;
    made.rows += inner.rows * part.count;
    made.leaves += inner.leaves;
    made.depth = inner.depth > made.depth ? inner.depth : made.depth;
  }
  ++made.depth;
  const std::uint32_t index = size();
  made.form = index;
  const auto [first, last] = form_of_.equal_range(form);
  for (auto it = first; it != last && made.form == index; ++it) {
    const Shape& known = shapes_[it->second];
    bool same = known.parts.size() == parts.size();
    for (std::size_t p = 0; p < parts.size() && same; ++p) {
      same = shapes_[known.parts[p].shape].form == shapes_[parts[p].shape].form;
    }
    if (same) made.form = it->second;
  }
  if (made.form == index) form_of_.emplace(form, index);
  made.parts = std::move(parts);
  made.strides = std::move(strides);
  shapes_.push_back(std::move(made));
  by_hash_.emplace(hash, index);
  return index;
}

void append_numbers(const Shapes& shapes, const TermList& list,
                    std::vector<std::uint64_t>& numbers) {
  std::size_t leaf = 0;
  for (const ShapeTerm& term : list.terms) {
    if (term.shape != 0) {
      numbers.push_back(term.count);
      append_shape(shapes, term.shape, numbers);
    }
    for (std::uint32_t l = 0; l < shapes[term.shape].leaves; ++l, ++leaf) {
      numbers.push_back(unsigned_of(list.leaves[leaf].offset));
      numbers.push_back(unsigned_of(list.leaves[leaf].length));
    }
  }
}

void append_roles(const Shapes& shapes, const TermList& list, std::vector<Role>& roles) {
  for (const ShapeTerm& term : list.terms) {
    if (term.shape != 0) {
      roles.push_back(Role::kCount);
      append_shape_roles(shapes, term.shape, roles);
    }
    for (std::uint32_t l = 0; l < shapes[term.shape].leaves; ++l) {
      roles.push_back(Role::kOffset);
      roles.push_back(Role::kLength);
    }
  }
}

TermList list_of_numbers(Shapes& shapes, const TermList& like, const std::uint64_t* numbers) {
  TermList list;
  list.terms.reserve(like.terms.size());
  list.leaves.reserve(like.leaves.size());
  for (const ShapeTerm& term : like.terms) {
    ShapeTerm made = term;
    if (term.shape != 0) {
      made.count = *numbers++;
      made.shape = shape_of_numbers(shapes, term.shape, numbers);
    }
    for (std::uint32_t l = 0; l < shapes[term.shape].leaves; ++l) {
      list.leaves.push_back(take_extent(numbers));
    }
    list.terms.push_back(made);
  }
  return list;
}

TermList renumbered(const Shapes& from, const TermList& list, Shapes& to,
                    std::vector<std::uint32_t>& numbers) {
  numbers.resize(from.size(), 0);
  const auto number = [&](const auto& self, std::uint32_t index) -> std::uint32_t {
    if (index == 0 || numbers[index] != 0) return numbers[index];
    std::vector<ShapePart> parts = from[index].parts;
    for (ShapePart& part : parts) part.shape = self(self, part.shape);
    return numbers[index] = to.intern(std::move(parts), from[index].strides);
  };
  TermList made{list.terms, list.leaves};
  for (ShapeTerm& term : made.terms) term.shape = number(number, term.shape);
  return made;
}

std::uint64_t form_hash(const Shapes& shapes, const TermList& list) noexcept {
  std::uint64_t hash = mix(list.terms.size());
  // A mark a run of one form: lists without loops are long.
  std::uint32_t form = UINT32_MAX;
  std::uint64_t run = 0;
  for (const ShapeTerm& term : list.terms) {
    const std::uint32_t next = shapes[term.shape].form;
    if (next == form) {
      ++run;
      continue;
    }
    hash = mix(hash ^ run) + next;
    form = next;
    run = 1;
  }
  return mix(hash ^ run);
}

bool same_form(const Shapes& shapes, const TermList& a, const TermList& b) noexcept {
  if (a.terms.size() != b.terms.size()) return false;
  for (std::size_t t = 0; t < a.terms.size(); ++t) {
    if (shapes[a.terms[t].shape].form != shapes[b.terms[t].shape].form) return false;
  }
  return true;
}

void ListCursor::descend() {
  while (true) {
    const Level& top = levels_.back();
    const ShapePart& part = (*shapes_)[top.shape].parts[top.part];
    if (part.shape == 0) return;
    levels_.push_back({part.shape, 0, top.leaf + part.first_leaf, 0, part.count});
  }
}

bool ListCursor::next(Extent& access) {
  if (levels_.empty()) {
    if (term_ == list_->terms.size()) return false;
    const ShapeTerm& term = list_->terms[term_];
    if (term.shape == 0) {
      access = list_->leaves[first_leaf_++];
      ++term_;
      return true;
    }
    levels_.push_back({term.shape, 0, 0, 0, term.count});
    descend();
  }
  const std::uint32_t leaf =
      levels_.back().leaf + (*shapes_)[levels_.back().shape].parts[levels_.back().part].first_leaf;
  access = list_->leaves[first_leaf_ + leaf];
  for (const Level& level : levels_) {
    access = moved(access, (*shapes_)[level.shape].strides[leaf - level.leaf], level.iteration);
  }
  while (!levels_.empty()) {
    Level& top = levels_.back();
    if (++top.part < (*shapes_)[top.shape].parts.size()) {
      descend();
      return true;
    }
    top.part = 0;
    if (++top.iteration < top.count) {
      descend();
      return true;
    }
    levels_.pop_back();
  }
  first_leaf_ += (*shapes_)[list_->terms[term_].shape].leaves;
  ++term_;
  return true;
}

}  // namespace iotune::analyzer::pattern_log
