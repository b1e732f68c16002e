#include "patterndb/settings/settings.h"

#include <cstdio>

#include "patterndb/settings/parameters.h"

namespace iotune::patterndb {

std::string shown(const std::string& text) {
  constexpr std::size_t kLongest = 64;
  std::string start = text.substr(0, text.size() > kLongest ? kLongest - 3 : kLongest);
  for (char& c : start) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text.size() > kLongest ? start + "..." : start;
}

std::string number(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.4g", value);
  return text;
}

void Settings::add(const std::string& name, const std::string& value) {
  const char* fault = validate(name.c_str(), value.c_str());
  // Of either only what lies before a zero byte was looked at, and would be applied.
  if (fault == nullptr && (name + value).find('\0') != std::string::npos) {
    fault = "holds a zero byte";
  }
  if (fault != nullptr) {
    if (find_parameter(name.c_str()) == nullptr) throw Fault{"'" + shown(name) + "' " + fault};
    throw Fault{shown(name) + "=" + shown(value) + ": the value " + fault};
  }
  if (!values_.emplace(name, value).second) throw Fault{name + " is given twice"};
}

Result<Settings> Settings::parse(std::string_view text) noexcept {
  return guarded<Settings>([&] {
    Settings settings;
    while (!text.empty()) {
      std::string_view item = text.substr(0, text.find(';'));
      text.remove_prefix(item.size() < text.size() ? item.size() + 1 : text.size());
      if (item.empty()) continue;
      std::size_t equals = item.find('=');
      if (equals == std::string_view::npos) {
        throw Fault{"'" + std::string(item) + "' is not name=value"};
      }
      settings.add(std::string(item.substr(0, equals)), std::string(item.substr(equals + 1)));
    }
    return settings;
  });
}

std::string Settings::text() const {
  std::string text;
  for (const auto& [name, value] : values_) {
    if (!text.empty()) text += ';';
    text += name + '=' + value;
  }
  return text;
}

}  // namespace iotune::patterndb
