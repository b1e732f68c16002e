#include "patterndb/learn/report.h"

namespace iotune::patterndb {

namespace {

Json real_or_null(const sqlite::Statement& row, int column) {
  return row.null(column) ? Json(nullptr) : Json(row.real(column));
}

}  // namespace

Json pattern_json(const sqlite::Statement& row, int first) {
  return {{"id", row.integer(first)},
          {"byte_key", row.text(first + 1)},
          {"descriptor", row.text(first + 2)},
          {"op", row.text(first + 3)},
          {"element_bytes", row.integer(first + 4)},
          {"ranks", row.integer(first + 5)},
          {"grid", split_numbers(row.text(first + 6))},
          {"mode", row.text(first + 7)},
          {"chunk", split_numbers(row.text(first + 8))},
          {"filters", row.integer(first + 9)},
          {"dataset_dims", split_numbers(row.text(first + 10))}};
}

Json platform_row(const sqlite::Statement& row, int first) {
  return to_json(
      Platform{row.text(first), row.text(first + 1), row.text(first + 2), row.text(first + 3)});
}

Json workload_row(const sqlite::Statement& row, int first) {
  return {{"program", row.text(first)},
          {"file", row.text(first + 1)},
          {"ranks", row.integer(first + 2)},
          {"nodes", row.integer(first + 3)}};
}

Json tuning_row(const sqlite::Statement& row, int first) {
  return {{"id", row.integer(first)},
          {"state", row.text(first + 1)},
          {"gain", real_or_null(row, first + 2)},
          {"low", real_or_null(row, first + 3)},
          {"high", real_or_null(row, first + 4)},
          {"rounds", row.integer(first + 5)},
          {"made_at", row.real(first + 6)},
          {"source", row.text(first + 7)}};
}

Json settings_object(const std::string& text) {
  Result<Settings> settings = Settings::parse(text);
  return settings ? to_json(*settings) : Json{{"invalid", text}};
}

}  // namespace iotune::patterndb
