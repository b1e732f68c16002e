#include "patterndb/store/pattern_db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "patterndb/exchange/record_json.h"
#include "patterndb/matching/nearest_answers.h"
#include "patterndb/store/network_file.h"
#include "patterndb/store/places.h"
#include "patterndb/store/retention.h"
#include "patterndb/store/schema.h"
#include "patterndb/store/sqlite.h"

namespace iotune::patterndb {

namespace {

constexpr std::int64_t kApplicationId = 0x696F746E;  // "iotn"

// A run's end changes some twenty pages, and each is written twice, once into the journal. Pages of
// 1 KiB make that 64 KiB at most.
constexpr std::int64_t kPageBytes = 1024;
constexpr const char* kWithSmallPages = "PRAGMA page_size=1024";
// An older database of larger pages is rewritten when it is brought forward: an open waits for it.
// One above that keeps them until `iotune db compact`.
constexpr std::int64_t kMostRewritten = 8 << 20;

std::string file_uri(const std::string& path) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string uri = "file:";
  for (char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      auto byte = static_cast<unsigned char>(c);
      uri += '%';
      uri += kHex[byte >> 4];
      uri += kHex[byte & 15];
    } else {
      uri += c;
    }
  }
  return uri;
}

bool exists(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0;
}

void create_file(const std::string& path) {
  std::size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0) make_private_folder(path.substr(0, slash));
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0 && errno != EEXIST) throw Fault{path + ": " + error_text(errno)};
  if (descriptor >= 0) close(descriptor);
}

std::int64_t pragma(sqlite::Connection& connection, const char* sql) {
  sqlite::Statement statement(connection, sql);
  return statement.step() ? statement.integer(0) : 0;
}

// A shared database is data, never code: no triggers, no views, no functions in its schema.
void distrust(sqlite::Connection& connection) {
  sqlite3* handle = connection.handle();
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  connection.execute("PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY;");
}

void demand_version(sqlite::Connection& connection, std::int64_t version) {
  const std::string& path = connection.path();
  if (version == 0) {
    if (pragma(connection, "SELECT count(*) FROM sqlite_master") != 0) {
      throw Fault{path + ": a database, but none of iotune"};
    }
    return;
  }
  if (pragma(connection, "PRAGMA application_id") != kApplicationId) {
    throw Fault{path + ": a database, but none of iotune"};
  }
  if (version > kSchemaVersion) {
    throw Fault{path + ": pattern database of version " + std::to_string(version) +
                "; this iotune knows versions up to " + std::to_string(kSchemaVersion)};
  }
}

void migrate(sqlite::Connection& connection) {
  sqlite::Transaction transaction(connection, sqlite::Transaction::Kind::kWrite);
  std::int64_t version = pragma(connection, "PRAGMA user_version");  // now under the lock
  demand_version(connection, version);
  const bool had_patterns = version > 0, had_no_sizes = had_patterns && version < 6;
  for (; version < kSchemaVersion; ++version) connection.execute(kSchemaSteps[version]);
  if (had_patterns) fill_geometry(connection);
  if (had_no_sizes) {
    fill_sizes(connection);
    keep_newest_of_all(connection);
  }
  std::string marks = "PRAGMA application_id=" + std::to_string(kApplicationId) +
                      "; PRAGMA user_version=" + std::to_string(kSchemaVersion);
  connection.execute(marks.c_str());
  transaction.commit();
}

void rewrite(sqlite::Connection& connection) {
  connection.execute(kWithSmallPages);
  connection.execute("VACUUM");
}

void bring_forward(sqlite::Connection& connection) {
  connection.execute(kWithSmallPages);  // of an empty file; one with pages keeps theirs
  migrate(connection);
  const std::int64_t page_bytes = pragma(connection, "PRAGMA page_size");
  const std::int64_t bytes = page_bytes * pragma(connection, "PRAGMA page_count");
  if (page_bytes != kPageBytes && bytes <= kMostRewritten) rewrite(connection);
}

// A copy of a database in memory, which a descriptor of this process leads to
// (core/run/distant_copy.h). SQLite opens files by their own names, and this has none.
bool is_memory(const std::string& path) {
  return path.starts_with("/proc/self/fd/");
}

std::unique_ptr<sqlite::Connection> open_memory(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  auto* const image = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size() + 1));
  if (image == nullptr) throw Fault{path + ": out of memory"};
  std::memcpy(image, bytes.data(), bytes.size());
  auto connection = std::make_unique<sqlite::Connection>(
      path, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY);
  // The connection owns the image from here on, also where this fails.
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  const int code =
      sqlite3_deserialize(connection->handle(), "main", image, size, size + 1,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
  if (code != SQLITE_OK) connection->fail(code);
  distrust(*connection);
  return connection;
}

// A change makes a new file, so this one never changes.
std::unique_ptr<sqlite::Connection> open_unchanging(const std::string& path) {
  if (is_memory(path)) return open_memory(path);
  auto connection = std::make_unique<sqlite::Connection>(path, file_uri(path) + "?immutable=1",
                                                         SQLITE_OPEN_READONLY);
  distrust(*connection);
  return connection;
}

std::unique_ptr<sqlite::Connection> open_changing(const std::string& path,
                                                  const std::string& message_path, int flags,
                                                  int busy_milliseconds) {
  auto connection = std::make_unique<sqlite::Connection>(message_path, file_uri(path), flags);
  sqlite3_busy_timeout(connection->handle(), busy_milliseconds);
  distrust(*connection);
  return connection;
}

// immutable=1 ignores a journal, so half a transaction would pass for a database.
void demand_no_journal(const std::string& path) {
  if (exists(path + "-journal")) {
    throw Fault{path + ": an interrupted change lies beside it, only its owner can finish it"};
  }
}

// The file that `path` leads to: a change takes its place, not that of a link to it.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), free);
  return real ? std::string(real.get()) : path;
}

void change_copy(const std::string& path, int wait_milliseconds,
                 const std::function<void(sqlite::Connection&)>& change) {
  const std::string real = real_path(path);
  const auto change_one = [&](const std::string& copy) {
    auto connection = open_changing(copy, path, SQLITE_OPEN_READWRITE, 0);
    // The copy is made durable as a whole, and gone where the change fails.
    connection->execute(
        "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF;"
        "PRAGMA foreign_keys=ON;");
    change(*connection);
  };
  if (is_on_network(real)) {
    change_by_copy(real, wait_milliseconds, change_one);
  } else {
    change_under_sqlite_lock(real, wait_milliseconds, change_one);
  }
}

// The file's connection for transactions in it. NORMAL: the journal is on the storage before a
// page of the file is written. Without spilling, readers are shut out during the commit alone.
void prepare_in_place(sqlite::Connection& connection) {
  connection.execute(
      "PRAGMA journal_mode=DELETE; PRAGMA synchronous=NORMAL; PRAGMA cache_spill=OFF;"
      "PRAGMA foreign_keys=ON;");
}

// Whether another file has taken the connection's name, or it has been removed.
bool has_moved(sqlite::Connection& connection) {
  int moved = 0;
  return sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) ==
             SQLITE_OK &&
         moved != 0;
}

// Reads the file as it is at each statement, under SQLite's locks: a reader waits for a commit, and
// takes back what a dead one left. Where changes make another file it is read as it is now, without
// a lock, unless another program changes it in place just now or died while it did.
std::unique_ptr<sqlite::Connection> open_as_it_is(const std::string& path, bool writable,
                                                  int busy_milliseconds) {
  const bool in_place = takes_transactions(path);
  if (in_place || (writable && !is_on_network(path) && is_changed_in_place(path))) {
    return open_changing(path, path, writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY,
                         busy_milliseconds);
  }
  return open_unchanging(path);
}

std::unique_ptr<sqlite::Connection> open_connection(const std::string& path, OpenOptions options) {
  if (path.empty()) throw Fault{"no place for the pattern database: HOME is not set"};
  if (path == "none") throw Fault{"IOTUNE_DB=none: no pattern database is used"};
  if (!exists(path)) {
    if (options.access != Access::kCreate) throw Fault{path + ": no pattern database there"};
    create_file(path);
  }
  std::string refusal = reason_to_refuse(path);
  if (!refusal.empty()) throw Fault{refusal};

  bool reading = options.access == Access::kReadOnly;
  bool writable = can_be_changed(path);
  if (!writable) {
    if (!reading) throw Fault{path + ": " + error_text(errno)};
    if (!takes_transactions(path)) demand_no_journal(path);
  }
  auto connection = open_as_it_is(path, writable, options.busy_milliseconds);
  std::int64_t version = pragma(*connection, "PRAGMA user_version");
  demand_version(*connection, version);
  if (version < kSchemaVersion && is_memory(path)) {
    migrate(*connection);
    return connection;
  }
  if (reading && version < kSchemaVersion && !writable) {
    throw Fault{path + ": pattern database of version " + std::to_string(version) +
                ", to be brought to " + std::to_string(kSchemaVersion) +
                " by its owner (iotune db ingest)"};
  }
  if (version < kSchemaVersion) {
    if (takes_transactions(path)) {
      prepare_in_place(*connection);
      bring_forward(*connection);
    } else {
      connection.reset();
      change_copy(path, options.busy_milliseconds, bring_forward);
      connection = open_as_it_is(path, true, options.busy_milliseconds);
    }
  }
  return connection;
}

}  // namespace

PatternDb::PatternDb(std::unique_ptr<sqlite::Connection> connection, OpenOptions options,
                     bool in_memory)
    : connection_(std::move(connection)), options_(options), in_memory_(in_memory) {}
PatternDb::PatternDb(PatternDb&&) noexcept = default;
PatternDb& PatternDb::operator=(PatternDb&&) noexcept = default;
PatternDb::~PatternDb() = default;

void PatternDb::change(const std::function<void(sqlite::Connection&)>& change) {
  auto in_transaction = [&](sqlite::Connection& connection) {
    sqlite::Transaction transaction(connection, sqlite::Transaction::Kind::kWrite);
    change(connection);
    transaction.commit();
  };
  if (in_memory_) return in_transaction(*connection_);
  if (options_.access == Access::kReadOnly) throw Fault{path() + ": opened to be read only"};
  const auto reopen = [&] {
    connection_ = open_as_it_is(path(), true, options_.busy_milliseconds);
  };
  if (!takes_transactions(path())) {
    change_copy(path(), options_.busy_milliseconds, in_transaction);
    return reopen();
  }
  constexpr int kMostFiles = 3;
  for (int i = 0; i < kMostFiles; ++i) {
    prepare_in_place(*connection_);
    {
      sqlite::Transaction transaction(*connection_, sqlite::Transaction::Kind::kWrite);
      if (!has_moved(*connection_)) {
        change(*connection_);
        return transaction.commit();
      }
    }
    reopen();
  }
  throw sqlite::Busy{{path() + ": the pattern database is in use by another process"}};
}

Result<std::string> PatternDb::compact() noexcept {
  return guarded<std::string>([&] {
    const auto file_bytes = [&] {
      struct stat status;
      return stat(path().c_str(), &status) == 0 ? std::int64_t{status.st_size} : 0;
    };
    const std::int64_t before = file_bytes();
    std::size_t dropped = 0;
    change([&](sqlite::Connection& connection) { dropped = keep_newest_of_all(connection); });
    if (takes_transactions(path())) {
      rewrite(*connection_);
    } else {
      change_copy(path(), options_.busy_milliseconds, rewrite);
      connection_ = open_as_it_is(path(), true, options_.busy_milliseconds);
    }
    return dump({{"database", path()},
                 {"observations_added_up", dropped},
                 {"bytes_before", before},
                 {"bytes_after", file_bytes()}});
  });
}

const std::string& PatternDb::path() const {
  return connection_->path();
}

Result<PatternDb> PatternDb::copy_in_memory(const std::string& path) noexcept {
  return guarded<PatternDb>([&] {
    std::string refusal = reason_to_refuse(path);
    if (!refusal.empty()) throw Fault{refusal};
    if (!exists(path)) throw Fault{path + ": no pattern database there"};
    const bool writable = can_be_changed(path);
    if (!takes_transactions(path) && (!writable || is_on_network(path))) demand_no_journal(path);
    auto source = open_as_it_is(path, writable, 5000);
    const std::int64_t version = pragma(*source, "PRAGMA user_version");
    demand_version(*source, version);
    if (version == 0) throw Fault{path + ": an empty file, no pattern database"};
    auto copy = std::make_unique<sqlite::Connection>(
        path, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY);
    sqlite3_backup* backup = sqlite3_backup_init(copy->handle(), "main", source->handle(), "main");
    if (backup == nullptr) copy->fail(sqlite3_errcode(copy->handle()));
    int done = sqlite3_backup_step(backup, -1);
    sqlite3_backup_finish(backup);
    if (done != SQLITE_DONE) source->fail(done);
    distrust(*copy);
    if (pragma(*copy, "PRAGMA user_version") < kSchemaVersion) migrate(*copy);
    return PatternDb(std::move(copy), {}, true);
  });
}

Result<PatternDb> PatternDb::open(const std::string& path, OpenOptions options) noexcept {
  return guarded<PatternDb>(
      [&] { return PatternDb(open_connection(path, options), options, false); });
}

}  // namespace iotune::patterndb
