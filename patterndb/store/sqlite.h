// SQLite with owners: a connection and its statements close themselves, failures are Faults.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "patterndb/store/result.h"

namespace iotune::patterndb::sqlite {

// Thrown where another process holds the lock past the busy timeout.
struct Busy : Fault {};

class Connection {
 public:
  // `uri` as in SQLite's file: syntax. Throws Fault naming `path`.
  Connection(const std::string& path, const std::string& uri, int flags);

  void execute(const char* sql);
  sqlite3* handle() const { return handle_.get(); }
  const std::string& path() const { return path_; }
  std::int64_t last_row() const { return sqlite3_last_insert_rowid(handle_.get()); }
  [[noreturn]] void fail(int code) const;

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  sqlite3_stmt* take(std::string_view sql);
  void give_back(sqlite3_stmt* statement) noexcept;

  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
  // Of statements that are not in use, by their text: to parse one takes longer than to run it.
  std::multimap<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, std::less<>> idle_;
};

// Bound values are copied. Columns and parameters count from 0 and 1, as in SQLite. Its connection
// must stay where it is until the statement is gone.
class Statement {
 public:
  Statement(Connection& connection, std::string_view sql);

  Statement& bind(int index, std::int64_t value);
  Statement& bind(int index, std::uint64_t value);
  Statement& bind(int index, double value);
  Statement& bind(int index, bool value) { return bind(index, std::int64_t{value}); }
  Statement& bind(int index, const std::string& value);
  Statement& bind(int index, const char* value) { return bind(index, std::string(value)); }
  template <typename T>
  Statement& bind(int index, const std::optional<T>& value) {  // nothing: NULL
    return value ? bind(index, *value) : bind_null(index);
  }
  // All parameters from the first on.
  template <typename... Values>
  Statement& with(const Values&... values) {
    int index = 0;
    (bind(++index, values), ...);
    return *this;
  }
  Statement& bind_blob(int index, const std::string& bytes);
  Statement& bind_null(int index);

  bool step();  // true: a row
  void run();   // steps to the end and makes the statement ready again
  void reset();

  int columns() const { return sqlite3_column_count(statement_.get()); }
  std::string name(int column) const { return sqlite3_column_name(statement_.get(), column); }
  int type(int column) const { return sqlite3_column_type(statement_.get(), column); }
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  std::string blob(int column) const;
  bool null(int column) const { return type(column) == SQLITE_NULL; }

 private:
  struct GiveBack {
    Connection* connection;
    void operator()(sqlite3_stmt* statement) const { connection->give_back(statement); }
  };
  void check(int code);

  Connection& connection_;
  std::unique_ptr<sqlite3_stmt, GiveBack> statement_;
};

// The id of a row, NULL in its column where it is none (0).
inline std::optional<std::int64_t> or_null(std::int64_t row) {
  return row > 0 ? std::optional(row) : std::nullopt;
}

// Rolls back unless commit() was reached.
class Transaction {
 public:
  enum class Kind { kRead, kWrite };
  Transaction(Connection& connection, Kind kind);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Connection& connection_;
  bool open_ = true;
};

}  // namespace iotune::patterndb::sqlite
