#include "patterndb/store/sqlite.h"

#include <new>

namespace iotune::patterndb::sqlite {
namespace {

constexpr std::size_t kMostIdle = 64;

// Some pragmas act when they are parsed.
bool is_pragma(std::string_view sql) {
  return sql.starts_with("PRAGMA");
}

}  // namespace

Connection::Connection(const std::string& path, const std::string& uri, int flags) : path_(path) {
  sqlite3* handle = nullptr;
  int code =
      sqlite3_open_v2(uri.c_str(), &handle, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  if (handle == nullptr) throw Fault{path + ": out of memory"};
  if (code != SQLITE_OK) fail(code);
}

void Connection::fail(int code) const {
  std::string text = path_ + ": " + sqlite3_errmsg(handle_.get());
  int primary = code & 0xff;
  if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED) {
    throw Busy{{path_ + ": the pattern database is in use by another process"}};
  }
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB) {
    text = path_ + ": the pattern database is damaged or no database (" +
           sqlite3_errmsg(handle_.get()) + ")";
  }
  throw Fault{text};
}

void Connection::execute(const char* sql) {
  int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

sqlite3_stmt* Connection::take(std::string_view sql) {
  if (const auto found = idle_.find(sql); found != idle_.end()) {
    sqlite3_stmt* const statement = found->second.release();
    idle_.erase(found);
    return statement;
  }
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(handle(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) fail(code);
  return statement;
}

void Connection::give_back(sqlite3_stmt* statement) noexcept {
  std::unique_ptr<sqlite3_stmt, Finalize> owned(statement);
  const char* const sql = sqlite3_sql(statement);
  if (sql == nullptr || idle_.size() >= kMostIdle || is_pragma(sql)) return;
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  try {
    idle_.emplace(sql, std::move(owned));
  } catch (const std::bad_alloc&) {
    // It is parsed again.
  }
}

Statement::Statement(Connection& connection, std::string_view sql)
    : connection_(connection), statement_(connection.take(sql), GiveBack{&connection}) {}

void Statement::check(int code) {
  if (code != SQLITE_OK) connection_.fail(code);
}

Statement& Statement::bind(int index, std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), index, value));
  return *this;
}

Statement& Statement::bind(int index, std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(INT64_MAX)) throw Fault{"a number is above 2^63"};
  return bind(index, static_cast<std::int64_t>(value));
}

Statement& Statement::bind(int index, double value) {
  check(sqlite3_bind_double(statement_.get(), index, value));
  return *this;
}

Statement& Statement::bind(int index, const std::string& value) {
  check(sqlite3_bind_text64(statement_.get(), index, value.data(), value.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_blob(int index, const std::string& bytes) {
  check(sqlite3_bind_blob64(statement_.get(), index, bytes.data(), bytes.size(), SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::bind_null(int index) {
  check(sqlite3_bind_null(statement_.get(), index));
  return *this;
}

bool Statement::step() {
  int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) connection_.fail(code);
  return false;
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() {
  // The code of the step before is repeated here; step() has thrown it already.
  sqlite3_reset(statement_.get());
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::string Statement::blob(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const int count = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr
             ? std::string()
             : std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(count));
}

Transaction::Transaction(Connection& connection, Kind kind) : connection_(connection) {
  connection.execute(kind == Kind::kWrite ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
  if (open_) sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  connection_.execute("COMMIT");
  open_ = false;
}

}  // namespace iotune::patterndb::sqlite
