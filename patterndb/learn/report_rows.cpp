#include "patterndb/learn/report.h"

namespace iotune::patterndb {

namespace {

Json value_of(const sqlite::Statement& row, int column) {
  switch (row.type(column)) {
    case SQLITE_NULL:
      return nullptr;
    case SQLITE_INTEGER:
      return row.integer(column);
    case SQLITE_FLOAT:
      return row.real(column);
    default:
      return row.text(column);
  }
}

}  // namespace

Json members(const sqlite::Statement& row, int first, int end) {
  Json object = Json::object();
  for (int column = first; column < (end < 0 ? row.columns() : end); ++column) {
    std::string name = row.name(column);
    if (name.ends_with('?')) {
      name.pop_back();
      object[name] = row.integer(column) != 0;
    } else if (name.ends_with("[]")) {
      name.resize(name.size() - 2);
      object[name] = split_numbers(row.text(column));
    } else {
      object[name] = value_of(row, column);
    }
  }
  return object;
}

Json settings_object(const std::string& text) {
  Result<Settings> settings = Settings::parse(text);
  return settings ? to_json(*settings) : Json{{"invalid", text}};
}

}  // namespace iotune::patterndb
