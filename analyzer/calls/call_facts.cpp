#include "analyzer/calls/call_facts.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

namespace iotune::analyzer {
namespace {

using recorder::CallSignature;
using Note = CallFacts::Note;

template <std::size_t N>
bool is_one_of(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(names, names + N, name) != names + N;
}

Note note_of(std::string_view name) {
  constexpr std::pair<std::string_view, Note> kNotes[] = {
      {"iotune_file", Note::kFile},
      {"iotune_dataset", Note::kDataset},
      {"iotune_view", Note::kView},
      {"iotune_decision", Note::kDecision},
      {"iotune_setting", Note::kSetting},
      {"iotune_prefetch", Note::kPrefetch},
      {"iotune_decision_again", Note::kDecisionAgain},
      {"iotune_unsampled", Note::kSampledOut},
      {"iotune_sampled_out", Note::kSampledOut}};
  const auto* const found = std::find_if(std::begin(kNotes), std::end(kNotes),
                                         [&](const auto& note) { return note.first == name; });
  return found == std::end(kNotes) ? Note::kNone : found->second;
}

void find_places(const CallSignature& signature, CallFacts& facts) {
  facts.file_place = facts.offset_place = facts.result_place = facts.type_bytes_place =
      CallFacts::kNoPlace;
  std::int8_t next = 0;
  const auto name_place = [&](std::string_view name) {
    if (name == "file") facts.file_place = next;
    if (name == "offset") facts.offset_place = next;
    if (name == "result") facts.result_place = next;
    if (name == "type_bytes") facts.type_bytes_place = next;
    ++next;
  };
  for (const recorder::ArgumentSignature& argument : signature.arguments) {
    if (argument.form == recorder::ArgumentForm::kArray) return;
    if (argument.form == recorder::ArgumentForm::kNumber) name_place(argument.name);
  }
  if (signature.layer == Layer::kIotune) return;
  name_place("result");
  for (const std::string_view name : signature.extras) name_place(name);
}

CallFacts::MpiFile mpi_file_of(std::string_view name) {
  using MpiFile = CallFacts::MpiFile;
  if (name == "MPI_File_open") return MpiFile::kOpen;
  if (name == "MPI_File_close") return MpiFile::kClose;
  if (name == "MPI_File_set_view") return MpiFile::kSetView;
  return name == "MPI_File_seek" ? MpiFile::kSeek : MpiFile::kOther;
}

CallFacts find_facts(const CallSignature& signature) {
  constexpr std::string_view kOpens[] = {
      "H5Fcreate", "H5Fopen",  "H5Fcreate_async", "H5Fopen_async", "MPI_File_open", "open",
      "openat",    "creat",    "fopen",           "freopen",       "tmpfile",       "mkstemp",
      "mkostemp",  "mkstemps", "mkostemps",       "opendir"};
  constexpr std::string_view kCloses[] = {"H5Fclose", "H5Fclose_async", "MPI_File_close", "close",
                                          "fclose"};
  const std::string_view name = signature.name;
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  const bool hdf5 = signature.layer == Layer::kHdf5;
  CallFacts facts{};
  facts.writes = signature.writes;
  facts.closes_file = is_one_of(name, kCloses);
  facts.untimed = name == "fputc" || name == "fgetc";
  facts.runs_program = has("iterate") || has("visit");
  facts.waits_for_note = is_one_of(name, kOpens);
  facts.makes_dataset = name.starts_with("H5Dcreate");
  facts.opens_dataset = name.starts_with("H5Dopen") || name.starts_with("H5Oopen");
  facts.makes_file = name.starts_with("H5Fcreate");
  facts.makes_object = hdf5 && (has("create") || has("open"));
  facts.closes_object = hdf5 && (name.ends_with("close") || name.ends_with("close_async"));
  facts.asynchronous = hdf5 && name.ends_with("_async");
  facts.hdf5_kind = hdf5 && name.size() > 2 ? name[2] : '\0';
  facts.note = note_of(name);
  facts.mpi_file = mpi_file_of(name);
  facts.explicit_offset = has("_at");
  facts.shared_pointer = has("_shared") || has("_ordered");
  find_places(signature, facts);
  return facts;
}

}  // namespace

const CallFacts& facts_of(const CallSignature& signature) {
  static const std::vector<CallFacts> all = [] {
    std::vector<CallFacts> facts;
    for (const CallSignature& one : recorder::call_table()) facts.push_back(find_facts(one));
    return facts;
  }();
  return all[static_cast<std::size_t>(&signature - recorder::call_table().data())];
}

}  // namespace iotune::analyzer
