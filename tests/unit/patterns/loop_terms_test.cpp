#include "patterns/loop_terms.h"

#include <gtest/gtest.h>

#include "round_trip.h"
#include "tuple_at.h"

namespace iotune::patterns {
namespace {

using testing::encode;
using testing::OwnedTree;
using testing::read_tree;
using testing::tuple_at;
using testing::Values;

TEST(LoopTerms, show_the_nest_without_expanding_it) {
  Values values;
  for (std::int64_t i = 0; i < 10; ++i) {
    for (std::int64_t k = 0; k < 7; ++k) values.insert(values.end(), {100 + i * 1000 + k * 8, 8});
  }
  const OwnedTree owned = read_tree(encode(values, 2), 70, 2);
  ASSERT_EQ(owned.tree.rows, 70U);
  const Term* outer = owned.tree.first();
  ASSERT_NE(outer, nullptr);
  EXPECT_EQ(outer->kind, Term::Kind::kLoop);
  EXPECT_EQ(outer->count, 10U);
  EXPECT_EQ(outer->rows, 70U);
  EXPECT_EQ(outer->values[0], 100);
  EXPECT_EQ(outer->values[1], 8);
  EXPECT_EQ(outer->stride[0], 1000);
  EXPECT_EQ(outer->stride[1], 0);
  EXPECT_EQ(owned.tree.next(*outer), nullptr);
  const Term* inner = owned.tree.first_child(*outer);
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(inner->count, 7U);
  EXPECT_EQ(inner->values[0], 0);  // relative to the iteration
  EXPECT_EQ(inner->stride[0], 8);
  const Term* atom = owned.tree.first_child(*inner);
  ASSERT_NE(atom, nullptr);
  EXPECT_EQ(atom->kind, Term::Kind::kAtoms);
  EXPECT_EQ(atom->count, 1U);
  EXPECT_EQ(owned.tree.first_child(*atom), nullptr);
}

TEST(LoopTerms, loops_without_one_stride_leave_it_to_their_atoms) {
  Values values;
  for (std::int64_t i = 0; i < 50; ++i) values.insert(values.end(), {7, 1000 + i * 16});
  const OwnedTree owned = read_tree(encode(values, 1), 100, 1);
  const Term* loop = owned.tree.first();
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(loop->count, 50U);
  EXPECT_EQ(loop->stride, nullptr);
  const Term* atoms = owned.tree.first_child(*loop);
  ASSERT_EQ(atoms->count, 2U);
  ASSERT_EQ(atoms->levels, 1U);
  EXPECT_EQ(atoms->values[1], 993);
  EXPECT_EQ(atoms->own_strides[0], 0);
  EXPECT_EQ(atoms->own_strides[1], 16);
}

TEST(LoopTerms, equal_bodies_are_shared) {
  Values values;
  for (const std::int64_t start : {0, 100000, 777777}) {
    for (std::int64_t k = 0; k < 20; ++k) values.push_back(start + k * 24);
  }
  const OwnedTree owned = read_tree(encode(values, 1), 60, 1);
  const Term* first = owned.tree.first();
  const Term* second = owned.tree.next(*first);
  ASSERT_NE(second, nullptr);
  EXPECT_FALSE(first->repeated);
  EXPECT_TRUE(second->repeated);
  EXPECT_EQ(first->first_child, second->first_child);
  EXPECT_EQ(second->values[0], 100000);
}

TEST(LoopTerms, need_the_room_that_was_measured) {
  Values values;
  for (std::int64_t k = 0; k < 20; ++k) values.push_back(k * k);
  for (std::int64_t k = 0; k < 20; ++k) values.push_back(k);
  const auto bytes = encode(values, 1);
  TermSpace space;
  ASSERT_TRUE(measure_terms(ByteReader(bytes), 40, 1, space));
  for (int less = 0; less < 3; ++less) {
    std::vector<Term> terms(space.terms - (less == 1 ? 1 : 0));
    Values room(space.values - (less == 2 ? 1 : 0));
    TermTree tree;
    ByteReader in(bytes);
    EXPECT_EQ(read_terms(in, 40, 1, terms, room, tree), less == 0);
    EXPECT_EQ(in.failed(), less != 0);
    EXPECT_EQ(tree.rows, less == 0 ? 40U : 0U);
  }
}

TEST(LoopTerms, rows_outside_are_refused) {
  const Values values = {1, 2, 3, 4};
  const OwnedTree owned = read_tree(encode(values, 2), 2, 2);
  Values tuple(2);
  EXPECT_TRUE(tuple_at(owned.tree, 1, tuple));
  EXPECT_FALSE(tuple_at(owned.tree, 2, tuple));
  EXPECT_FALSE(tuple_at(owned.tree, 0, std::span(tuple).first(1)));
}

}  // namespace
}  // namespace iotune::patterns
