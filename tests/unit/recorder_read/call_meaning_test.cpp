// What calls.table says of calls, and where it says that their numbers stand.
#include "recorder/call_meaning.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "recorder/call_meanings.h"
#include "recorder/call_table.h"
#include "recorder/meaning_by_call.h"
#include "recorder/read/access_words.h"

namespace iotune::recorder {
namespace {

// How a record's numbers are called, as far as an array in front leaves their places fixed.
std::vector<std::string> numbers_of(const CallSignature& signature) {
  std::vector<std::string> names;
  for (const ArgumentSignature& argument : signature.arguments) {
    if (argument.form == ArgumentForm::kArray) return names;
    if (argument.form == ArgumentForm::kNumber) names.emplace_back(argument.name);
  }
  if (signature.layer == Layer::kIotune) return names;
  names.emplace_back("result");
  names.insert(names.end(), signature.extras.begin(), signature.extras.end());
  return names;
}

std::string number_at(std::string_view name, std::int8_t CallMeaning::*place) {
  const CallSignature& signature = *find_call(name);
  const std::int8_t at = signature.meaning.*place;
  return at == CallMeaning::kNowhere ? "" : numbers_of(signature).at(static_cast<std::size_t>(at));
}

TEST(CallMeaning, PlacesAreThoseOfTheRecord) {
  const auto offset = &CallMeaning::offset_place, bytes = &CallMeaning::bytes_place;
  EXPECT_EQ(number_at("pread", offset), "offset");
  EXPECT_EQ(number_at("pread", bytes), "result");
  EXPECT_EQ(number_at("pread", &CallMeaning::count_place), "count");
  EXPECT_EQ(number_at("readv", &CallMeaning::count_place), "");
  EXPECT_EQ(number_at("write", offset), "offset");  // behind the result
  EXPECT_EQ(number_at("fprintf", bytes), "bytes");
  EXPECT_EQ(number_at("aio_write", bytes), "count");
  EXPECT_EQ(number_at("MPI_File_write_at_all", offset), "offset");
  EXPECT_EQ(number_at("MPI_File_write_at_all", bytes), "count");
  EXPECT_EQ(number_at("MPI_File_write_at_all", &CallMeaning::item_bytes_place), "type_bytes");
  EXPECT_EQ(number_at("MPI_File_read", offset), "");
  EXPECT_EQ(number_at("MPI_File_open", &CallMeaning::handle_place), "file");
  EXPECT_EQ(number_at("H5Dopen_async", &CallMeaning::handle_place), "loc");
  EXPECT_EQ(number_at("H5Dread_multi", &CallMeaning::handle_place), "");  // a list of them
  EXPECT_EQ(number_at("read", &CallMeaning::handle_place), "");           // a key
}

TEST(CallMeaning, OfEachCallWhatItsKindNeeds) {
  for (const CallSignature& one : call_table()) {
    const CallMeaning& meaning = one.meaning;
    EXPECT_EQ(one.transfer, meaning.moves_data()) << one.name;
    EXPECT_EQ(one.writes, meaning.moves_data() && meaning.verb == Verb::kWrites) << one.name;
    EXPECT_EQ(meaning.verb == Verb::kNotes, one.layer == Layer::kIotune) << one.name;
    EXPECT_EQ(is_pseudo_call(one.name), one.layer == Layer::kIotune) << one.name;
    EXPECT_FALSE(name_of(meaning.verb).empty()) << one.name;
    EXPECT_FALSE(name_of(meaning.thing).empty()) << one.name;
    if (!one.transfer) continue;
    EXPECT_NE(meaning.handle_argument, CallMeaning::kNowhere) << one.name;
    if (one.layer == Layer::kHdf5) {
      EXPECT_EQ(meaning.bytes_place, CallMeaning::kNowhere) << one.name;
    } else if (one.layer == Layer::kMpiIo) {
      EXPECT_NE(meaning.handle_place, CallMeaning::kNowhere) << one.name;
      EXPECT_NE(meaning.item_bytes_place, CallMeaning::kNowhere) << one.name;
    } else {
      EXPECT_NE(meaning.offset_place, CallMeaning::kNowhere) << one.name;
      EXPECT_NE(meaning.bytes_place, CallMeaning::kNowhere) << one.name;
    }
  }
}

TEST(CallMeaning, IsTheSameByNumber) {
  constexpr MeaningByCall kBytes([](const CallMeaning& meaning) { return meaning.bytes_place; });
  for (std::size_t i = 0; i < call_count(); ++i) {
    const auto number = static_cast<CallNumber>(i);
    const CallMeaning& meaning = call_table()[i].meaning;
    EXPECT_EQ(&meaning_of(number), &kCallMeanings[i]);
    EXPECT_EQ(kBytes[number], meaning.bytes_place) << call_name(i);
    EXPECT_TRUE(does(number, meaning.verb)) << call_name(i);
  }
  static_assert(does(CallNumber::kpwrite, Verb::kWrites));
  static_assert(!does(CallNumber::klseek, Verb::kReads));
}

AccessWords words_of(const char* name, const std::vector<std::int64_t>& numbers) {
  CallStream stream;
  stream.name = name;
  stream.signature = find_call(name);
  return access_words({&stream, numbers, 0, 0, 0, true});
}

TEST(CallMeaning, AccessesAreReadByIt) {
  const AccessWords read = words_of("pread", {4096, 512, 100});
  EXPECT_EQ(read.offset_bytes, 512);
  EXPECT_EQ(read.length_bytes, 100);
  const AccessWords unplaced = words_of("write", {4096, 4096, -1});
  EXPECT_EQ(unplaced.offset_bytes, std::nullopt);
  EXPECT_EQ(unplaced.length_bytes, 4096);
  const AccessWords seek = words_of("lseek", {512, 0, 512});
  EXPECT_EQ(seek.result, 512);
  EXPECT_EQ(seek.offset_bytes, std::nullopt);
  const AccessWords mpi = words_of("MPI_File_write_at", {7, 3, 10, 99, 0, 8});
  EXPECT_EQ(mpi.offset_bytes, std::nullopt);  // it counts from the view
  EXPECT_EQ(mpi.length_bytes, 80);
  EXPECT_EQ(words_of("MPI_File_write_at", {7, 3, 10, 99, 1, 8}).length_bytes, std::nullopt);
  // A damaged record.
  EXPECT_EQ(words_of("pread", {4096}).length_bytes, std::nullopt);
}

}  // namespace
}  // namespace iotune::recorder
