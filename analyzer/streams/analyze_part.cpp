#include "analyzer/streams/analyze_part.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <new>
#include <system_error>

#include "analyzer/pattern_log/pattern_log.h"
#include "analyzer/streams/access_streams.h"
#include "analyzer/streams/one_predictor.h"
#include "analyzer/summary/saturating.h"
#include "patterns/predict/predictors.h"
#include "recorder/read/losses.h"
#include "recorder/read/trace_blocks/trace_index.h"

namespace iotune::analyzer {
namespace {

using patterns::Extent;
using patterns::Prediction;
using recorder::Error;

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File opened(const std::string& path) {
  return {std::fopen(path.c_str(), "wb"), &std::fclose};
}

class PartWriter : public AccessStreamSink {
 public:
  PartWriter(const PartOptions& options, const patterns::PredictorKind* kind, std::FILE* log,
             std::FILE* records)
      : ahead_(options.ahead), kind_(kind), log_file_(log), record_file_(records) {}

  void begin(const AccessStream& stream) override {
    Open& open = open_.emplace_back();
    const std::string name =
        std::string(layer_name(stream.layer)) + (stream.write ? " write " : " read ") + stream.path;
    open.number = log_.add_stream(stream.rank, name);
    if (ahead_ > 0) open.predictor = std::make_unique<OnePredictor>(*kind_, options_);
  }

  void add(std::size_t stream, std::span<const Extent> accesses) override {
    Open& open = open_[stream];
    log_.add(open.number, accesses);
    open.record.accesses += accesses.size();
    for (const Extent& access : accesses) {
      open.record.bytes =
          saturating_sum(open.record.bytes, static_cast<std::uint64_t>(access.length));
    }
    if (open.predictor) {
      for (const Extent& access : accesses) {
        open.record.right += open.predictor->foresaw(access) ? 1 : 0;
      }
    }
    write(log_.take());
  }

  void end_process() override {
    std::vector<Prediction> next(ahead_);
    for (Open& open : open_) {
      log_.end_stream(open.number);
      if (open.predictor) open.record.foreseen = open.predictor->predict(next);
      const std::uint64_t numbers[] = {open.record.accesses, open.record.bytes, open.record.right,
                                       open.record.foreseen};
      failed_ = failed_ || std::fwrite(numbers, sizeof numbers, 1, record_file_) != 1;
      if (ahead_ > 0) {
        failed_ =
            failed_ || std::fwrite(next.data(), sizeof(Prediction), ahead_, record_file_) != ahead_;
      }
    }
    streams_ += open_.size();
    open_.clear();
    write(log_.take());
  }

  bool finish() {
    write(log_.finish());
    return !failed_ && std::fflush(log_file_) == 0 && std::fflush(record_file_) == 0;
  }
  std::uint64_t streams() const { return streams_; }
  std::uint64_t log_bytes() const { return log_bytes_; }

 private:
  struct Open {
    std::uint32_t number = 0;
    StreamRecord record;
    std::unique_ptr<OnePredictor> predictor;
  };

  void write(const std::vector<std::byte>& bytes) {
    if (bytes.empty()) return;
    failed_ = failed_ || std::fwrite(bytes.data(), 1, bytes.size(), log_file_) != bytes.size();
    log_bytes_ += bytes.size();
  }

  unsigned ahead_;
  const patterns::PredictorKind* kind_;
  patterns::PredictorOptions options_;
  std::FILE* log_file_;
  std::FILE* record_file_;
  PatternLogWriter log_;
  std::vector<Open> open_;  // of the process
  std::uint64_t streams_ = 0, log_bytes_ = 0;
  bool failed_ = false;
};

}  // namespace

recorder::Result<PartDone> analyze_part(const std::string& trace, const PartOptions& options,
                                        const std::string& log, const std::string& records,
                                        const std::function<void(std::uint64_t)>& progress) {
  const recorder::Result<const patterns::PredictorKind*> kind =
      kind_without_plan(options.predictor);
  if (!kind) return kind.error();
  const recorder::Result<recorder::TraceIndex> index = recorder::index_trace(trace);
  if (!index) return index.error();
  const File log_file = opened(log);
  if (!log_file) return Error{log, std::generic_category().message(errno)};
  const File record_file = opened(records);
  if (!record_file) return Error{records, std::generic_category().message(errno)};
  PartWriter writer(options, *kind, log_file.get(), record_file.get());
  PartDone done;
  const std::size_t all = index->processes.size();
  const std::size_t first = std::min(options.first_process, all);
  const std::size_t end = first + std::min(options.processes, all - first);
  for (std::size_t process = first; process < end; ++process) {
    const ProcessStreams read = read_streams(*index, process, options.layers, writer, progress);
    done.accesses += read.accesses;
    done.without_place += read.without_place;
    done.empty += read.empty;
    if (read.unreadable_batches > 0) {
      done.losses.push_back(recorder::process_name(index->processes[process].attributes) + ": " +
                            recorder::unreadable_text(read.unreadable_batches));
    }
  }
  if (!writer.finish()) return Error{log, std::generic_category().message(errno)};
  done.streams = writer.streams();
  done.log_bytes = writer.log_bytes();
  return done;
}

}  // namespace iotune::analyzer
