#include "analyzer/order/accesses/file_names.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "analyzer/order/models/order_table.h"
#include "recorder/read/call_arguments.h"
#include "recorder/read/trace_blocks/events_decoder.h"

namespace iotune::analyzer {
namespace {

using recorder::Call;
using recorder::CallStream;

enum class Change : std::uint8_t { kNone, kDeletes, kMoves, kExchanges, kLinks, kLinksSoftly };

bool has(const recorder::CallSignature& signature, std::string_view argument) {
  return std::any_of(signature.arguments.begin(), signature.arguments.end(),
                     [&](const auto& one) { return one.name == argument; });
}

// By meaning, arguments, and those names that are the system's plain words.
Change change_of(const CallStream& stream) {
  if (stream.signature == nullptr) return Change::kNone;
  const recorder::CallSignature& signature = *stream.signature;
  if (signature.meaning.thing != recorder::Thing::kPath ||
      signature.meaning.verb != recorder::Verb::kChanges) {
    return Change::kNone;
  }
  if (deletes_name(signature.name)) return Change::kDeletes;
  if (signature.layer != Layer::kPosix) return Change::kNone;
  if (has(signature, "target")) return Change::kLinksSoftly;
  if (links_name(signature.name)) return Change::kLinks;
  return has(signature, "from") ? Change::kMoves : Change::kNone;
}

// Of Linux: a name that counts from the working directory, and renameat2 that swaps two.
constexpr std::int64_t kWorkingDirectory = -100, kExchangesNames = 2;

// The path of a name that counts from that descriptor, if the call has one; empty where only the
// descriptor says which folder it is.
std::string path_from(std::string_view name, std::optional<std::int64_t> folder,
                      const std::string& cwd) {
  const bool known =
      name.starts_with('/') || folder.value_or(kWorkingDirectory) == kWorkingDirectory;
  return known ? plain_path(name, cwd) : std::string();
}

struct NameChange {
  std::uint64_t at_ns;
  Change change;
  std::string from, to;
};

// All that one batch changed. Of most batches only the streams are read.
void changes_in(const recorder::TraceIndex& index, const recorder::ProcessSection& process,
                const recorder::EventsPlace& place, std::vector<NameChange>& to) {
  const std::vector<std::byte> payload = recorder::read_payload(index, place);
  std::vector<Call> calls;
  recorder::CallArguments arguments;
  std::vector<std::unique_ptr<CallStream>> streams;
  std::vector<recorder::StreamTotals> totals;
  const auto changes_none = [](const CallStream& stream) {
    return change_of(stream) == Change::kNone;
  };
  if (!recorder::decode_events(payload, changes_none, calls, streams, totals)) return;
  const auto directory = process.attributes.find("cwd");
  const std::string cwd = directory == process.attributes.end() ? "/" : directory->second;
  const std::uint64_t began_ns = recorder::unsigned_of(process.attributes, "wall_ns");
  for (const Call& call : calls) {
    Change change = change_of(*call.stream);
    const auto& texts = call.texts();
    if (change == Change::kNone || texts.empty() || !read_arguments(call, arguments)) continue;
    const recorder::CallSignature& signature = *call.signature();
    const auto number = [&](const char* name) { return arguments.number(signature, name); };
    const std::int64_t result = arguments.result.value_or(-1);
    if (signature.layer == Layer::kMpiIo ? result != 0 : result < 0) continue;
    const bool is_soft = change == Change::kLinksSoftly;
    if (change == Change::kMoves && (number("flags").value_or(0) & kExchangesNames) != 0) {
      change = Change::kExchanges;
    }
    NameChange one{began_ns + call.end_ns(), change, {}, {}};
    if (texts.size() > 1) {
      one.to = path_from(texts[1], number(is_soft ? "dirfd" : "to_dirfd"), cwd);
      if (one.to.empty()) continue;
    }
    const auto folder = std::filesystem::path(one.to).parent_path().string();
    one.from = is_soft
                   ? plain_path(texts[0], folder)
                   : path_from(texts[0], number(texts.size() > 1 ? "from_dirfd" : "dirfd"), cwd);
    if (!one.from.empty()) to.push_back(std::move(one));
  }
}

}  // namespace

std::string plain_path(std::string_view name, std::string_view directory) {
  // "ufs:out.h5" is out.h5 to the file system.
  const std::size_t colon = name.find(':');
  if (colon != std::string_view::npos && colon > 1 && name.find('/') > colon) {
    name.remove_prefix(colon + 1);
  }
  std::filesystem::path path(name);
  if (path.is_relative()) path = std::filesystem::path(directory) / path;
  return path.lexically_normal().string();
}

FileNames::FileNames(std::span<const recorder::TraceIndex> traces) {
  std::vector<NameChange> changes;
  for (const recorder::TraceIndex& index : traces) {
    for (const recorder::ProcessSection& process : index.processes) {
      for (const recorder::EventsPlace& place : process.events) {
        changes_in(index, process, place, changes);
      }
    }
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; });
  for (const NameChange& one : changes) {
    switch (one.change) {
      case Change::kDeletes:
        deleted(one.from, one.at_ns);
        break;
      case Change::kMoves:
        moved(one.from, one.to, one.at_ns);
        break;
      case Change::kExchanges:
        exchanged(one.from, one.to, one.at_ns);
        break;
      default:
        linked(one.from, one.to, one.at_ns);
    }
  }
}

std::vector<FileNames::Meaning>& FileNames::meanings_of(const std::string& path) {
  std::vector<Meaning>& meanings = names_[path];
  if (meanings.empty()) meanings.push_back({0, kNotYetOpened});
  return meanings;
}

std::uint32_t FileNames::meant(std::vector<Meaning>& meanings, const std::string& path,
                               std::uint64_t at_ns) {
  auto later = std::upper_bound(
      meanings.begin(), meanings.end(), at_ns,
      [](std::uint64_t time, const Meaning& meaning) { return time < meaning.from_ns; });
  Meaning& meaning = later == meanings.begin() ? *later : *std::prev(later);
  if (meaning.file == kNotYetOpened) {
    meaning.file = count();
    files_.push_back({path, {}, 0});
  }
  std::vector<std::string>& names = files_[meaning.file].names;
  if (files_[meaning.file].path != path &&
      std::find(names.begin(), names.end(), path) == names.end()) {
    names.push_back(path);
  }
  return meaning.file;
}

void FileNames::deleted(const std::string& path, std::uint64_t at_ns) {
  meanings_of(path).push_back({at_ns, kNotYetOpened});
}

void FileNames::moved(const std::string& from, const std::string& to, std::uint64_t at_ns) {
  const std::uint32_t file = meant(meanings_of(from), from, at_ns);
  meanings_of(from).push_back({at_ns, kNotYetOpened});
  meanings_of(to).push_back({at_ns, file});
}

void FileNames::linked(const std::string& from, const std::string& to, std::uint64_t at_ns) {
  const std::uint32_t file = meant(meanings_of(from), from, at_ns);
  meanings_of(to).push_back({at_ns, file});
}

void FileNames::exchanged(const std::string& one, const std::string& other, std::uint64_t at_ns) {
  const std::uint32_t first = meant(meanings_of(one), one, at_ns);
  const std::uint32_t second = meant(meanings_of(other), other, at_ns);
  meanings_of(one).push_back({at_ns, second});
  meanings_of(other).push_back({at_ns, first});
}

std::uint32_t FileNames::file_at(std::string_view path, std::uint64_t at_ns) {
  const std::string name = plain_path(path, "/");
  return meant(meanings_of(name), name, at_ns);
}

}  // namespace iotune::analyzer
