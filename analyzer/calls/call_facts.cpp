#include "analyzer/calls/call_facts.h"

#include <cstddef>
#include <vector>

namespace iotune::analyzer {
namespace {

using recorder::CallMeaning;
using recorder::CallSignature;
using recorder::Thing;
using recorder::Verb;

bool has_file(Thing thing) {
  switch (thing) {
    case Thing::kFile:
    case Thing::kGroup:
    case Thing::kDataset:
    case Thing::kAttribute:
    case Thing::kObject:
    case Thing::kLink:
      return true;
    default:
      return false;
  }
}

CallFacts::MpiFile mpi_file_of(const CallMeaning& meaning) {
  using MpiFile = CallFacts::MpiFile;
  if (meaning.verb == Verb::kChanges && meaning.thing == Thing::kView) return MpiFile::kSetView;
  if (meaning.thing != Thing::kFile) return MpiFile::kOther;
  if (meaning.opens()) return MpiFile::kOpen;
  if (meaning.verb == Verb::kCloses) return MpiFile::kClose;
  return meaning.verb == Verb::kSeeks && meaning.pointer ? MpiFile::kSeek : MpiFile::kOther;
}

CallFacts find_facts(const CallSignature& signature) {
  const CallMeaning& meaning = signature.meaning;
  const Thing thing = meaning.thing;
  const bool hdf5 = signature.layer == Layer::kHdf5;
  const bool opens = meaning.verb == Verb::kOpens, creates = meaning.verb == Verb::kCreates;
  const bool closes = meaning.verb == Verb::kCloses;
  const bool by_name = thing == Thing::kFile || thing == Thing::kDirectory;
  CallFacts facts{};
  facts.writes = signature.writes;
  facts.collective = signature.transfer && meaning.collective;
  facts.closes_file = closes && by_name;
  facts.untimed = meaning.untimed;
  facts.runs_program = meaning.calls_back;
  facts.waits_for_note = meaning.opens() && by_name;
  facts.makes_dataset = creates && thing == Thing::kDataset;
  facts.opens_dataset = opens && (thing == Thing::kDataset || thing == Thing::kObject);
  facts.makes_file = hdf5 && creates && thing == Thing::kFile;
  facts.has_file = hdf5 && has_file(thing);
  facts.of_dataset = hdf5 && thing == Thing::kDataset;
  facts.of_object = hdf5 && thing == Thing::kObject;
  facts.makes_object = facts.has_file && (meaning.opens() || meaning.verb == Verb::kDuplicates);
  facts.closes_object = facts.has_file && closes;
  facts.note = meaning.verb == Verb::kNotes ? thing : Thing::kNone;
  if (signature.layer == Layer::kMpiIo) facts.mpi_file = mpi_file_of(meaning);
  facts.explicit_offset = signature.transfer && meaning.offset_place != CallMeaning::kNowhere;
  facts.shared_pointer = meaning.shared;
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

std::optional<std::int64_t> handle_of(const recorder::Call& call) {
  const std::int8_t place = call.signature()->meaning.handle_place;
  if (place == CallMeaning::kNowhere) return std::nullopt;
  const auto at = static_cast<std::size_t>(place);
  return at < call.numbers.size() ? std::optional(call.numbers[at]) : std::nullopt;
}

}  // namespace iotune::analyzer
