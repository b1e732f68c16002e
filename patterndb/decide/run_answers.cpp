#include "patterndb/decide/run_answers.h"

#include <sys/stat.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "analyzer/summary/masked_name.h"
#include "patterndb/store/places.h"

namespace iotune::patterndb {
namespace {

constexpr std::size_t kMostKept = 16;

std::string_view text_of(const char* text) {
  return text == nullptr ? "" : text;
}

// Folder with its slash, and name.
std::pair<std::string_view, std::string_view> split_path(std::string_view path) {
  const std::size_t folder_bytes = path.rfind('/') + 1;
  return {path.substr(0, folder_bytes), path.substr(folder_bytes)};
}

// A key is what `visit` is given, in this order: numbers and texts as they are, the name masked.
template <typename Visit>
void each_part(const iotune_question& question, const DatabaseFile& database, Visit visit) {
  const std::int64_t numbers[] = {question.ranks,   question.nodes,      question.creating,
                                  database.device,  database.inode,      database.bytes,
                                  database.seconds, database.nanoseconds};
  visit(std::string_view(reinterpret_cast<const char*>(numbers), sizeof numbers), false);
  for (const char* text :
       {question.layer, question.program, question.mpi, question.hdf5, question.filesystem}) {
    visit(text_of(text), false);
  }
  const auto [folder, name] = split_path(text_of(question.file));
  visit(folder, false);
  visit(name, true);
}

// Reads a key part by part. After a part that differs nothing fits any more.
class KeyReader {
 public:
  explicit KeyReader(std::string_view key) : rest_(key) {}

  void compare(std::string_view part, bool masked) {
    if (masked ? !take_masked(part) : !take(part)) same_ = false;
    if (same_ && !take(std::string_view("\0", 1))) same_ = false;  // no text holds a NUL
  }
  bool is_same() const { return same_ && rest_.empty(); }

 private:
  bool take(std::string_view part) {
    if (!same_ || !rest_.starts_with(part)) return false;
    rest_.remove_prefix(part.size());
    return true;
  }
  bool take_masked(std::string_view name) {
    bool taken = true;
    analyzer::each_masked_character(name, [&](char c) { taken = taken && take({&c, 1}); });
    return taken;
  }

  std::string_view rest_;
  bool same_ = true;
};

}  // namespace

std::optional<DatabaseFile> database_file(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return DatabaseFile{};
    return std::nullopt;
  }
  return DatabaseFile{static_cast<std::int64_t>(status.st_dev),
                      static_cast<std::int64_t>(status.st_ino), status.st_size,
                      status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

const RunAnswers::Answer* RunAnswers::find(const iotune_question& question,
                                           const DatabaseFile& database) const {
  for (const Kept& one : kept_) {
    KeyReader key(one.key);
    each_part(question, database, [&](std::string_view part, bool is_name) {
      key.compare(part, is_name && !one.by_name);
    });
    if (key.is_same()) return &one.answer;
  }
  return nullptr;
}

void RunAnswers::keep(const iotune_question& question, const DatabaseFile& database, Answer answer,
                      bool by_name) {
  std::string key;
  each_part(question, database, [&](std::string_view part, bool is_name) {
    key += is_name && !by_name ? masked_name(part) : std::string(part);
    key += '\0';
  });
  if (kept_.size() == kMostKept) kept_.erase(kept_.begin());
  kept_.push_back({std::move(key), std::move(answer), by_name});
}

}  // namespace iotune::patterndb
