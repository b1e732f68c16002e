// Goes through the calls of one process and notes down what they did to which file.
#pragma once

#include <cstdint>

#include "analyzer/file_table.h"
#include "recorder/read/call.h"

namespace iotune::analyzer {

// `rank`: the process's own number among those of the run.
void walk_process(const recorder::ProcessCalls& process, std::int64_t rank, FileTable& files);

}  // namespace iotune::analyzer
