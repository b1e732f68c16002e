#include "patterndb/decide/run_answers.h"

#include <vector>

#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

iotune_question asked_of(const char* file) {
  iotune_question question = {};
  question.version = IOTUNE_DECISION_VERSION;
  question.ranks = 2;
  question.nodes = 1;
  question.layer = "hdf5";
  question.program = "/bin/flash-io";
  question.file = file;
  question.mpi = "MPICH 4.0.2";
  question.filesystem = "tmpfs";
  return question;
}

RunAnswers::Answer answer(const std::string& bytes) {
  return {Result<Decision>(Decision{}), bytes};
}

std::string found(const RunAnswers& answers, const iotune_question& question,
                  const DatabaseFile& database = {}) {
  const RunAnswers::Answer* const one = answers.find(question, database);
  return one == nullptr ? "none" : one->bytes;
}

TEST(RunAnswers, AFurtherFileOfTheSeriesIsTheSameQuestion) {
  RunAnswers answers;
  EXPECT_EQ(found(answers, asked_of("/a/plt0009.h5")), "none");
  answers.keep(asked_of("/a/plt0009.h5"), {}, answer("first"), false);
  EXPECT_EQ(found(answers, asked_of("/a/plt0009.h5")), "first");
  EXPECT_EQ(found(answers, asked_of("/a/plt00010.h5")), "first");
}

TEST(RunAnswers, AnotherNameOrFolderIsAnother) {
  RunAnswers answers;
  answers.keep(asked_of("/a1/plt0009.h5"), {}, answer("first"), false);
  for (const char* const file :
       {"/a2/plt0009.h5", "/a1/plt0009.h", "/a1/plt0009.h5x", "/a1/plt.h5", "/a1/pl0009.h5",
        "/a1/plt0009.h55s", "/a1/plt#", "/a1/", "plt0009.h5", ""}) {
    EXPECT_EQ(found(answers, asked_of(file)), "none") << file;
  }
}

TEST(RunAnswers, WhateverElseDiffersMakesAnotherQuestion) {
  RunAnswers answers;
  const iotune_question first = asked_of("/a/plt0009.h5");
  answers.keep(first, {}, answer("first"), false);
  std::vector<iotune_question> others(9, first);
  others[0].ranks = 4;
  others[1].nodes = 2;
  others[2].creating = 1;
  others[3].layer = "mpiio";
  others[4].program = "/bin/flash";
  others[5].mpi = nullptr;
  others[6].hdf5 = "1.10.8";
  others[7].filesystem = "ext4";
  // What one text lost another has won: the ends of texts count.
  others[8].mpi = "MPICH 4.0.";
  others[8].hdf5 = "2";
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_EQ(found(answers, others[i]), "none") << i;
  }
  EXPECT_EQ(found(answers, first), "first");
}

TEST(RunAnswers, TheOldestGivesWay) {
  RunAnswers answers;
  std::vector<std::string> files;
  for (char c = 'a'; c <= 'q'; ++c) files.push_back(std::string("/a/") + c + "1.h5");
  for (const std::string& file : files)
    answers.keep(asked_of(file.c_str()), {}, answer(file), false);
  EXPECT_EQ(found(answers, asked_of("/a/a1.h5")), "none");
  EXPECT_EQ(found(answers, asked_of("/a/b1.h5")), "/a/b1.h5");
  EXPECT_EQ(found(answers, asked_of("/a/q1.h5")), "/a/q1.h5");
}

class ADatabase : public Folder {};

TEST_F(ADatabase, ThatChangedIsAskedAgain) {
  const std::string path = at("patterns.db");
  const DatabaseFile none = database_file(path).value();
  EXPECT_EQ(none.inode, 0);
  RunAnswers answers;
  answers.keep(asked_of("/a/plt0009.h5"), none, answer("no database"), false);
  write_file(path, "some");
  const DatabaseFile some = database_file(path).value();
  EXPECT_EQ(some.bytes, 4);
  EXPECT_EQ(found(answers, asked_of("/a/plt0009.h5"), some), "none");
  answers.keep(asked_of("/a/plt0009.h5"), some, answer("some"), false);
  write_file(path, "some more");
  EXPECT_EQ(found(answers, asked_of("/a/plt0009.h5"), database_file(path).value()), "none");
  EXPECT_EQ(found(answers, asked_of("/a/plt0009.h5"), none), "no database");
  // Below a file there is no folder: whether a database is there is not known.
  EXPECT_FALSE(database_file(path + "/patterns.db").has_value());
}

}  // namespace
}  // namespace iotune::patterndb::testing
