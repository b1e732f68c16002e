// What a run is a run of: the executable's base name, or the script that an interpreter runs.
#pragma once

#include <string>
#include <vector>

namespace iotune::analyzer {

// What follows the last slash.
std::string base_name(const std::string& path);

// `program`: the executable's path or name; `arguments`: its command line, the program's own name
// first. A script is named by its base name, a module of Python as "python -m NAME", text on the
// command line as "python -c".
std::string program_identity(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace iotune::analyzer
