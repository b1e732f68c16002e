#include "analyzer/summary/alike_files.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "analyzer/summary/archive.h"
#include "analyzer/summary/masked_name.h"
#include "analyzer/summary/saturating.h"

namespace iotune::analyzer {
namespace {

// Python's tempfile writes so many bytes to learn whether a folder can be written to.
constexpr std::uint64_t kFolderTestBytes = 4;

// The number at the start of `text`: its digits, or the # of several; else nothing.
std::string_view number_of(std::string_view text) {
  if (text.starts_with('#')) return text.substr(0, 1);
  return text.substr(0, number_at(text, 0).size());
}

std::string masked(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t digits = number_at(text, 0).size();
    result += digits > 0 ? '#' : text[0];
    text.remove_prefix(std::max<std::size_t>(1, digits));
  }
  return result;
}

// Where the base name of a path begins, and where its ending does, with its dot.
std::pair<std::size_t, std::size_t> parts_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t begin = std::min(path.find_first_not_of('.', base), path.size());
  const std::size_t dot = path.rfind('.');
  return {base, dot == std::string_view::npos || dot < begin ? path.size() : dot};
}

std::string starred(std::string_view path) {
  const auto [base, ending] = parts_of(path);
  return std::string(path.substr(0, base)) + '*' + std::string(path.substr(ending));
}

std::string joint_name(std::string_view a, std::string_view b) {
  if (masked(a) != masked(b)) return joint_name(starred(a), starred(b));
  std::string name;
  while (!a.empty() && !b.empty()) {
    const std::string_view one = number_of(a), other = number_of(b);
    if (one.empty()) {
      name += a[0];
    } else {
      name += one == other ? one : std::string_view("#");
    }
    a.remove_prefix(std::max<std::size_t>(1, one.size()));
    b.remove_prefix(std::max<std::size_t>(1, other.size()));
  }
  return name;
}

std::uint64_t bytes_of(const FilePattern& file) {
  return saturating_sum(file.bytes_written, file.bytes_read);
}

// As bytes that are equal where the values are.
template <typename... T>
void append(ArchiveWriter& key, T... values) {
  key(values...);
}

// Whether more was moved than the array has.
bool is_repeated(const DatasetPattern& dataset) {
  std::uint64_t whole = dataset.element_bytes;
  for (const std::uint64_t extent : dataset.dataset_dims) whole = saturating_product(whole, extent);
  return dataset.repeats > 1 || dataset.bytes > whole;
}

std::string outcome_of(const FilePattern& file) {
  ArchiveWriter key;
  const bool tested = file.bytes_written == kFolderTestBytes && file.bytes_read == 0;
  append(key, bytes_of(file) == 0, file.bytes_read == 0, file.datasets.empty(), tested,
         file.sampled_out, file.is_stdout, file.prefetch.predictor, file.gather.is_known());
  append(key, std::any_of(file.datasets.begin(), file.datasets.end(), is_repeated),
         file.decision_source, file.decision_row, file.decision_state);
  for (const SettingOutcome& one : file.settings) {
    append(key, one.parameter, one.wanted, one.verdict);
  }
  return key.bytes();
}

std::string said_of(const FilePattern& file) {
  ArchiveWriter key;
  for (const DatasetPattern& one : file.datasets) {
    append(key, masked(one.dataset), one.descriptor.text(), one.write, one.mode);
  }
  append(key, file.decision_pattern, masked(file.decision_message));
  for (const SettingOutcome& one : file.settings) append(key, one.got, one.reason);
  for (const auto& [why, calls] : file.gather.not_held) append(key, why);
  return key.bytes();
}

void merge(AlikeFiles& all, AlikeFiles&& other, bool same) {
  all.name = joint_name(all.name, other.name);
  all.mixed = all.mixed || other.mixed || !same;
  all.files += other.files;
  all.bytes_written = saturating_sum(all.bytes_written, other.bytes_written);
  all.bytes_read = saturating_sum(all.bytes_read, other.bytes_read);
  all.least_bytes = std::min(all.least_bytes, other.least_bytes);
  all.most_bytes = std::max(all.most_bytes, other.most_bytes);
  all.least_seconds = std::min(all.least_seconds, other.least_seconds);
  all.most_seconds = std::max(all.most_seconds, other.most_seconds);
  if (all.mixed && bytes_of(other.shown) > bytes_of(all.shown)) all.shown = std::move(other.shown);
}

}  // namespace

void FileFolder::take(FilePattern&& file) {
  Entry entry{};
  entry.number = taken_++;
  entry.outcome = outcome_of(file);
  entry.said = said_of(file);
  AlikeFiles& alike = entry.alike;
  alike.name = file.path;
  alike.bytes_written = file.bytes_written;
  alike.bytes_read = file.bytes_read;
  alike.least_bytes = alike.most_bytes = bytes_of(file);
  alike.least_seconds = alike.most_seconds = file.io_seconds;
  alike.shown = std::move(file);
  add(std::move(entry));
  while (entries_.size() > most_entries_ && level_ != Level::kInFolder) fold_further();
}

void FileFolder::add(Entry&& entry) {
  const auto [found, is_new] = places_.try_emplace(key_of(entry), entries_.size());
  if (is_new) {
    entries_.push_back(std::move(entry));
    return;
  }
  Entry& known = entries_[found->second];
  if (known.alike.files == 1 && entry.alike.files == 1 && !known.second) {
    known.second = std::make_unique<Entry>(std::move(entry));
    return;
  }
  if (known.second) {
    merge(known.alike, std::move(known.second->alike), known.said == known.second->said);
    known.second.reset();
  }
  merge(known.alike, std::move(entry.alike), known.said == entry.said);
}

void FileFolder::fold_further() {
  level_ = level_ == Level::kSame ? Level::kNamedAlike : Level::kInFolder;
  std::vector<Entry> entries = std::exchange(entries_, {});
  places_.clear();
  for (Entry& entry : entries) {
    const std::unique_ptr<Entry> second = std::exchange(entry.second, nullptr);
    add(std::move(entry));
    if (second) add(std::move(*second));
  }
}

std::string FileFolder::key_of(const Entry& entry) const {
  ArchiveWriter key;
  const bool joined = level_ == Level::kInFolder;
  append(key, masked(joined ? starred(entry.alike.name) : entry.alike.name), entry.outcome);
  if (level_ == Level::kSame) append(key, entry.said);
  return key.bytes();
}

void FileFolder::each(const std::function<void(const AlikeFiles&)>& visit) const {
  std::vector<const Entry*> all;
  for (const Entry& entry : entries_) {
    all.push_back(&entry);
    if (entry.second) all.push_back(entry.second.get());
  }
  std::sort(all.begin(), all.end(),
            [](const Entry* a, const Entry* b) { return a->number < b->number; });
  for (const Entry* entry : all) visit(entry->alike);
}

}  // namespace iotune::analyzer
