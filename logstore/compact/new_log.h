// Live bytes of many logs, copied into one.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyzer/index/index_builder.h"
#include "logstore/read/container.h"

namespace iotune::logstore {

// Where the new log's bytes go. False: errno says why.
using WriteLog = std::function<bool(std::span<const std::byte> bytes, std::int64_t offset)>;

// Copies what the file has of the writers for which `from` is true, in the file's order, and adds
// it to `builder` as accesses of `stream` that were all made at `time`. Returns the bytes copied.
Result<std::int64_t> copy_live(const Container& container, const std::vector<bool>& from,
                               const WriteLog& write, analyzer::IndexBuilder& builder,
                               std::uint32_t stream, std::int64_t time);

}  // namespace iotune::logstore
