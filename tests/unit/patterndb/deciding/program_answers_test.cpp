#include "patterndb/decide/program_answers.h"

#include <cstring>

#include "patterndb/decide/decision_writer.h"
#include "patterndb/learn/observe.h"
#include "patterndb/store/places.h"
#include "patterndb/store/spool.h"
#include "tests/unit/patterndb/fixtures.h"
#include "tuner/decision/packed_decision.h"

namespace iotune::patterndb::testing {
namespace {

// VPIC's files, but opened by POSIX, or by MPI-IO.
class ProgramAnswers : public Folder {
 protected:
  void observe(FileLayer layer) {
    Observation run = vpic_run();
    for (ObservedFile& file : run.files) file.platform = platform_of_layer(file.platform, layer);
    must(leave_in_spool(run, at("spool")));
    fold_spool(at("patterns.db"), at("spool"));
    Tuning tuning = tuned(vpic(), "striping_factor=8");
    tuning.platform = platform_of_layer(tuning.platform, layer);
    must(create(at("patterns.db")).add_tuning(tuning));
  }
  std::vector<ProgramAnswer> ask(const std::string& program = "/opt/vpic-io") {
    Question question = vpic_question();
    question.program = program;
    return must(program_answers(question, {at("patterns.db"), at("spool"), config_, drawn_}));
  }
  std::string config_;
  std::optional<double> drawn_ = 0.99;
};

TEST_F(ProgramAnswers, NothingWithoutADatabase) {
  EXPECT_TRUE(ask().empty());
}

TEST_F(ProgramAnswers, TheFilesOfPosixThatHaveSettings) {
  observe(FileLayer::kPosix);
  const std::vector<ProgramAnswer> answers = ask();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].file, "vpic#.h5");
  EXPECT_TRUE(answers[0].masked && answers[0].creating);
  EXPECT_EQ(answers[0].filesystem, "ext4");
  EXPECT_EQ(answers[0].decision.settings.text(), "striping_factor=8");
  EXPECT_EQ(answers[0].decision.source, IOTUNE_SOURCE_EXACT);
  EXPECT_TRUE(ask("/opt/another").empty());
}

TEST_F(ProgramAnswers, ARunThatStaysAtItsDefaultIsKnownForOne) {
  observe(FileLayer::kPosix);
  Observation run = vpic_run(150, "run-answered");
  run.files[0].platform = platform_of_layer(run.files[0].platform, FileLayer::kPosix);
  run.files[0].decision_source = "exact";
  run.files[0].decision_row = 1;
  must(leave_in_spool(run, at("spool")));
  fold_spool(at("patterns.db"), at("spool"));
  drawn_ = 0;
  const std::vector<ProgramAnswer> answers = ask();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].decision.source, IOTUNE_SOURCE_EXPLORE);
  EXPECT_TRUE(answers[0].decision.settings.empty());
}

TEST_F(ProgramAnswers, ADatabaseReservesNothing) {
  observe(FileLayer::kPosix);
  Tuning tuning = tuned(vpic(), "fallocate=1048576;striping_factor=8", 200);
  tuning.platform = platform_of_layer(tuning.platform, FileLayer::kPosix);
  must(create(at("patterns.db")).add_tuning(tuning));
  const std::vector<ProgramAnswer> answers = ask();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].decision.settings.text(), "striping_factor=8");
}

TEST_F(ProgramAnswers, PathsComeBeforeBaseNames) {
  config_ = at("c.xml");
  write_file(config_,
             "<Parameters><Parallel_File_System><fadvise FileName=\"a.bin\">random</fadvise>"
             "<striping_factor FileName=\"/data/a.bin\">4</striping_factor></Parallel_File_System>"
             "</Parameters>");
  const std::vector<ProgramAnswer> answers = ask();
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(answers[0].file, "/data/a.bin");
  EXPECT_EQ(answers[0].decision.settings.text(), "fadvise=random;striping_factor=4");
  EXPECT_EQ(answers[2].decision.settings.text(), "fadvise=random");
}

TEST_F(ProgramAnswers, AConfigurationHoldsWithoutItsDatabase) {
  config_ = at("c.xml");
  write_file(config_,
             "<Parameters><Parallel_File_System><fadvise FileName=\"a.bin\">random</fadvise>"
             "</Parallel_File_System></Parameters>");
  write_file(at("patterns.db"), "no database");
  EXPECT_EQ(ask().size(), 2U);
}

TEST_F(ProgramAnswers, NoneThatAreOfMpiIo) {
  observe(FileLayer::kMpiIo);
  EXPECT_TRUE(ask().empty());
}

TEST_F(ProgramAnswers, OfAConfigurationWhatNamesFiles) {
  config_ = at("c.xml");
  write_file(config_,
             "<Parameters><Parallel_File_System><striping_factor>4</striping_factor>"
             "<fadvise FileName=\"a.bin\">random</fadvise></Parallel_File_System></Parameters>");
  const std::vector<ProgramAnswer> answers = ask();
  ASSERT_EQ(answers.size(), 2U);  // for opens that may make it, and others
  for (const ProgramAnswer& one : answers) {
    EXPECT_EQ(one.file, "a.bin");
    EXPECT_FALSE(one.masked);
    EXPECT_EQ(one.filesystem, "");
    EXPECT_EQ(one.decision.settings.text(), "fadvise=random");
  }
  EXPECT_NE(answers[0].creating, answers[1].creating);
}

TEST_F(ProgramAnswers, ABrokenConfigurationIsAnError) {
  config_ = at("c.xml");
  write_file(config_, "<Parameters>");
  EXPECT_FALSE(program_answers(vpic_question(), {at("patterns.db"), at("spool"), config_, {}}));
}

TEST_F(ProgramAnswers, OnlyWholeOnesAreGivenOut) {
  ProgramAnswer one{"a\nfile b", false, {}, true, {}};
  one.decision.settings.add("fadvise", "random");
  one.decision.gated = true;
  const std::string block = packed({one}, 1000);
  std::vector<std::uint64_t> memory(block.size() / sizeof(std::uint64_t));
  std::memcpy(memory.data(), block.data(), block.size());
  ASSERT_TRUE(tuner::are_whole(memory.data(), block.size()));
  const auto& answer = *reinterpret_cast<const iotune_program_answer*>(memory.data());
  EXPECT_STREQ(tuner::text_of(answer, answer.file), "a\nfile b");
  EXPECT_STREQ(tuner::text_of(answer, answer.filesystem), "");
  EXPECT_EQ(answer.masked, 0);
  EXPECT_EQ(answer.creating, 1);
  EXPECT_STREQ(tuner::setting_of(tuner::decision_of(answer), 0).value, "random");
  EXPECT_EQ(packed({one, one}, 2 * block.size() - 1), block);
  EXPECT_EQ(packed({one, one}, 2 * block.size()), block + block);
}

}  // namespace
}  // namespace iotune::patterndb::testing
