// Files folded while they are taken: what is one entry, and what it says.
#include "analyzer/summary/alike_files.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace iotune::analyzer {
namespace {

FilePattern written(const std::string& path, std::uint64_t bytes, double seconds = 0) {
  FilePattern file{};
  file.path = path;
  file.bytes_written = bytes;
  file.io_seconds = seconds;
  DatasetPattern dataset{};
  dataset.dataset = "(bytes)";
  dataset.write = true;
  dataset.element_bytes = 1;
  dataset.dataset_dims = {bytes};
  dataset.bytes = bytes;
  dataset.repeats = 1;
  dataset.descriptor.dimensions = {{Distribution::kBlock, bytes, 1}};
  file.datasets.push_back(dataset);
  return file;
}

std::vector<AlikeFiles> entries_of(const FileFolder& folder) {
  std::vector<AlikeFiles> entries;
  folder.each([&](const AlikeFiles& one) { entries.push_back(one); });
  return entries;
}

TEST(FileFolder, FilesOfOnePatternAreOneEntry) {
  FileFolder folder;
  for (int i = 0; i < 1000; ++i) {
    folder.take(written("/d/a3/part-" + std::to_string(i) + ".bin", 64, i == 7 ? 5 : 1));
  }
  const std::vector<AlikeFiles> entries = entries_of(folder);
  ASSERT_EQ(entries.size(), 1U);
  const AlikeFiles& entry = entries[0];
  EXPECT_EQ(entry.name, "/d/a3/part-#.bin");
  EXPECT_EQ(entry.shown.path, "/d/a3/part-0.bin");
  EXPECT_EQ(entry.files, 1000U);
  EXPECT_EQ(entry.bytes_written, 64'000U);
  EXPECT_EQ(entry.least_seconds, 1);
  EXPECT_EQ(entry.most_seconds, 5);
  EXPECT_FALSE(entry.mixed);
}

TEST(FileFolder, TwoAlikeFilesAreTwoAndStandInTheirOrder) {
  FileFolder folder;
  folder.take(written("/d/a1", 64));
  folder.take(written("/d/b", 64));
  folder.take(written("/d/a2", 64));
  std::vector<std::string> names;
  for (const AlikeFiles& one : entries_of(folder)) names.push_back(one.name);
  EXPECT_EQ(names, (std::vector<std::string>{"/d/a1", "/d/b", "/d/a2"}));
}

TEST(FileFolder, WhatWasSetOrDoneOtherwiseIsApart) {
  FileFolder folder(4);
  for (int i = 0; i < 9; ++i) {
    FilePattern file = written("/d/a" + std::to_string(i), 64);
    if (i % 3 == 1) file.settings.push_back({"striping_factor", "4", "4", "", "applied"});
    if (i % 3 == 2) file.is_stdout = true;
    folder.take(std::move(file));
  }
  const std::vector<AlikeFiles> entries = entries_of(folder);
  ASSERT_EQ(entries.size(), 3U);
  for (const AlikeFiles& one : entries) EXPECT_EQ(one.files, 3U);
}

TEST(FileFolder, OfManyPatternsNamesDecideAndTheLargestIsShown) {
  FileFolder folder(8);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    folder.take(written("/d/part-" + std::to_string(i), i == 40 ? 5000 : i));
  }
  // One has as many bytes as Python's test of a folder.
  const std::vector<AlikeFiles> entries = entries_of(folder);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].files + entries[1].files, 100U);
  EXPECT_TRUE(entries[0].mixed);
  EXPECT_EQ(entries[0].shown.path, "/d/part-40");
  EXPECT_EQ(entries[0].least_bytes, 1U);
  EXPECT_EQ(entries[0].most_bytes, 5000U);
}

TEST(FileFolder, OfManyNamesTheFolderAndTheEndingDecide) {
  FileFolder folder(8);
  for (char a = 'a'; a <= 'z'; ++a) {
    for (char b = 'a'; b <= 'z'; ++b) {
      folder.take(written(std::string("/d/") + a + b + ".json", 64));
    }
  }
  folder.take(written("/d/.hidden", 64));
  folder.take(written("/d/noending", 64));
  std::vector<std::string> names;
  std::uint64_t files = 0;
  for (const AlikeFiles& one : entries_of(folder)) {
    names.push_back(one.name);
    files += one.files;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"/d/*.json", "/d/.hidden", "/d/noending"}));
  EXPECT_EQ(files, 26U * 26 + 2);
}

TEST(FileFolder, NumbersThatAllHaveStay) {
  FileFolder folder;
  for (int i = 0; i < 5; ++i) folder.take(written("/run7/s" + std::to_string(i) + "/x.h5", 64));
  EXPECT_EQ(entries_of(folder).at(0).name, "/run7/s#/x.h5");
}

}  // namespace
}  // namespace iotune::analyzer
