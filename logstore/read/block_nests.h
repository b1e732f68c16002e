// The writes of a block as nests (analyzer/index/nest.h): loops that are never expanded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/index/nest.h"
#include "logstore/read/block_lists.h"

namespace iotune::logstore {

enum class NestProblem { kNone, kBroken, kTooMany };

// Appends a nest for each leaf of the block's terms, outermost loop first, in no normal form; a
// loop whose iterations differ in length becomes nests per iteration. `bytes` is what all writes
// take in the log. kBroken: a number leaves its range. kTooMany: more than `most` nests. `to` is as
// before unless it went well.
NestProblem append_block_nests(const BlockLists& block, std::size_t most,
                               std::vector<analyzer::Nest>& to, std::int64_t& bytes);

// Of such nests positions and places in the log ascend from access to access, each loop's step
// being at least what is within. The others do not know that:

// Appends what of the nest lies in the log's first `bytes` as a whole. Returns the bytes of the
// accesses that do not.
std::int64_t keep_whole_accesses(const analyzer::Nest& nest, std::int64_t bytes,
                                 std::vector<analyzer::Nest>& to);

// Where the accesses from `position` on reach to in the file; 0 where there is none.
std::int64_t end_from_position(const analyzer::Nest& nest, std::int64_t position);

}  // namespace iotune::logstore
