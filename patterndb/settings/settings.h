// Settings: parameter names with valid values, and their canonical text.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "patterndb/store/result.h"

namespace iotune::patterndb {

// A text from outside as a message shows it: on one line, and no longer than one.
std::string shown(const std::string& text);
// A number as messages have it: four digits.
std::string number(double value);

class Settings {
 public:
  // Reads "name=value;name=value" in any order. The empty text is the default: no settings.
  static Result<Settings> parse(std::string_view text) noexcept;

  // Canonical: sorted by name, no trailing semicolon. Equal settings have equal texts.
  std::string text() const;
  const std::map<std::string, std::string>& values() const { return values_; }
  bool empty() const { return values_.empty(); }

  // Throws Fault where the name is unknown, the value invalid or the name given before.
  void add(const std::string& name, const std::string& value);

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace iotune::patterndb
