// Goes through the calls of one process and notes down what they did to which file.
#pragma once

#include "analyzer/file_table.h"
#include "recorder/read/call.h"

namespace iotune::analyzer {

void walk_process(const recorder::ProcessCalls& process, FileTable& files);

}  // namespace iotune::analyzer
