#include "patterndb/settings.h"

#include "patterndb/parameters.h"

namespace iotune::patterndb {

void Settings::add(const std::string& name, const std::string& value) {
  if (const char* fault = validate(name.c_str(), value.c_str())) {
    if (find_parameter(name.c_str()) == nullptr) throw Fault{"'" + name + "' " + fault};
    throw Fault{name + "=" + value + ": the value " + fault};
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
