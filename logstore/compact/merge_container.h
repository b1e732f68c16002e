// The merged index of a container, and what of its logs is still needed.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/index/offset_index.h"
#include "logstore/read/container.h"

namespace iotune::logstore {

// Of all that the container's map holds; every writer of the map is covered. An error where times
// lie too far apart to be kept in order.
Result<MergedIndex> merge_container(const Container& container);

// What holes of writers that do not stay hide of the others, as holes: pieces of the file's size, and
// what lies behind it. Of `merged` before keep_writers().
std::vector<analyzer::Segment> holes_of_others(const std::vector<bool>& keeps,
                                               const MergedIndex& merged, const LogMap& map);

// For each writer of the index, at most so many bytes of its log are in the file. Exact where
// nothing overlaps.
std::vector<std::int64_t> most_live_bytes(const analyzer::IndexParts& parts);
// Exact: goes over all pieces of the file.
std::vector<std::int64_t> live_bytes(const LogMap& map);

// The same index without some of its writers: where `keeps` is false, nothing of it is left. Gives
// the others new numbers, in their order. Nests of several writers become one for each.
void keep_writers(const std::vector<bool>& keeps, MergedIndex& merged);

}  // namespace iotune::logstore
