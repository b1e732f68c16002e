#include "patterndb/settings.h"

#include <nlohmann/json.hpp>

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

Result<Settings> Settings::from_json(const nlohmann::json& object) noexcept {
  return guarded<Settings>([&] {
    if (!object.is_object()) throw Fault{"settings are not an object of names and values"};
    Settings settings;
    for (const auto& [name, value] : object.items()) {
      if (value.is_string()) {
        settings.add(name, value.get<std::string>());
      } else if (value.is_number_integer()) {
        settings.add(name, value.dump());
      } else {
        throw Fault{name + ": the value is neither text nor an integer"};
      }
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

nlohmann::json Settings::to_json() const {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [name, value] : values_) object[name] = value;
  return object;
}

}  // namespace iotune::patterndb
