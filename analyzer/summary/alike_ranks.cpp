#include "analyzer/summary/alike_ranks.h"

#include <algorithm>

#include "analyzer/calls/call_facts.h"
#include "recorder/read/access_words.h"

namespace iotune::analyzer {
namespace {

using recorder::Call;
using recorder::EventsPlace;
using recorder::ProcessCalls;
using recorder::ProcessSection;

// Decoding fewer one by one costs no more than to compare them.
constexpr std::size_t kLeastAlike = 6;

// Whether `section` has the member behind those of `before`, `steps` further, of the same blocks.
bool goes_on(const ProcessSection& before, const ProcessSection& section, std::size_t steps) {
  if (section.events.size() != before.events.size() || !section.damage.empty()) return false;
  for (std::size_t i = 0; i < section.events.size(); ++i) {
    const EventsPlace &a = before.events[i], &b = section.events[i];
    if (a.shared == EventsPlace::kNotShared || a.shared != b.shared ||
        b.member != a.member + steps) {
      return false;
    }
  }
  return true;
}

// Everything but the numbers is one, and their lengths.
bool is_same_call(const Call& a, const Call& b) {
  return a.signature() == b.signature() && a.thread == b.thread && a.layers() == b.layers() &&
         a.numbers.size() == b.numbers.size() && a.name() == b.name() && a.keys() == b.keys() &&
         a.texts() == b.texts();
}

// Without what orders processes, which is no I/O.
ProcessCalls read_calls(const recorder::TraceReader& reader, std::size_t process) {
  ProcessCalls read = reader.read(process);
  std::erase_if(read.calls, [](const Call& call) {
    return call.signature() != nullptr && call.signature()->meaning.order;
  });
  return read;
}

std::int64_t stepped(std::int64_t first, std::int64_t second, std::size_t steps) {
  const auto from = static_cast<std::uint64_t>(first);
  return static_cast<std::int64_t>(from + steps * (static_cast<std::uint64_t>(second) - from));
}

}  // namespace

AlikeRanks::AlikeRanks(const recorder::TraceReader& reader, std::size_t process,
                       std::uint64_t most_calls)
    : first_(read_calls(reader, process)) {
  const std::vector<ProcessSection>& sections = reader.index().processes;
  const ProcessSection& section = sections[process];
  if (section.events.empty() || !section.damage.empty()) return;
  // The four that are decoded are worth it for some more.
  constexpr std::uint64_t kSomeRanks = 32;
  std::size_t most = std::min<std::uint64_t>(
      sections.size() - process,
      std::max(kSomeRanks, most_calls / std::max<std::size_t>(1, first_.calls.size())));
  for (const EventsPlace& place : section.events) {
    if (place.shared == EventsPlace::kNotShared) return;
    const recorder::SharedRanks& shared = reader.index().shared[place.shared];
    most = std::min(most, shared.alike_until(place.member) - place.member);
  }
  std::size_t alike = 1;
  while (alike < most && goes_on(section, sections[process + alike], alike)) ++alike;
  if (alike < kLeastAlike) return;
  // Tokens go on in equal steps: so does what they encode, but for numbers that change their
  // sign and for lists that change their length. Both show in the first three members.
  second_ = read_calls(reader, process + 1);
  if (!steps_equally(second_, 1) || !steps_equally(read_calls(reader, process + 2), 2) ||
      !steps_equally(read_calls(reader, process + alike - 1), alike - 1)) {
    return;
  }
  size_ = alike;
}

bool AlikeRanks::steps_equally(const ProcessCalls& other, std::size_t k) const {
  if (other.calls.size() != first_.calls.size() || !other.damage.empty()) return false;
  for (std::size_t i = 0; i < first_.calls.size(); ++i) {
    const Call &a = first_.calls[i], &b = second_.calls[i], &c = other.calls[i];
    if (!is_same_call(a, c)) return false;
    for (std::size_t at = 0; at < a.numbers.size(); ++at) {
      if (c.numbers[at] != stepped(a.numbers[at], b.numbers[at], k)) return false;
    }
    if (k > 1 || a.signature() == nullptr) continue;
    // What a dataset is stands behind its id.
    const bool is_dataset = facts_of(*a.signature()).note == CallFacts::Note::kDataset;
    if (is_dataset && !std::equal(a.numbers.begin() + 1, a.numbers.end(), c.numbers.begin() + 1,
                                  c.numbers.end())) {
      return false;
    }
    if (!a.signature()->transfer) continue;
    const Layer layer = a.signature()->layer;
    if (layer == Layer::kHdf5) continue;
    if (layer == Layer::kMpiIo && a.layers() == 0) return false;
    // Bytes are counted once for all.
    if (access_words(a).length_bytes != access_words(c).length_bytes) return false;
  }
  return true;
}

Call AlikeRanks::call_of(std::size_t index, std::size_t k) {
  Call call = first_.calls[index];
  if (k == 0) return call;
  numbers_.clear();
  for (std::size_t at = 0; at < call.numbers.size(); ++at) {
    numbers_.push_back(stepped(call.numbers[at], second_.calls[index].numbers[at], k));
  }
  call.numbers = numbers_;
  return call;
}

}  // namespace iotune::analyzer
