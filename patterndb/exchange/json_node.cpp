#include <cmath>

#include "patterndb/exchange/record_json.h"

namespace iotune::patterndb {

namespace {

constexpr int kDeepestNesting = 32;

}  // namespace

Json parse_json(const std::string& text, const std::string& source) {
  auto bounded = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kDeepestNesting) throw Fault{source + ": nested too deeply"};
    return true;
  };
  try {
    return Json::parse(text, bounded);
  } catch (const Json::parse_error& fault) {
    std::size_t line = 1;
    for (std::size_t i = 0; i < fault.byte && i < text.size(); ++i) line += text[i] == '\n';
    throw Fault{source + ":" + std::to_string(line) + ": not JSON (byte " +
                std::to_string(fault.byte) + ")"};
  } catch (const Json::out_of_range&) {
    throw Fault{source + ": a number that no computer holds"};
  }
}

std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

void Node::fail(const std::string& what) const {
  throw Fault{(pointer_.empty() ? std::string("/") : pointer_) + ": " + what};
}

bool Node::has(const char* key) const {
  return value_.is_object() && value_.contains(key);
}

Node Node::at(const char* key) const {
  if (!value_.is_object()) fail("an object expected");
  auto found = value_.find(key);
  if (found == value_.end()) fail(std::string("'") + key + "' is missing");
  return {*found, pointer_ + "/" + key};
}

std::vector<Node> Node::elements() const {
  if (!value_.is_array()) fail("a list expected");
  std::vector<Node> nodes;
  nodes.reserve(value_.size());
  for (std::size_t i = 0; i < value_.size(); ++i) {
    nodes.emplace_back(value_[i], pointer_ + "/" + std::to_string(i));
  }
  return nodes;
}

std::string Node::text() const {
  if (!value_.is_string()) fail("text expected");
  auto text = value_.get<std::string>();
  if (text.find('\0') != std::string::npos) fail("text with a zero byte");
  return text;
}

std::uint64_t Node::count() const {
  if (!value_.is_number_unsigned()) fail("an integer of 0 or more expected");
  auto count = value_.get<std::uint64_t>();
  if (count > static_cast<std::uint64_t>(INT64_MAX)) fail("above 2^63");
  return count;
}

double Node::real() const {
  if (!value_.is_number()) fail("a number expected");
  auto real = value_.get<double>();
  if (!std::isfinite(real)) fail("a finite number expected");
  return real;
}

double Node::seconds() const {
  double seconds = real();
  if (seconds < 0) fail("0 seconds or more expected");
  return seconds;
}

double Node::moment() const {
  constexpr double kYear10000 = 253402300800;
  double moment = real();
  if (moment < 0 || moment >= kYear10000) fail("not seconds since 1970");
  return moment;
}

bool Node::truth() const {
  if (!value_.is_boolean()) fail("true or false expected");
  return value_.get<bool>();
}

std::vector<std::uint64_t> Node::counts() const {
  std::vector<std::uint64_t> counts;
  for (const Node& element : elements()) counts.push_back(element.count());
  return counts;
}

void Node::only(std::initializer_list<const char*> keys) const {
  if (!value_.is_object()) fail("an object expected");
  for (const auto& [name, ignored] : value_.items()) {
    bool known = false;
    for (const char* key : keys) known = known || name == key;
    if (!known) Node(ignored, pointer_ + "/" + name).fail("unknown name");
  }
}

std::string Node::text_or(const char* key, const std::string& otherwise) const {
  return has(key) ? at(key).text() : otherwise;
}

std::uint64_t Node::count_or(const char* key, std::uint64_t otherwise) const {
  return has(key) ? at(key).count() : otherwise;
}

std::optional<double> Node::real_or_none(const char* key) const {
  if (!has(key) || value_.at(key).is_null()) return std::nullopt;
  return at(key).real();
}

}  // namespace iotune::patterndb
