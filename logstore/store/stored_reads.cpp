// What a program sees: the view of the file, merged when it is needed.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "logstore/compact/compaction.h"
#include "logstore/format.h"
#include "logstore/store/stored_file.h"

namespace iotune::logstore {
namespace {

constexpr std::uint32_t kOwnLog = UINT32_MAX - 1;
// Logs may be compacted while they are looked for; not for ever.
constexpr int kMostReloads = 5;
// An index that was written to so lately may be cut in the middle of a block that is being written.
constexpr std::int64_t kAtRest = 10'000'000'000;  // ns
constexpr char kNameless[] = "own";

bool read_whole(int fd, std::int64_t size, std::vector<std::byte>& to) {
  to.resize(static_cast<std::size_t>(size));
  const ssize_t read = read_at(fd, to, 0);
  if (read >= 0) to.resize(static_cast<std::size_t>(read));
  return read >= 0;
}

}  // namespace

void StoredFile::drop_view() noexcept {
  ++views_;
  base_.reset();
  overlay_.clear();
  since_base_ = {};
}

int StoredFile::look() {
  if (!must_look_) return 0;
  must_look_ = false;
  if (!removed_ && is_removed()) removed_ = true;
  if (!is_locked_) forget_compacted_writer();
  // Before the first survey nothing was seen that could have changed. What a removed container had
  // is only in what is held of it.
  if (removed_ || !survey_) return 0;
  Survey now;
  const int wrong =
      Survey::take(directory_.get(), container_id_, writer_ ? writer_->name() : "", &*survey_, now);
  if (wrong != 0) return wrong;
  if (is_removed()) {
    removed_ = true;
    return 0;
  }
  if (now.differs_from(*survey_)) drop_view();
  survey_ = std::move(now);
  return 0;
}

int StoredFile::ready_survey() {
  if (survey_) return 0;
  Survey now;
  const int wrong =
      Survey::take(directory_.get(), container_id_, writer_ ? writer_->name() : "", nullptr, now);
  if (wrong != 0) return wrong;
  // Half removed is as good as removed.
  if (is_removed()) {
    removed_ = true;
    say("was removed by another process, and its bytes with it");
    return -ESTALE;
  }
  survey_ = std::move(now);
  return 0;
}

int StoredFile::ready_view() {
  if (const int wrong = look(); wrong != 0) return wrong;
  for (int tries = 0; !base_ && tries < kMostReloads; ++tries) {
    if (removed_ && (!survey_ || !survey_->is_alone())) return -ESTALE;
    if (const int wrong = ready_survey(); wrong != 0) return wrong;
    let_indexes_be_merged();
    if (const int wrong = ready_survey(); wrong != 0) return wrong;
    bool again = false;
    if (const int wrong = merge_once(again); wrong != 0) return wrong;
    if (again) survey_.reset();
  }
  return base_ ? 0 : -EAGAIN;
}

// Many indexes that no close has merged (their writers were killed, or kept them): the first reader
// merges them for all, and the others wait for that, as writers wait for a compaction, but not for
// long. A writer that has the file open keeps all of them from it, and so does a directory that may
// not be written to: then each reads all by itself.
void StoredFile::let_indexes_be_merged() {
  if (indexes_were_merged_ || writer_ || removed_ || options_.at_close == AtClose::kKeep) return;
  indexes_were_merged_ = true;
  CompactionGain gain;
  for (const Survey::Writer& other : survey_->others) {
    if (other.index.inode == 0) continue;
    ++gain.single_indexes;
    gain.index_bytes += other.index.bytes;
  }
  if (!compaction_is_worth_it(gain)) return;
  const int fd = description_file_.get();
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
    merge_indexes(current_path());
  } else if (errno == EWOULDBLOCK) {
    constexpr timespec kPause{0, 1'000'000};
    constexpr int kMostPauses = 5000;
    for (int i = 0; i < kMostPauses && flock(fd, LOCK_SH | LOCK_NB) != 0; ++i) {
      nanosleep(&kPause, nullptr);
    }
  }
  flock(fd, LOCK_UN);
  survey_.reset();
}

int StoredFile::merge_once(bool& again) {
  if (const int wrong = flush_writer(); wrong != 0) return wrong;
  if (!is_locked_ && writer_) {
    forget_compacted_writer();
    again = !writer_;
    if (again) return 0;
  }
  const ReadLimits limits;
  std::vector<std::vector<std::byte>> indexes;
  std::vector<WriterBytes> writers;
  std::uint64_t all_bytes = 0;
  // The index first: what it tells of is then in the log, should somebody be writing.
  for (const Survey::Writer& other : survey_->others) {
    std::vector<std::byte>& bytes = indexes.emplace_back();
    std::int64_t log_bytes = 0;
    if (other.index.inode != 0) {
      const auto index = open_regular(directory_.get(), other.name + kIndexEnding);
      again = !index && errno == ENOENT;
      if (again) return 0;
      const bool fits =
          index && (all_bytes += static_cast<std::uint64_t>(index->size)) <= limits.index_bytes;
      if (!fits || !read_whole(index->descriptor.get(), index->size, bytes)) {
        say(index ? other.name + kIndexEnding + " cannot be read" : index.error().text());
        return -EIO;
      }
    }
    if (other.log.inode != 0) {
      struct stat log {};
      const std::string name = other.name + kLogEnding;
      if (fstatat(directory_.get(), name.c_str(), &log, AT_SYMLINK_NOFOLLOW) != 0) {
        again = errno == ENOENT;
        return again ? 0 : -errno;
      }
      log_bytes = log.st_size;
    }
    if (other.index.inode == 0 && log_bytes != 0 && !survey_->merged_damage.empty()) {
      say(std::string(kMergedName) + " " + survey_->merged_damage + ", and no index of " +
          other.name + " is left");
      return -EIO;
    }
    writers.push_back({other.name, bytes, log_bytes, other.covered_bytes, other.covered_end});
  }
  if (writer_) {
    std::vector<std::byte>& bytes = indexes.emplace_back();
    if (!read_whole(writer_->index(), writer_->core().index_bytes(), bytes)) return -errno;
    const std::string name = writer_->name().empty() ? kNameless : writer_->name();
    writers.push_back({name, bytes, writer_->core().log_bytes(), 0, {}});
  }
  std::vector<WriterReport> reports;
  std::optional<CoveredBytes> covered;
  if (survey_->merged) covered.emplace(CoveredBytes{*survey_->merged, survey_->covered_log_bytes});
  auto merged = LogMap::merge(container_id_, std::move(writers), reports, limits,
                              covered ? &*covered : nullptr);
  if (!merged) {
    say(merged.error().text());
    return -EIO;
  }
  drop_view();
  base_ = std::make_shared<const LogMap>(std::move(*merged));
  own_in_base_ = analyzer::kHole;
  not_durable_.clear();
  const std::string own = !writer_ ? "" : writer_->name().empty() ? kNameless : writer_->name();
  for (std::uint32_t i = 0; i < reports.size(); ++i) {
    const WriterReport& report = reports[i];
    if (writer_ && report.name == own) {
      own_in_base_ = i;
    } else if (report.durable_bytes < report.log_bytes - report.unplaced_bytes) {
      not_durable_.push_back(report.name);
    }
  }
  report_damage(reports);
  return 0;
}

void StoredFile::report_damage(const std::vector<WriterReport>& reports) {
  if (said_damage_) return;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t now_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  std::int64_t missing = 0;
  std::uint64_t lost = 0;
  for (const WriterReport& report : reports) {
    missing += report.missing_bytes;
    const auto other =
        std::ranges::lower_bound(survey_->others, report.name, {}, &Survey::Writer::name);
    const bool at_rest = other != survey_->others.end() && other->name == report.name &&
                         now_ns - other->index.changed_ns > kAtRest;
    if (at_rest) lost += report.index_bytes_lost;
  }
  if (missing == 0 && lost == 0) return;
  said_damage_ = true;
  std::string text = missing != 0 ? std::to_string(missing) +
                                        " bytes were synced and are lost; reading them is an error"
                                  : std::to_string(lost) + " bytes of its indexes are damaged";
  say(text + " (see iotune log verify)");
}

std::int64_t StoredFile::size_here() {
  if (const int wrong = look(); wrong != 0) return wrong;
  if (!base_) {
    if (removed_ && !survey_) return -ESTALE;
    if (const int wrong = ready_survey(); wrong != 0) return wrong;
    // Alone: no index need be read.
    if (survey_->is_alone()) return since_writer_.apply(0);
    if (const int wrong = ready_view(); wrong != 0) return wrong;
  }
  return since_base_.apply(base_->size());
}

StoredFile::Piece StoredFile::piece_at(std::int64_t offset, std::int64_t end) const {
  const Overlay::Piece own = overlay_.at(offset);
  end = std::min(end, own.end);
  if (own.covered) {
    const bool hole = own.physical == Overlay::kHole;
    return {hole ? LogPiece::Kind::kHole : LogPiece::Kind::kData, end, kOwnLog, own.physical};
  }
  if (offset >= base_->size()) return {LogPiece::Kind::kHole, end, kOwnLog, 0};
  const LogPiece piece = base_->at(offset);
  const bool is_own = piece.writer == own_in_base_;
  return {piece.kind, std::min(end, piece.end()), is_own ? kOwnLog : piece.writer, piece.physical};
}

// Of what begins at `offset` and ends at `end`, the file's end or a full plan, whichever is first.
// An error is about the byte behind what was planned.
int StoredFile::make_plan(std::int64_t offset, std::int64_t end, PlannedRead& read) {
  if (const int wrong = ready_view(); wrong != 0) return wrong;
  end = std::min(end, since_base_.apply(base_->size()));
  int no_room = 0;  // why the last of our own writes are not in the log yet
  if (writer_) no_room = writer_->write_out();
  read.own = writer_;
  read.base = base_;
  while (offset < end && !read.plan.is_full()) {
    const Piece piece = piece_at(offset, end);
    if (piece.kind == LogPiece::Kind::kMissing) return -EIO;
    if (piece.kind == LogPiece::Kind::kHole) {
      read.plan.add_zeros(piece.end - offset);
    } else {
      const std::int64_t physical_end = piece.physical + piece.end - offset;
      const bool is_own = piece.writer == kOwnLog;
      if (is_own && no_room != 0 && physical_end > writer_->held_from()) return no_room;
      read.plan.add_data(piece.end - offset, piece.writer, piece.physical);
    }
    offset = piece.end;
  }
  return 0;
}

// Without the lock.
int StoredFile::open_log(const PlannedRead& read, std::uint32_t writer, LogToRead& to) {
  if (writer == kOwnLog) {
    to.fd = read.own->log();
    return 0;
  }
  auto log = logs_.open(directory_.get(), read.base->writer_name(writer) + kLogEnding);
  if (!log) {
    const int wrong = errno;
    if (wrong != ENOENT) say(log.error().text());
    return -wrong;
  }
  to = {(*log)->descriptor.get(), *log};
  return 0;
}

std::int64_t StoredFile::read_ahead(std::int64_t offset, std::int64_t end, std::byte* to) {
  if (ready_view() != 0) return 0;
  end = std::min(end, since_base_.apply(base_->size()));
  if (offset >= end) return 0;
  const Piece piece = piece_at(offset, end);
  if (piece.kind != LogPiece::Kind::kData) return 0;
  const bool is_own = piece.writer == kOwnLog;
  // An own log is known by the number of its writer.
  const LogWindows::Log log{is_own ? next_number_ : views_, piece.writer};
  const auto bytes = static_cast<std::size_t>(piece.end - offset);
  if (!windows_.read(log, piece.physical, to, bytes)) {
    if (!windows_.goes_on(log, piece.physical, bytes)) return 0;
    if (is_own && writer_->write_out() != 0) return 0;
    std::shared_ptr<const OpenFile> other;
    if (!is_own) {
      auto opened = logs_.open(directory_.get(), base_->writer_name(piece.writer) + kLogEnding);
      if (!opened) return 0;
      other = std::move(*opened);
    }
    const int fd = is_own ? writer_->log() : other->descriptor.get();
    if (!windows_.fill(log, fd, piece.physical)) return 0;
    if (!windows_.read(log, piece.physical, to, bytes)) return 0;
  }
  return piece.end - offset;
}

// A log of it is gone: is another view to be merged?
bool StoredFile::view_is_compacted(int& reloads) {
  const std::lock_guard guard(mutex_);
  if (removed_ || ++reloads >= kMostReloads) return false;
  drop_view();
  survey_.reset();
  return true;
}

std::int64_t StoredFile::read(std::int64_t offset, void* to, std::size_t size) noexcept {
  return guarded([&]() -> std::int64_t {
    if (offset < 0) return -EINVAL;
    if (size == 0 || offset >= kLargestFile) return 0;
    const std::int64_t end =
        offset +
        std::min<std::int64_t>(kLargestFile - offset,
                               static_cast<std::int64_t>(std::min<std::size_t>(size, INT64_MAX)));
    auto* const bytes = static_cast<std::byte*>(to);
    std::int64_t done = 0;
    int reloads = 0;
    while (offset + done < end) {
      PlannedRead planned;  // takes no memory until something is planned
      ReadPlan::Wrong wrong;
      {
        const std::lock_guard guard(mutex_);
        if (end - offset - done <= kSmallRead) {
          const std::int64_t ahead = read_ahead(offset + done, end, bytes + done);
          done += ahead;
          if (ahead != 0) continue;
        }
        wrong.error = make_plan(offset + done, end, planned);
      }
      // Logs are read without the lock.
      const std::int64_t right = planned.plan.run(
          bytes + done,
          [&](std::uint32_t log, LogToRead& opened) { return open_log(planned, log, opened); },
          wrong);
      done += right;
      // Compacted away since the map was merged: its bytes lie in another log now.
      if (wrong.error == -ENOENT && view_is_compacted(reloads)) continue;
      if (right < planned.plan.bytes() || wrong.error != 0) {
        return done > 0 ? done : wrong.error == -ENOENT ? -EIO : wrong.error;
      }
      if (right == 0) break;
    }
    return done;
  });
}

std::int64_t StoredFile::size() noexcept {
  return guarded([&]() -> std::int64_t {
    const std::lock_guard guard(mutex_);
    return size_here();
  });
}

int StoredFile::refresh() noexcept {
  return guarded([&]() -> int {
    const std::lock_guard guard(mutex_);
    // The look itself can wait until somebody wants to know.
    must_look_ = true;
    return 0;
  });
}

std::int64_t StoredFile::seek(std::int64_t offset, bool to_data) {
  if (offset < 0) return -ENXIO;
  if (const int wrong = ready_view(); wrong != 0) return wrong;
  const std::int64_t end = since_base_.apply(base_->size());
  if (offset >= end) return -ENXIO;
  while (offset < end) {
    const Piece piece = piece_at(offset, end);
    if ((piece.kind != LogPiece::Kind::kHole) == to_data) return offset;
    offset = piece.end;
  }
  return to_data ? -ENXIO : end;
}

std::int64_t StoredFile::next_data(std::int64_t offset) noexcept {
  return guarded([&]() -> std::int64_t {
    const std::lock_guard guard(mutex_);
    return seek(offset, true);
  });
}

std::int64_t StoredFile::next_hole(std::int64_t offset) noexcept {
  return guarded([&]() -> std::int64_t {
    const std::lock_guard guard(mutex_);
    return seek(offset, false);
  });
}

}  // namespace iotune::logstore
