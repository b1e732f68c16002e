// Records as JSON. Reading validates: a Fault names the JSON pointer of what is wrong.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "patterndb/store/records.h"

namespace iotune::patterndb {

using Json = nlohmann::ordered_json;

// Parses `text`; the Fault names `source` and the place. Nesting is bounded.
Json parse_json(const std::string& text, const std::string& source);
// Bytes that are not UTF-8 (paths may hold any) become U+FFFD instead of a failure.
std::string dump(const Json& json, int indent = -1);

// A JSON value and its place. The value outlives it.
class Node {
 public:
  Node(const Json& value, std::string pointer) : value_(value), pointer_(std::move(pointer)) {}

  [[noreturn]] void fail(const std::string& what) const;
  bool has(const char* key) const;
  Node at(const char* key) const;  // demands it
  std::vector<Node> elements() const;
  std::string text() const;
  std::uint64_t count() const;
  double real() const;
  double seconds() const;  // how long something took
  double moment() const;   // seconds since 1970, within four digits of years
  bool truth() const;
  std::vector<std::uint64_t> counts() const;
  // Faults on keys that are not listed: a misspelt one must not be lost in silence.
  void only(std::initializer_list<const char*> keys) const;

  std::string text_or(const char* key, const std::string& otherwise) const;
  std::uint64_t count_or(const char* key, std::uint64_t otherwise) const;
  std::optional<double> real_or_none(const char* key) const;

  const Json& value() const { return value_; }
  const std::string& pointer() const { return pointer_; }

 private:
  const Json& value_;
  std::string pointer_;
};

Json to_json(const Pattern& pattern);  // with byte_key
Json to_json(const Platform& platform);
Json to_json(const Workload& workload);
Json to_json(const Observation& observation);
Json to_json(const Settings& settings);

Pattern read_pattern(const Node& node);
Platform read_platform(const Node& node);
Workload read_workload(const Node& node);
// Of a file that this iotune cannot read, and a newer one can.
struct NewerFormat : Fault {};

Observation read_observation(const Node& node);
Settings read_settings(const Node& node);  // an object or the canonical text
State read_state(const Node& node);
// Everything of a Tuning but pattern, platform and settings.
void read_evidence(const Node& node, Tuning& tuning);
Tuning read_tuning(const Node& node);

}  // namespace iotune::patterndb
