// What the analyzer makes of a call's meaning, where names misled it.
#include "analyzer/calls/call_facts.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace iotune::analyzer {
namespace {

const CallFacts& facts(const char* name) {
  return facts_of(*recorder::find_call(name));
}

std::optional<std::int64_t> handle(const char* name, const std::vector<std::int64_t>& numbers) {
  recorder::CallStream stream;
  stream.name = name;
  stream.signature = recorder::find_call(name);
  return handle_of({&stream, numbers, 0, 0, 0, true});
}

TEST(CallFacts, AListOfPropertiesIsNoIdBelowAFile) {
  EXPECT_TRUE(facts("H5Dcreate2").makes_object);
  EXPECT_TRUE(facts("H5Freopen").makes_object);
  EXPECT_FALSE(facts("H5Dget_create_plist").makes_object);
  EXPECT_TRUE(facts("H5Gclose_async").closes_object);
  EXPECT_FALSE(facts("H5Pset_evict_on_close").closes_object);
}

TEST(CallFacts, DirectoriesAreClosedAsTheyAreOpened) {
  for (const char* const name : {"open", "mkostemps", "tmpfile", "opendir", "H5Fopen_async"}) {
    EXPECT_TRUE(facts(name).waits_for_note) << name;
  }
  for (const char* const name : {"close", "fclose", "closedir", "MPI_File_close", "H5Fclose"}) {
    EXPECT_TRUE(facts(name).closes_file) << name;
  }
  EXPECT_FALSE(facts("munmap").closes_file);
}

TEST(CallFacts, OnlyTransfersAreCollective) {
  EXPECT_TRUE(facts("MPI_File_iwrite_at_all_c").collective);
  EXPECT_TRUE(facts("MPI_File_read_ordered").collective);
  EXPECT_FALSE(facts("MPI_File_write_shared").collective);
  EXPECT_FALSE(facts("MPI_File_open").collective);
}

TEST(CallFacts, AnOffsetIsExplicitWhereItIsPassed) {
  EXPECT_TRUE(facts("MPI_File_write_at").explicit_offset);
  EXPECT_FALSE(facts("MPI_File_set_atomicity").explicit_offset);
  EXPECT_FALSE(facts("MPI_File_write").explicit_offset);
}

TEST(CallFacts, TheHandleStandsWhereTheTableSays) {
  EXPECT_EQ(handle("H5Dclose", {77, 0}), 77);
  EXPECT_EQ(handle("H5Dclose_async", {120, 77, 5, 0}), 77);  // behind the program's line
  EXPECT_EQ(handle("MPI_File_read_at", {7, 1, 2, 3, 0, 4}), 7);
  EXPECT_EQ(handle("H5Dread_multi", {2, 2, 77, 78}), std::nullopt);
  EXPECT_EQ(handle("read", {10, 10, 0}), std::nullopt);  // a key
  EXPECT_EQ(handle("MPI_File_close", {}), std::nullopt);
}

}  // namespace
}  // namespace iotune::analyzer
