#include "analyzer/baselines/he2013/he2013_streams.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "analyzer/baselines/he2013/global_index.h"
#include "analyzer/streams/access_streams.h"
#include "analyzer/streams/one_predictor.h"
#include "analyzer/summary/saturating.h"
#include "recorder/read/losses.h"
#include "recorder/read/trace_blocks/trace_index.h"

namespace iotune::analyzer {
namespace {

using he2013::GlobalIndex;
using he2013::LocalIndex;
using he2013::Unit;
using patterns::Extent;

// Entries of one stream after which it is counted and no longer kept.
constexpr std::size_t kMostOfStream = std::size_t{1} << 19U;

std::string texts(const std::vector<Unit>& units) {
  constexpr std::size_t kShown = 8;
  std::string all;
  for (std::size_t u = 0; u < units.size(); ++u) {
    if (u > 0) all += ' ';
    if (u == kShown) return all + "… " + std::to_string(units.size() - u) + " more";
    all += units[u].text();
  }
  return all;
}

class Collector : public AccessStreamSink {
 public:
  Collector(const PartOptions& options, const patterns::PredictorKind* kind,
            std::size_t most_entries)
      : ahead_(options.ahead), kind_(kind), most_entries_(most_entries) {}

  void begin(const AccessStream& stream) override {
    const std::string name =
        std::string(layer_name(stream.layer)) + (stream.write ? " write " : " read ") + stream.path;
    const auto [known, added] = by_name_.try_emplace(name, names_.size());
    if (added) names_.emplace_back().counted.name = name;
    Open& open = open_.emplace_back(Open{known->second, LocalIndex(id_of(stream)), nullptr});
    ++names_[open.name].counted.streams;
    if (ahead_ > 0) {
      open.predictor = std::make_unique<OnePredictor>(*kind_, patterns::PredictorOptions{});
    }
  }

  void add(std::size_t stream, std::span<const Extent> accesses) override {
    Open& open = open_[stream];
    He2013Streams& counted = names_[open.name].counted;
    counted.accesses += accesses.size();
    for (const Extent& access : accesses) {
      counted.bytes = saturating_sum(counted.bytes, static_cast<std::uint64_t>(access.length));
      if (open.predictor) counted.right += open.predictor->foresaw(access) ? 1 : 0;
      open.index.add(access);
    }
    if (open.index.patterns().size() + open.index.raw().size() > kMostOfStream) {
      count(open);
      names_[open.name].complete = false;
      open.index = LocalIndex(0);
    }
  }

  void end_process() override {
    for (Open& open : open_) {
      open.index.close();
      Name& name = names_[open.name];
      held_ += count(open);
      if (open.predictor && name.counted.next.empty()) {
        name.counted.next.resize(ahead_);
        name.counted.next.resize(open.predictor->predict(name.counted.next));
      }
      if (held_ > most_entries_) name.complete = false;
      if (name.complete) {
        name.locals.push_back(std::move(open.index));
      } else {
        name.locals = {};
      }
    }
    open_.clear();
  }

  std::vector<He2013Streams> finish(std::size_t shown) {
    std::vector<He2013Streams> all;
    for (Name& name : names_) {
      if (name.complete) join(name, shown);
      name.locals = {};
      all.push_back(std::move(name.counted));
    }
    return all;
  }

 private:
  struct Name {
    He2013Streams counted;
    std::vector<LocalIndex> locals;
    bool complete = true;
  };
  struct Open {
    std::size_t name;
    LocalIndex index;
    std::unique_ptr<OnePredictor> predictor;
  };

  static std::uint32_t id_of(const AccessStream& stream) {
    const auto id = stream.rank >= 0 ? static_cast<std::uint64_t>(stream.rank) : stream.process;
    return static_cast<std::uint32_t>(id);
  }

  std::size_t count(const Open& open) {
    He2013Streams& counted = names_[open.name].counted;
    const std::size_t entries = open.index.patterns().size() + open.index.raw().size();
    counted.local_entries += entries;
    counted.local_bytes += open.index.memory_bytes();
    return entries;
  }

  static void join(Name& name, std::size_t shown) {
    const GlobalIndex global(name.locals);
    name.counted.global_entries = global.patterns().size() + global.raw().size();
    name.counted.global_bytes = global.memory_bytes();
    for (const he2013::GlobalEntry& entry : global.patterns()) {
      if (name.counted.shown.size() == shown) return;
      std::string text =
          entry.logical.text() + " lengths " + texts(entry.lengths) + " ids " + texts(entry.ids);
      name.counted.shown.push_back({std::move(text), entry.logical.count * entry.id_count});
    }
    for (const he2013::RawEntry& raw : global.raw()) {
      if (name.counted.shown.size() == shown) return;
      const Unit offset{raw.logical, {}, 0, 1};
      const Unit length{raw.length, {}, 0, 1};
      const Unit id{raw.chunk_id, {}, 0, 1};
      name.counted.shown.push_back(
          {offset.text() + " lengths " + length.text() + " ids " + id.text(), 1});
    }
  }

  unsigned ahead_;
  const patterns::PredictorKind* kind_;
  std::size_t most_entries_;
  std::size_t held_ = 0;  // entries
  std::unordered_map<std::string, std::size_t> by_name_;
  std::vector<Name> names_;
  std::vector<Open> open_;  // of the process
};

}  // namespace

recorder::Result<He2013Done> he2013_streams(const std::string& trace, const PartOptions& options,
                                            std::size_t shown, std::size_t most_entries,
                                            const std::function<void(std::uint64_t)>& progress) {
  const recorder::Result<const patterns::PredictorKind*> kind =
      kind_without_plan(options.predictor);
  if (!kind) return kind.error();
  const recorder::Result<recorder::TraceIndex> index = recorder::index_trace(trace);
  if (!index) return index.error();
  Collector collector(options, *kind, most_entries);
  He2013Done done;
  for (std::size_t process = 0; process < index->processes.size(); ++process) {
    const ProcessStreams read = read_streams(*index, process, options.layers, collector, progress);
    done.accesses += read.accesses;
    done.without_place += read.without_place;
    done.empty += read.empty;
    if (read.unreadable_batches > 0) {
      done.losses.push_back(recorder::process_name(index->processes[process].attributes) + ": " +
                            recorder::unreadable_text(read.unreadable_batches));
    }
  }
  done.names = collector.finish(shown);
  return done;
}

}  // namespace iotune::analyzer
