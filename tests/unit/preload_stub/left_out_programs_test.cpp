// Lists of programs to leave out, without the library around them.
#include "core/run/left_out_programs.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "core/link/loaded_objects.h"
#include "core/process/process_facts.h"

namespace iotune {

// What the lists ask of the process; here of nobody.
const char* program_path() noexcept {
  return "/real/place/of/it";
}
void absolute_path(const char* path, ShortText<4096>& to) noexcept {
  to.clear();
  if (*path != '/') to << "/user/here/";
  to << path;
}
int visit_objects(int (*)(dl_phdr_info*, std::size_t, void*), void*) noexcept {
  return 0;
}

namespace {

bool listed(const char* globs, const char* path, std::initializer_list<const char*> more = {}) {
  std::vector<const char*> arguments{path};
  arguments.insert(arguments.end(), more);
  arguments.push_back(nullptr);
  return is_listed_program(globs, {path, arguments.data()});
}

TEST(LeftOutProgramsTest, HasNames) {
  EXPECT_TRUE(listed("blastn", "/opt/bin/blastn"));
  EXPECT_TRUE(listed("a::blast*:b", "blastn"));
  EXPECT_FALSE(listed("blast", "/opt/bin/blastn"));
  EXPECT_FALSE(listed("bin", "/opt/bin/blastn"));
  EXPECT_FALSE(listed("", "/opt/bin/blastn"));
  EXPECT_FALSE(listed(nullptr, "/opt/bin/blastn"));
  EXPECT_FALSE(is_listed_program("*", {nullptr, nullptr}));
}

TEST(LeftOutProgramsTest, HasFolders) {
  for (const char* const globs :
       {"/opt", "/opt/", "/opt/*", "/op?/tools", "/opt/tools/blastn", "/"}) {
    EXPECT_EQ(listed(globs, "/opt/tools/blastn"), std::string(globs) != "/") << globs;
  }
  EXPECT_FALSE(listed("/opt/too:/tools", "/opt/tools/blastn"));
  EXPECT_TRUE(listed("/user/here", "./blastn"));
  EXPECT_TRUE(listed("x:/real/place", "/opt/tools/blastn"));
}

TEST(LeftOutProgramsTest, KnowsWhatPythonRuns) {
  const char* const python = "/usr/bin/python3.11";
  EXPECT_TRUE(listed("pip", python, {"-m", "pip", "install"}));
  EXPECT_TRUE(listed("pip", python, {"-I", "-W", "ignore", "-mpip"}));
  EXPECT_TRUE(listed("steps.py", python, {"-u", "/home/me/steps.py", "-m", "pip"}));
  EXPECT_FALSE(listed("pip", python, {"/home/me/steps.py", "-m", "pip"}));
  EXPECT_FALSE(listed("pip", python, {"-c", "pip"}));
  EXPECT_FALSE(listed("pip", python, {"-m"}));
  EXPECT_FALSE(listed("pip", "/usr/bin/cat", {"pip"}));
  EXPECT_TRUE(listed("python*", python, {"-m", "pip"}));
}

TEST(LeftOutProgramsTest, HasToolsAndNoProgramsOfScience) {
  for (const char* const name : {"sh", "bash", "cp", "tar", "sort", "man", "git", "gcc", "cc1plus",
                                 "x86_64-linux-gnu-gcc-12", "ld", "cmake", "ssh-keygen", "make"}) {
    EXPECT_TRUE(is_everyday_program({name, nullptr})) << name;
  }
  for (const char* const name : {"diffusion", "pipeline", "mesh", "python3", "dd", "ior", "vpic-io",
                                 "gromacs", "aptamer", "shallow", "fort.x", "ls-dyna"}) {
    EXPECT_FALSE(is_everyday_program({name, nullptr})) << name;
  }
}

}  // namespace
}  // namespace iotune
