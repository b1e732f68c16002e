// The pattern database: patterns, the settings measured for them, and what runs observed.
//
// A PatternDb owns one SQLite connection; one thread at a time may use it. A private file on a
// local file system is read and changed in place; of others a change makes a copy that is renamed
// over the file, and what is read is the file as it was at its open (network_file.h). No function
// throws; a failed one leaves the database as it was. Functions that return text return one JSON
// document.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "patterndb/store/records.h"
#include "patterndb/store/result.h"

namespace iotune::patterndb {

namespace sqlite {
class Connection;
}

inline constexpr int kSchemaVersion = 6;

struct Neighbourhood;    // patterndb/matching/neighbours.h
struct Proof;            // patterndb/settings/proofs.h
struct StoredGainModel;  // patterndb/gains/stored_gains.h
struct Surface;
struct PatternOfFile;  // patterndb/gains/predicted.h

enum class Access {
  kReadOnly,
  kReadWrite,
  kCreate,  // kReadWrite, and a missing database is made with its folder, private to the user
};

// A program waits in its open while another process changes the database.
inline constexpr int kMillisecondsInOpen = 200;

struct OpenOptions {
  Access access = Access::kReadOnly;
  int busy_milliseconds = 500;  // how long a change waits for another process's
  // Whose answers the runs may have got that are learnt from (patterndb/decide/site_copies.h).
  std::vector<std::string> lower = {};
};

struct IngestReport {
  std::size_t files = 0;            // folded in and unlinked
  std::size_t observations = 0;     // new rows
  std::size_t left = 0;             // spool files beyond the limit
  std::vector<std::string> faults;  // one line for each file renamed to *.bad
  std::vector<std::string> moves;   // one line for each answer that changed and each drift
};

// An answer as stored.
struct TuningRow {
  std::int64_t id = -1;
  State state = State::kUntrained;
  std::string settings;    // canonical text, not validated
  std::string descriptor;  // of the pattern that was trained
  std::string workload;    // of a neighbour: "program file" that shows its pattern, for messages
  std::string source;      // who says so: "train", "runs", "by hand", …; empty: not asked
  std::optional<double> gain, low, high;
  std::uint64_t rounds = 0;
  double made_at = 0;
  double default_share = 0;
  std::string evidence;
  bool was_given = true;  // a run that was seen had this answer; of neighbours not asked
  // Of a lower database's answer that was copied here, and of what the copy became by the user's
  // runs: made_at of the copy.
  std::optional<double> copied_at = {};
};

struct KnownPattern {
  std::string byte_key, descriptor;
  double last_seen = 0;
  bool settled = true;  // false: shown once, after another one
};

// Empty members match everything.
struct PlatformFilter {
  std::string filesystem, mpi, hdf5, host_class;
};

class PatternDb {
 public:
  // Refuses, with a message that names the path: a missing file (but kCreate), a damaged one,
  // another program's, a newer schema, and a file that a stranger owns and others may write.
  // A file that the user cannot write is taken for a site's snapshot, which changes by rename
  // only: it is read without locks.
  static Result<PatternDb> open(const std::string& path, OpenOptions options) noexcept;

  PatternDb(PatternDb&&) noexcept;
  PatternDb& operator=(PatternDb&&) noexcept;
  ~PatternDb();

  const std::string& path() const;

  // Folds the folder's spool files into the database in one transaction, then unlinks them. A
  // file that is no observation becomes NAME.bad. A missing folder is an empty one.
  Result<IngestReport> ingest_spool(const std::string& folder, std::size_t most_files) noexcept;
  // Adds one observation under a spool file's name. False where that name was counted before.
  Result<bool> add_observation(const Observation& observation, const std::string& name) noexcept;
  // The answer holds from now on: it counts as made after those that are there. Returns the row, an
  // old one where the very same answer is there already.
  Result<std::int64_t> add_tuning(const Tuning& tuning) noexcept;

  // The stored workload that a file belongs to; `workload.file` is its base name. Of a file that
  // was never seen it is that of the masked name.
  struct OwnWorkload {
    Workload workload;
    // Names alike but for their numbers may be other workloads: what holds for one is not to be
    // taken for the next.
    bool distinguished = false;
  };
  Result<OwnWorkload> workload_of(Workload workload) noexcept;
  // What was compared on some platform. False where it is there already.
  Result<bool> add_proof(const Proof& proof) noexcept;
  Result<std::vector<Proof>> proofs() noexcept;

  // A workload's pattern with all that a gain model is asked by.
  Result<std::optional<PatternOfFile>> pattern_of_file(const Workload& workload,
                                                       const std::string& byte_key) noexcept;

  // What was measured of settings; how many trials are new.
  Result<std::size_t> add_surface(const Surface& surface) noexcept;
  Result<std::vector<Surface>> surfaces() noexcept;
  // Models fitted to that. False where it is there already; an error for one that does not parse.
  Result<bool> add_gain_model(const StoredGainModel& model) noexcept;
  Result<std::vector<StoredGainModel>> gain_models() noexcept;
  // The newest of that very platform: one of another says nothing.
  Result<std::optional<StoredGainModel>> newest_gain_model(const Platform& platform) noexcept;

  // The payload of the newest one of that name and very platform.
  Result<std::optional<std::string>> newest_model(const std::string& name,
                                                  const Platform& platform) noexcept;

  // The dominant pattern of the workload's file: writes where `creating` or no reads are known,
  // else reads. Nothing where the workload was never observed.
  Result<std::optional<KnownPattern>> pattern_of(const Workload& workload, bool creating) noexcept;
  // Its files as they were when each of its patterns was seen last, the newest first: in a series
  // they need not be alike.
  Result<std::vector<KnownFile>> files_of(const Workload& workload) noexcept;
  // The files of a program that have an answer with settings for POSIX; `workload.file` is not
  // looked at.
  Result<std::vector<TunedFile>> tuned_posix_files(const Workload& workload) noexcept;
  // Whether no file of the program has settings: each dominant pattern was trained
  // somewhere, never to settings, and none is left to what resembles it, wherever the file lies.
  // `workload.file` is not looked at. False where nothing is known of the program.
  Result<bool> keeps_default(const Workload& workload) noexcept;
  // The newest answer for that pattern, whichever program it was trained for.
  Result<std::optional<TuningRow>> newest_tuning(const std::string& byte_key,
                                                 const Platform& platform) noexcept;

  // A known pattern and the answers nearest to it on that platform.
  Result<Neighbourhood> neighbourhood(const std::string& byte_key,
                                      const Platform& platform) noexcept;

  Result<std::string> list() noexcept;                      // every pattern with its answers
  Result<std::string> show(std::int64_t pattern) noexcept;  // one pattern with all evidence
  // `text`: a descriptor in elements (of any size, or of element_bytes, then equal bytes match
  // too), a descriptor in bytes, or a whole byte key.
  Result<std::string> query(std::string_view text,
                            std::optional<std::uint64_t> element_bytes) noexcept;
  // Observed patterns that speak for a file and have no answer on the platform they ran on, or one
  // that was taken back.
  Result<std::string> untrained(const PlatformFilter& filter) noexcept;
  // Seconds per settings, of one pattern (by byte key) or of one workload (its file by base name or
  // as stored); with `bytes` only of
  // files that moved as much within a tenth: rates of runs of other sizes say little. What the
  // runs in `left_out` (their ids) took does not count.
  Result<std::string> observations(std::optional<std::int64_t> pattern,
                                   const std::optional<Workload>& workload,
                                   std::optional<std::int64_t> bytes = {},
                                   const std::set<std::string>& left_out = {}) noexcept;

  // Of one pattern, by bytes: when it was first seen, every answer with what it rests on, drifts,
  // and how the tests of its answers against the default stand.
  Result<std::string> history(std::int64_t pattern) noexcept;
  // Hours saved and lost by settings over all observed runs, and how many answers were taken back.
  Result<std::string> ledger() noexcept;

  Result<std::string> export_json() noexcept;
  // All or nothing. The message names `source` and the JSON pointer of the fault. What is there
  // already is not doubled, and settings that this database has taken back stay so. Returns counts
  // of new rows.
  Result<std::string> import_json(const std::string& text, const std::string& source) noexcept;
  // Another database's rows of the platforms that fit. Where both have answers the newest one
  // holds, but settings that this database has taken back stay so. The other is only read.
  Result<std::string> merge(const std::string& other, const PlatformFilter& filter) noexcept;

  // Drops what new observations would drop one by one (retention.h), and gives the file's free
  // space back. Counts of rows and bytes.
  Result<std::string> compact() noexcept;

  // The database of another version as it is, brought to this one in memory.
  static Result<PatternDb> copy_in_memory(const std::string& path) noexcept;

 private:
  PatternDb(std::unique_ptr<sqlite::Connection> connection, OpenOptions options, bool in_memory);
  // Runs `change` in one write transaction, which its exception rolls back.
  void change(const std::function<void(sqlite::Connection&)>& change);
  // Throws Fault naming `source`.
  std::string import_document(const nlohmann::ordered_json& document, const std::string& source);

  std::unique_ptr<sqlite::Connection> connection_;
  OpenOptions options_;
  bool in_memory_;
};

}  // namespace iotune::patterndb
