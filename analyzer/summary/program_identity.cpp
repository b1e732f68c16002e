#include "analyzer/summary/program_identity.h"

#include <algorithm>
#include <string_view>

namespace iotune::analyzer {

namespace {

// How an interpreter's command line is read up to its script.
struct Interpreter {
  std::string_view name;        // of its executable, without a version
  std::string_view with_value;  // options that take the next word, each between blanks
  std::string_view text;        // options that have the program itself behind them
  std::string_view module;      // the option that names a module; empty: none
};
constexpr Interpreter kInterpreters[] = {
    {"python", " -X -W -Q --check-hash-based-pycs ", " -c ", "-m"},
    {"pypy", " -X -W --jit ", " -c ", "-m"},
    {"perl", " -I -C ", " -e -E ", ""},
    {"ruby", " -I -r -C ", " -e ", ""},
    {"julia", " -J -t -p -L --threads --procs --load --sysimage --project ", " -e -E ", ""},
    {"node", " -r --require --import ", " -e -p --eval ", ""},
    {"nodejs", " -r --require --import ", " -e -p --eval ", ""},
    {"R", " -f -g ", " -e ", ""},
};
// Modules that run a script which they are given.
constexpr std::string_view kRunners[] = {"mpi4py",  "mpi4py.run", "mpi4py.futures", "cProfile",
                                         "profile", "pdb",        "trace"};

bool is_in(std::string_view list, const std::string& option) {
  return list.find(" " + option + " ") != std::string_view::npos;
}

// python3.11 and python are one, pythonista is another program.
const Interpreter* interpreter_of(const std::string& program) {
  for (const Interpreter& one : kInterpreters) {
    if (program.compare(0, one.name.size(), one.name) != 0) continue;
    const std::string version = program.substr(one.name.size());
    if (version.find_first_not_of("0123456789.-dmt") == std::string::npos) return &one;
  }
  return nullptr;
}

}  // namespace

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string program_identity(const std::string& program,
                             const std::vector<std::string>& arguments) {
  const std::string name = base_name(program);
  const Interpreter* const interpreter = interpreter_of(name);
  if (interpreter == nullptr) return name;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    constexpr std::string_view kFile = "--file=";  // as Rscript calls R
    if (word.compare(0, kFile.size(), kFile) == 0) return base_name(word.substr(kFile.size()));
    if (word.size() < 2 || word[0] != '-') {
      if (word == "-" || word.empty() || base_name(word).empty()) return name;
      return base_name(word);
    }
    if (is_in(interpreter->text, word)) return std::string(interpreter->name) + " " + word;
    if (!interpreter->module.empty() && word == interpreter->module) {
      if (i + 1 == arguments.size()) return name;
      const std::string& module = arguments[i + 1];
      const bool runs_script =
          std::find(std::begin(kRunners), std::end(kRunners), module) != std::end(kRunners);
      if (!runs_script) return std::string(interpreter->name) + " -m " + module;
      ++i;
      continue;
    }
    if (word == "--") continue;
    if (is_in(interpreter->with_value, word)) ++i;
  }
  return name;
}

}  // namespace iotune::analyzer
