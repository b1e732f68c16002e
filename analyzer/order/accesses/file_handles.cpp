#include "analyzer/order/accesses/file_handles.h"

#include <algorithm>

#include "analyzer/calls/call_facts.h"

namespace iotune::analyzer {
namespace {

using recorder::Call;

// Pieces of one transfer under a view: what lies behind has no place.
constexpr std::size_t kMostPieces = std::size_t{1} << 20U;

// Of Linux; O_SYNC has it, too.
constexpr std::int64_t kStoring = 010000;

bool has_descriptor(const Call& call) {
  return call.signature()->layer == Layer::kPosix || call.signature()->layer == Layer::kStdio;
}

}  // namespace

bool sets_atomicity(const recorder::CallSignature& signature) {
  const auto is_flag = [](const auto& argument) { return argument.name == "flag"; };
  return signature.layer == Layer::kMpiIo && signature.meaning.verb == recorder::Verb::kChanges &&
         signature.meaning.thing == recorder::Thing::kFile &&
         std::any_of(signature.arguments.begin(), signature.arguments.end(), is_flag);
}

FileHandles::Followed FileHandles::follow(std::size_t number, const Call& call) {
  opened_.reset();
  const std::int32_t owner = owners_.follow(number, call);
  if (call.signature() == nullptr) return {};
  const CallFacts& facts = facts_of(*call.signature());
  if (facts.note == CallFacts::Note::kFile) {
    take_note(call, owner);
    return {};
  }
  follow_modes(number, call);
  Followed followed = look(call);
  if (call.signature()->layer == Layer::kMpiIo || facts.note == CallFacts::Note::kView) {
    followed.pieces = mpi_.follow(call, kMostPieces);
  }
  if (followed.file == kNoFile && owner != OwnerFollower::kNone && !has_descriptor(call)) {
    followed.file = found_in(by_path_, owner);
  }
  return followed;
}

FileHandles::Followed FileHandles::look(const Call& call) const {
  Followed followed;
  if (call.signature() == nullptr) return followed;
  followed.inner = owners_.is_inner(call);
  if (has_descriptor(call)) {
    if (call.keys().size() < 2) return followed;
    followed.file = found_in(by_number_, call.keys()[1]);
    followed.commits = call.signature()->layer == Layer::kPosix &&
                       !call.signature()->meaning.begins && storing_.contains(call.keys()[1]);
  } else if (call.signature()->layer == Layer::kMpiIo) {
    const std::optional<std::int64_t> handle = handle_of(call);
    if (handle) followed.file = found_in(by_mpi_, *handle);
  }
  return followed;
}

// Which files are opened to be stored at once, and which handles of MPI-IO are in atomic mode.
void FileHandles::follow_modes(std::size_t number, const Call& call) {
  const recorder::CallSignature& signature = *call.signature();
  const bool opens = signature.meaning.opens() && signature.meaning.thing == recorder::Thing::kFile;
  const bool sets = sets_atomicity(signature);
  if (!opens && !sets) return;
  if (!read_arguments(call, arguments_)) return;
  if (signature.layer == Layer::kPosix) {
    const bool stores = (arguments_.number(signature, "flags").value_or(0) & kStoring) != 0;
    if (stores) storing_opens_.insert(number);
  } else if (signature.layer == Layer::kMpiIo && arguments_.result == 0) {
    const std::int64_t handle = arguments_.number(signature, "file").value_or(0);
    if (sets && arguments_.number(signature, "flag") != 0) {
      atomic_.insert(handle);
    } else {
      atomic_.erase(handle);
    }
  }
}

bool FileHandles::is_atomic(const Call& call) const {
  return !atomic_.empty() && call.signature()->layer == Layer::kMpiIo &&
         atomic_.contains(handle_of(call).value_or(0));
}

void FileHandles::take_note(const Call& note, std::int32_t owner) {
  if (owner == OwnerFollower::kNone || !read_arguments(note, arguments_)) return;
  const std::uint32_t file =
      names_.file_at(owners_.files()[static_cast<std::size_t>(owner)], began_ns_ + note.start_ns);
  const auto number = [&](const char* name) { return arguments_.find(name)->numbers[0]; };
  by_number_[number("file")] = file;
  by_path_[owner] = file;
  if (number("layer") == static_cast<std::int64_t>(Layer::kMpiIo)) {
    by_mpi_[number("handle")] = file;
  }
  storing_.erase(number("file"));
  if (!owners_.opened()) return;
  opened_ = {owners_.opened()->first, file};
  if (storing_opens_.erase(opened_->first) != 0) storing_.insert(number("file"));
}

std::uint32_t FileHandles::named(const std::string& path, std::uint64_t start_ns) {
  return names_.file_at(plain_path(path, directory_), began_ns_ + start_ns);
}

}  // namespace iotune::analyzer
