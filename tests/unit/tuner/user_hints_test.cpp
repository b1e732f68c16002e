// Hints that the user named are found wherever they stand.
#include "tuner/mpiio/user_hints.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace iotune::tuner {
namespace {

class HintsFile : public ::testing::Test {
 protected:
  HintsFile()
      : path_(std::filesystem::temp_directory_path() /
              ("iotune-hints-" + std::to_string(getpid()))) {}
  ~HintsFile() override { std::filesystem::remove(path_); }

  UserHints read(const std::string& text) {
    std::ofstream(path_) << text;
    UserHints hints;
    EXPECT_TRUE(hints.add_file(path_.c_str()));
    return hints;
  }

  std::filesystem::path path_;
};

TEST_F(HintsFile, NamesAreReadAsRomioReadsThem) {
  const UserHints hints = read(
      "# mine: striping_unit 4\ncb_nodes 2\n\t romio_ds_write\tenable\n\nind_rd_buffer_size#1\n"
      "cb_nodes 3\nstriping_factor 7");
  for (const char* name : {"cb_nodes", "romio_ds_write", "ind_rd_buffer_size", "striping_factor"}) {
    EXPECT_TRUE(hints.has(name)) << name;
  }
  for (const char* name : {"striping_unit", "cb_node", "nodes", "enable", "2", "", "mine:"}) {
    EXPECT_FALSE(hints.has(name)) << name;
  }
}

TEST_F(HintsFile, NoCommentIsTooLong) {
  std::string text = "cb_nodes 2\n";
  while (text.size() < 100'000) text += "# what the site wrote about its hints, at some length\n";
  text += "#" + std::string(20'000, '-') + "\n" + "cb_buffer_size " + std::string(5'000, ' ') +
          "1\nromio_cb_write enable\n";
  const UserHints hints = read(text);
  EXPECT_TRUE(hints.has("cb_nodes"));
  EXPECT_TRUE(hints.has("cb_buffer_size"));
  EXPECT_TRUE(hints.has("romio_cb_write"));
  EXPECT_FALSE(hints.has("striping_unit"));
}

TEST_F(HintsFile, NamesAcrossPiecesAreWhole) {
  for (std::size_t comment = 1000; comment < 1040; ++comment) {
    const UserHints hints = read("#" + std::string(comment, 'x') + "\nstriping_factor 7\n");
    EXPECT_TRUE(hints.has("striping_factor")) << comment;
    EXPECT_FALSE(hints.has("striping")) << comment;
  }
}

TEST_F(HintsFile, WhatCannotBeKeptMayBeAnyHint) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "hint_number_" + std::to_string(i) + " 1\n";
  EXPECT_TRUE(read(text).has("cb_nodes"));
  // A directory can be opened, but not read.
  UserHints hints;
  EXPECT_TRUE(hints.add_file("/"));
  EXPECT_TRUE(hints.has("cb_nodes"));
  EXPECT_FALSE(UserHints().add_file("/nowhere/hints"));
}

TEST(UserHintsVariable, NamesCountForEveryFile) {
  UserHints hints;
  hints.add_variable("*.h5:cb_nodes=2:romio_cb_write=enable,other:striping_unit=1");
  EXPECT_TRUE(hints.has("cb_nodes"));
  EXPECT_TRUE(hints.has("romio_cb_write"));
  EXPECT_TRUE(hints.has("striping_unit"));
  EXPECT_FALSE(hints.has("*.h5"));
  EXPECT_FALSE(hints.has("cb_buffer_size"));
}

}  // namespace
}  // namespace iotune::tuner
