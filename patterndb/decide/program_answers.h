// What a configuration and a database say of the files that a program opens by POSIX itself: asked
// for all of them at once, at a moment when asking is safe. (An open may stand in a signal handler,
// and each rank makes its own.)
#pragma once

#include <string>
#include <vector>

#include "patterndb/decide/decide.h"

namespace iotune::patterndb {

struct ProgramAnswer {
  std::string file;        // a masked base name, or as a configuration has it
  bool masked = false;     // of a database: digits are '#'
  std::string filesystem;  // on which it holds; empty: on any
  bool creating = true;    // of files that the open may make; else of such that are there
  Decision decision;
};

// `question` tells program, ranks and nodes. Reads only. Of a configuration only the leaves with
// FileName count.
Result<std::vector<ProgramAnswer>> program_answers(const Question& question,
                                                   const Places& places) noexcept;

}  // namespace iotune::patterndb
