// A private folder per test, and records that look like VPIC-IO and IOR.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "patterndb/decide/decide.h"
#include "patterndb/store/pattern_db.h"
#include "patterndb/store/records.h"

namespace iotune::patterndb::testing {

class Folder : public ::testing::Test {
 protected:
  Folder();
  ~Folder() override;
  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

void write_file(const std::string& path, const std::string& text);
std::string read_file(const std::string& path);
bool exists(const std::string& path);
std::size_t entries(const std::string& folder);  // without . and ..

// Runs `function` in a child process as an ordinary user, because root may do everything.
// Returns its message, empty on success.
std::string as_ordinary_user(const std::string& folder,
                             std::string (*function)(const std::string&));

Pattern one_dimensional(std::uint64_t count, std::uint64_t element_bytes, std::uint64_t ranks = 4);
inline Pattern vpic() {
  return one_dimensional(8388608, 4);
}
inline Pattern ior() {
  return one_dimensional(4194304, 8);
}

Platform local_platform(const std::string& filesystem = "ext4");
Tuning tuned(const Pattern& pattern, const std::string& settings, double made_at = 100);
Observation vpic_run(double at = 50, const std::string& run = "run-1");
Question vpic_question(bool creating = true);

// A Result's value, or a test failure with its message.
template <typename T>
T must(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().text();
    throw std::runtime_error(result.error().text());
  }
  return std::move(*result);
}

PatternDb create(const std::string& path);

// A decision as the tuner reads it, a line for each thing that it says ("set cb_nodes 2").
std::string packed_lines(const Decision& decision);

}  // namespace iotune::patterndb::testing
