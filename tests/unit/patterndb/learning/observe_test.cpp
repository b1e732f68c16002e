#include "patterndb/learn/observe.h"

#include "patterndb/exchange/record_json.h"
#include "patterndb/store/places.h"
#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

using analyzer::Distribution;

analyzer::DatasetPattern dataset(const std::string& name, std::uint64_t count, bool write = true) {
  analyzer::DatasetPattern pattern{};
  pattern.dataset = name;
  pattern.write = write;
  pattern.descriptor.dimensions = {{Distribution::kBlock, count, 1}};
  pattern.element_bytes = 4;
  pattern.dataset_dims = {4 * count};
  pattern.process_grid = {4};
  pattern.ranks = 4;
  pattern.mode = analyzer::TransferMode::kIndependent;
  pattern.repeats = 1;
  pattern.bytes = 16 * count;
  return pattern;
}

analyzer::RunSummary flash_run(const std::string& folder) {
  analyzer::FilePattern file{};
  file.path = folder + "/flash_hdf5_chk_0001";
  file.datasets = {dataset("/small", 10), dataset("/a", 1000), dataset("/b", 1000),
                   dataset("/c", 1000), dataset("/read", 500, false)};
  file.dominant_dataset = 1;
  file.dominant_count = 3;
  file.bytes_written = 48160;
  file.io_seconds = 1.5;
  file.opened_at_seconds = 2;
  file.decision_source = "exact";
  file.decision_row = 7;
  file.settings = {{"cb_nodes", "2", "2", "", "applied"},
                   {"alignment", "0,4096", "", "the program set it", "refused"},
                   {"striping_factor", "4", "", "", "without effect"},
                   {"romio_cb_write", "disable", "", "", "unverifiable"},
                   {"of_the_future", "1", "1", "", "applied"}};
  analyzer::FilePattern nothing{};
  nothing.path = folder + "/input.deck";
  nothing.datasets = {dataset("(bytes)", 100000, false)};
  nothing.datasets[0].inferred = true;
  analyzer::RunSummary summary{};
  summary.run_id = "run";
  summary.program = "/opt/flash-io";
  summary.program_name = "flash-io";
  summary.mpi = "MPICH 4.0.2";
  summary.hdf5 = "1.10.8";
  summary.ranks = 4;
  summary.nodes = 1;
  summary.start_unix_seconds = 1000;
  summary.files = {file, nothing};
  return summary;
}

class Observe : public Folder {};

TEST_F(Observe, DatasetsOfOnePatternJoin) {
  Observation observation = observation_of(flash_run(folder()), "/traces/x");
  ASSERT_EQ(observation.files.size(), 1u);
  const ObservedFile& file = observation.files[0];
  ASSERT_EQ(file.uses.size(), 3u);
  EXPECT_FALSE(file.uses[0].is_dominant);
  EXPECT_TRUE(file.uses[1].is_dominant);
  EXPECT_EQ(file.uses[1].datasets, 3u);
  EXPECT_EQ(file.uses[1].dataset, "/a");
  EXPECT_TRUE(file.uses[2].is_dominant);  // for reads
  EXPECT_EQ(file.observed_at, 1002);
  EXPECT_EQ(file.workload.file, "flash_hdf#_chk_#");
  EXPECT_EQ(file.workload.program, "flash-io");
  EXPECT_EQ(file.platform.filesystem, filesystem_of(folder() + "/x"));
  EXPECT_NE(file.platform.filesystem, "");
}

TEST_F(Observe, OnlySettingsThatMayHaveTakenEffect) {
  Observation observation = observation_of(flash_run(folder()), "/traces/x");
  EXPECT_EQ(observation.files[0].settings.text(), "cb_nodes=2;romio_cb_write=disable");
}

TEST_F(Observe, NothingIsLearntOfAFileThatADeathCutShort) {
  analyzer::RunSummary run = flash_run(folder());
  ASSERT_EQ(observation_of(run, at("t.iotrace")).files.size(), 1U);
  run.files[0].cut_short = true;
  EXPECT_TRUE(observation_of(run, at("t.iotrace")).files.empty());
}

// A file of MPI-IO alone, as flash_run's with other datasets.
analyzer::FilePattern inferred_file(const std::string& path, std::uint64_t bytes,
                                    bool through_mpi) {
  analyzer::FilePattern file{};
  file.path = path;
  file.datasets = {dataset("(bytes)", bytes / 16)};
  file.datasets[0].inferred = true;
  file.datasets[0].through_mpi = through_mpi;
  file.bytes_written = bytes;
  return file;
}

TEST_F(Observe, AFileOfMpiIoHasAPlatformWithoutHdf5) {
  analyzer::RunSummary run = flash_run(folder());
  run.files = {inferred_file(at("ior.dat"), 16000, true)};
  Observation observation = observation_of(run, at("t.iotrace"));
  ASSERT_EQ(observation.files.size(), 1U);
  const ObservedFile& file = observation.files[0];
  EXPECT_EQ(file.platform.hdf5, "none");
  EXPECT_EQ(file.platform.mpi, "MPICH 4.0.2");
  ASSERT_EQ(file.uses.size(), 1U);
  EXPECT_TRUE(file.uses[0].is_dominant);
}

TEST_F(Observe, WhatLiesBeneathHdf5IsNoPatternOfItsOwn) {
  analyzer::RunSummary run = flash_run(folder());
  run.files[0].datasets.push_back(inferred_file("", 1 << 20, true).datasets[0]);
  Observation observation = observation_of(run, at("t.iotrace"));
  ASSERT_EQ(observation.files.size(), 1U);
  EXPECT_EQ(observation.files[0].uses.size(), 3U);
  EXPECT_EQ(observation.files[0].platform.hdf5, "1.10.8");
}

TEST_F(Observe, OfPosixAloneOnlyLargeFilesAndOneOfEachName) {
  constexpr std::uint64_t kMiB = 1 << 20;
  analyzer::RunSummary run = flash_run(folder());
  run.files = {inferred_file(at("log.txt"), kMiB, false),
               inferred_file(at("dump.0000"), 4 * kMiB, false),
               inferred_file(at("dump.0001"), 8 * kMiB, false),
               inferred_file(at("dump.0002"), 5 * kMiB, false)};
  Observation observation = observation_of(run, at("t.iotrace"));
  ASSERT_EQ(observation.files.size(), 1U);
  EXPECT_EQ(observation.files[0].path, at("dump.0001"));
  EXPECT_EQ(observation.files[0].platform.mpi, "none");
  EXPECT_EQ(observation.files[0].platform.hdf5, "none");
}

TEST_F(Observe, JsonComesBack) {
  Observation observation = observation_of(flash_run(folder()), "/traces/x");
  std::string text = dump(to_json(observation));
  Json json = parse_json(text, "test");
  EXPECT_EQ(dump(to_json(read_observation(Node(json, "")))), text);
}

TEST_F(Observe, NamesThatAreNotUtf8DoNotFail) {
  analyzer::RunSummary run = flash_run(folder());
  run.files[0].path = folder() + "/\xff\xfe.h5";
  run.files[0].datasets[1].dataset = "/\xc3";
  std::string text = dump(to_json(observation_of(run, "/traces/\xff")));
  Json json = parse_json(text, "test");
  EXPECT_EQ(read_observation(Node(json, "")).files.size(), 1u);
}

TEST_F(Observe, AMissingTraceIsAMessage) {
  Result<std::string> path = observe(at("none.iotrace"), at("spool"));
  ASSERT_FALSE(path);
  EXPECT_FALSE(exists(at("spool")));
}

}  // namespace
}  // namespace iotune::patterndb::testing
