#include "analyzer/pattern_log/merge_logs.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>
#include <unordered_map>

#include "analyzer/pattern_log/log_bytes.h"
#include "analyzer/pattern_log/section.h"
#include "analyzer/pattern_log/section_file.h"

namespace iotune::analyzer {
namespace {

using pattern_log::Piece;
using pattern_log::Section;
using pattern_log::SectionFile;
using pattern_log::StreamKey;
using recorder::Error;

// As the writer's: a reader takes only so many of a section.
constexpr std::size_t kMostLeaves = std::size_t{1} << 18U;

class Merger {
 public:
  explicit Merger(std::FILE* out) : out_(out) {}

  // False where the log is damaged.
  bool add(SectionFile& part) {
    const std::uint64_t first_stream = merged_.streams;
    std::vector<std::uint32_t> names;  // of the part, here
    bool in_section = false;
    std::vector<std::byte> coded;
    while (part.next(coded)) {
      Section section;
      if (!decode_section(coded, false, section)) return false;
      std::size_t leaves = section.streams.size();
      for (const Piece& piece : section.pieces) leaves += piece.list.leaves.size();
      // A stream goes on in the part's next section, and pieces of one section have no order.
      if (in_section || (held_ > 0 && held_ + leaves > kMostLeaves)) flush(false);
      if (!take(section, first_stream, names)) return false;
      held_ += leaves;
      in_section = true;
    }
    return !part.damaged();
  }

  bool finish(MergedLog& merged) {
    flush(true);
    merged = merged_;
    return !failed_;
  }

 private:
  bool take(Section& section, std::uint64_t first_stream, std::vector<std::uint32_t>& names) {
    for (std::string& name : section.names) {
      const auto fresh = static_cast<std::uint32_t>(names_.size());
      const auto [known, added] = names_.emplace(name, fresh);
      names.push_back(known->second);
      if (added) section_.names.push_back(std::move(name));
    }
    for (const StreamKey& key : section.streams) {
      if (key.name >= names.size()) return false;
      section_.streams.push_back({key.rank, names[key.name]});
    }
    merged_.streams += section.streams.size();
    std::vector<std::uint32_t> shapes;
    for (const Piece& piece : section.pieces) {
      if (first_stream + piece.stream >= merged_.streams) return false;
      section_.pieces.push_back({static_cast<std::uint32_t>(first_stream + piece.stream),
                                 piece.channel,
                                 renumbered(section.shapes, piece.list, section_.shapes, shapes)});
    }
    return true;
  }

  void flush(bool last) {
    // Rows of a table in an order in which ranks make even steps.
    std::stable_sort(section_.pieces.begin(), section_.pieces.end(),
                     [](const Piece& a, const Piece& b) { return a.stream < b.stream; });
    std::vector<std::byte> bytes;
    pattern_log::append_section(encode_section(section_), sections_ == 0 && last, bytes);
    failed_ = failed_ || std::fwrite(bytes.data(), 1, bytes.size(), out_) != bytes.size();
    merged_.bytes += bytes.size();
    section_ = {};
    held_ = 0;
    ++sections_;
  }

  std::FILE* out_;
  Section section_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::size_t held_ = 0, sections_ = 0;
  MergedLog merged_;
  bool failed_ = false;
};

}  // namespace

recorder::Result<MergedLog> merge_logs(const std::vector<std::string>& parts,
                                       const std::string& out) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(out.c_str(), "wb"),
                                                             &std::fclose);
  if (!file) return Error{out, std::generic_category().message(errno)};
  Merger merger(file.get());
  for (const std::string& path : parts) {
    recorder::Result<SectionFile> part = SectionFile::open(path);
    if (!part) return part.error();
    if (!merger.add(*part)) return Error{path, part->why_not_read()};
  }
  MergedLog merged;
  if (!merger.finish(merged) || std::fflush(file.get()) != 0) {
    return Error{out, std::generic_category().message(errno)};
  }
  return merged;
}

}  // namespace iotune::analyzer
