#include "patterndb/pattern_db.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "patterndb/places.h"
#include "patterndb/schema.h"
#include "patterndb/sqlite.h"

namespace iotune::patterndb {

namespace {

constexpr std::int64_t kApplicationId = 0x696F746E;  // "iotn"

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
  for (; version < kSchemaVersion; ++version) connection.execute(kSchemaSteps[version]);
  std::string marks = "PRAGMA application_id=" + std::to_string(kApplicationId) +
                      "; PRAGMA user_version=" + std::to_string(kSchemaVersion);
  connection.execute(marks.c_str());
  transaction.commit();
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
  std::string uri = file_uri(path);
  if (access(path.c_str(), W_OK) != 0) {
    if (!reading) throw Fault{path + ": " + error_text(errno)};
    // immutable=1 ignores a journal, so half a transaction would pass for a database.
    if (exists(path + "-journal")) {
      throw Fault{path + ": an interrupted change lies beside it, only its owner can finish it"};
    }
    uri += "?immutable=1";
  }
  auto connection = std::make_unique<sqlite::Connection>(
      path, uri, reading ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
  sqlite3_busy_timeout(connection->handle(), options.busy_milliseconds);
  distrust(*connection);
  std::int64_t version = pragma(*connection, "PRAGMA user_version");
  demand_version(*connection, version);
  if (reading) {
    if (version < kSchemaVersion && access(path.c_str(), W_OK) == 0) {
      options.access = Access::kReadWrite;
      return open_connection(path, options);
    }
    if (version < kSchemaVersion) {
      throw Fault{path + ": pattern database of version " + std::to_string(version) +
                  ", to be brought to " + std::to_string(kSchemaVersion) +
                  " by its owner (iotune db ingest)"};
    }
  } else {
    connection->execute("PRAGMA journal_mode=DELETE; PRAGMA foreign_keys=ON;");
    if (version < kSchemaVersion) migrate(*connection);
  }
  return connection;
}

}  // namespace

PatternDb::PatternDb(std::unique_ptr<sqlite::Connection> connection)
    : connection_(std::move(connection)) {}
PatternDb::PatternDb(PatternDb&&) noexcept = default;
PatternDb& PatternDb::operator=(PatternDb&&) noexcept = default;
PatternDb::~PatternDb() = default;

const std::string& PatternDb::path() const {
  return connection_->path();
}

Result<PatternDb> PatternDb::open(const std::string& path, OpenOptions options) noexcept {
  return guarded<PatternDb>([&] { return PatternDb(open_connection(path, options)); });
}

}  // namespace iotune::patterndb
