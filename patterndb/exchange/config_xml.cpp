#include "patterndb/exchange/config_xml.h"

#include <errno.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "patterndb/settings/parameters.h"
#include "patterndb/store/places.h"

namespace iotune::patterndb {

namespace {

constexpr off_t kLargestConfig = 1 << 20;
constexpr std::size_t kLongestVariable = 128;  // with its end, as the preload keeps it
constexpr const char* kSections[] = {"High_Level_IO_Library", "Middleware_Layer",
                                     "Parallel_File_System"};
// Blue Gene and GPFS knobs of H5Tuner that no parameter corresponds to.
constexpr const char* kLeftOut[] = {"bgl_nodes_pset", "IBM_largeblock_io", "IBM_lockless_io"};

template <std::size_t n>
bool contains(const char* const (&names)[n], const std::string& name) {
  for (const char* known : names) {
    if (name == known) return true;
  }
  return false;
}

std::string to_string(const xmlChar* text) {
  return text == nullptr ? std::string() : reinterpret_cast<const char*>(text);
}

std::string read_whole(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) throw Fault{path + ": " + error_text(errno)};
  if (!S_ISREG(status.st_mode)) throw Fault{path + ": not a regular file"};
  std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path.c_str(), "re"), fclose);
  if (!file) throw Fault{path + ": " + error_text(errno)};
  if (status.st_size > kLargestConfig) throw Fault{path + ": larger than 1 MiB"};
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  text.resize(fread(text.data(), 1, text.size(), file.get()));
  return text;
}

class Document {
 public:
  Document(const std::string& text, const std::string& path)
      : context_(xmlNewParserCtxt(), xmlFreeParserCtxt) {
    if (!context_) throw Fault{path + ": out of memory"};
    // Stopped where it begins: no entity is ever declared, so none can be expanded or fetched.
    context_->sax->internalSubset = [](void* context, const xmlChar*, const xmlChar*,
                                       const xmlChar*) {
      auto* parser = static_cast<xmlParserCtxtPtr>(context);
      parser->_private = parser;
      xmlStopParser(parser);
    };
    tree_.reset(xmlCtxtReadMemory(context_.get(), text.data(), static_cast<int>(text.size()),
                                  path.c_str(), nullptr,
                                  XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING));
    if (context_->_private != nullptr) {
      throw Fault{path + ": a document type (DOCTYPE) is not allowed"};
    }
    if (!tree_ || context_->wellFormed == 0) {
      const xmlError* fault = xmlCtxtGetLastError(context_.get());
      std::string what = fault != nullptr && fault->message != nullptr ? fault->message : "no XML";
      while (!what.empty() && what.back() == '\n') what.pop_back();
      throw Fault{path + ":" + std::to_string(fault != nullptr ? fault->line : 1) + ": " + what};
    }
  }

  xmlNode* root() const { return xmlDocGetRootElement(tree_.get()); }

 private:
  struct FreeTree {
    void operator()(xmlDoc* tree) const { xmlFreeDoc(tree); }
  };
  std::unique_ptr<xmlParserCtxt, void (*)(xmlParserCtxtPtr)> context_;
  std::unique_ptr<xmlDoc, FreeTree> tree_;
};

class ConfigReader {
 public:
  ConfigReader(const std::string& xml_path, const std::string& data_file)
      : xml_path_(xml_path), data_file_(data_file) {}

  Config read() {
    Document document(read_whole(xml_path_), xml_path_);
    xmlNode* root = document.root();
    if (root == nullptr || to_string(root->name) != "Parameters") {
      fail(root, "the outermost element must be <Parameters>");
    }
    read_root_attributes(root);
    for (xmlNode* node = root->children; node != nullptr; node = node->next) {
      if (!is_element(node)) continue;
      if (!contains(kSections, to_string(node->name))) {
        fail(node, "<" + to_string(node->name) +
                       "> is none of High_Level_IO_Library, Middleware_Layer, "
                       "Parallel_File_System");
      }
      for (xmlNode* leaf = node->children; leaf != nullptr; leaf = leaf->next) {
        if (is_element(leaf)) read_leaf(leaf);
      }
    }
    for (const auto& [name, value] : for_this_file_) config_.named_settings.add(name, value);
    for (const auto& [name, found] : for_all_files_) for_this_file_.emplace(name, found);
    for (const auto& [name, value] : for_this_file_) config_.settings.add(name, value);
    variables_of_this_file_.insert(variables_of_all_files_.begin(), variables_of_all_files_.end());
    for (const auto& [key, value] : variables_of_this_file_) {
      config_.of_variables.push_back({key.first, key.second, value});
    }
    return std::move(config_);
  }

  // False: what was read holds for any data file.
  bool names_files() const { return !file_names_.empty(); }
  const std::set<std::string>& file_names() const { return file_names_; }

 private:
  [[noreturn]] void fail(const xmlNode* node, const std::string& what) const {
    long line = node == nullptr ? 1 : xmlGetLineNo(const_cast<xmlNode*>(node));
    throw Fault{xml_path_ + ":" + std::to_string(line) + ": " + what};
  }

  void read_root_attributes(const xmlNode* root) {
    for (const xmlAttr* attribute = root->properties; attribute != nullptr;
         attribute = attribute->next) {
      const std::string key = to_string(attribute->name);
      const xmlNode* const text = attribute->children;
      const std::string value = text == nullptr ? std::string() : to_string(text->content);
      if (key != "iotune_force") fail(root, "<Parameters> has no attribute '" + key + "'");
      if (value != "yes" && value != "no") fail(root, "iotune_force is neither yes nor no");
      config_.forced = value == "yes";
    }
  }

  bool is_element(const xmlNode* node) const {
    if (node->type == XML_ELEMENT_NODE) return true;
    if (node->type == XML_COMMENT_NODE || xmlIsBlankNode(node) != 0) return false;
    fail(node, "text where an element is expected");
  }

  std::string value_of(const xmlNode* leaf) const {
    std::string value;
    for (const xmlNode* node = leaf->children; node != nullptr; node = node->next) {
      if (node->type == XML_COMMENT_NODE) continue;
      if (node->type != XML_TEXT_NODE) fail(leaf, "plain text expected inside the element");
      value += to_string(node->content);
    }
    std::string packed;  // no value of any parameter holds a space
    for (char c : value) {
      if (c != ' ' && c != '\t' && c != '\n' && c != '\r') packed += c;
    }
    return packed;
  }

  // H5Tuner matched by substring, so "x.h5" caught "max.h5" too.
  bool names_data_file(const std::string& name) const {
    if (name.find('/') == std::string::npos) return name == base_name(data_file_);
    if (name[0] == '/') return name == data_file_;
    std::unique_ptr<char, void (*)(void*)> here(getcwd(nullptr, 0), free);
    return here && std::string(here.get()) + "/" + name == data_file_;
  }

  void read_leaf(const xmlNode* leaf) {
    std::string name = to_string(leaf->name);
    std::optional<std::string> file_name, variable;
    for (const xmlAttr* attribute = leaf->properties; attribute != nullptr;
         attribute = attribute->next) {
      std::string key = to_string(attribute->name);
      const xmlNode* text = attribute->children;
      std::string value = text == nullptr ? std::string() : to_string(text->content);
      if (key == "FileName") {
        file_name = value;
        file_names_.insert(value);
      } else if (key == "VariableName" &&
                 (name == "chunk" || name == "chunk_cache" || name == "fill_time")) {
        if (value.empty() || value.size() >= kLongestVariable ||
            value.find_first_of("\n\r") != std::string::npos) {
          fail(leaf, "VariableName must have 1 to 127 bytes on one line");
        }
        variable = value;
      } else {
        fail(leaf, "<" + name + "> has no attribute '" + key + "'");
      }
    }
    bool here = !file_name || names_data_file(*file_name);
    if (contains(kLeftOut, name)) {
      if (here) {
        config_.notes.push_back(name + " (line " + std::to_string(xmlGetLineNo(leaf)) +
                                ") is not supported and left out");
      }
      return;
    }
    const Parameter* parameter = find_parameter(name.c_str());
    if (parameter == nullptr) fail(leaf, "<" + name + "> is no parameter that iotune knows");
    std::string value = value_of(leaf);
    if (const char* fault = fault_of(*parameter, value.c_str())) {
      fail(leaf, name + " = '" + shown(value) + "': the value " + fault);
    }
    if (!here) return;
    if (variable) {
      auto& named = file_name ? variables_of_this_file_ : variables_of_all_files_;
      if (!named.emplace(std::pair(*variable, name), value).second) {
        fail(leaf, name + " of '" + *variable + "' is given twice");
      }
      return;
    }
    auto& settings = file_name ? for_this_file_ : for_all_files_;
    if (!settings.emplace(name, value).second) fail(leaf, name + " is given twice");
  }

  std::string xml_path_, data_file_;
  std::map<std::string, std::string> for_this_file_, for_all_files_;
  // (variable, parameter) to value.
  using OfVariables = std::map<std::pair<std::string, std::string>, std::string>;
  OfVariables variables_of_this_file_, variables_of_all_files_;
  Config config_;
  std::set<std::string> file_names_;
};

// What was read last, of an XML that holds for any data file. A run asks at each of its files, its
// other ranks wait for the answer, and the XML hardly ever changes.
struct Kept {
  std::string path;
  struct stat status = {};
  Config config;
};
std::mutex kept_lock;

Kept& kept() {
  static Kept only;
  return only;
}

bool same_content(const struct stat& a, const struct stat& b) {
  const auto same = [](const timespec& x, const timespec& y) {
    return x.tv_sec == y.tv_sec && x.tv_nsec == y.tv_nsec;
  };
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         same(a.st_mtim, b.st_mtim) && same(a.st_ctim, b.st_ctim);
}

// A file that was written a moment ago may be written again without another time of change.
bool settled(const struct stat& status) {
  constexpr time_t kSeconds = 2;
  return status.st_mtim.tv_sec + kSeconds < time(nullptr);
}

Config read_or_recall(const std::string& xml_path, const std::string& data_file) {
  struct stat status = {};
  // Without waiting: a child of fork may find the lock taken for ever.
  const std::unique_lock<std::mutex> lock(kept_lock, std::try_to_lock);
  const bool keeps = lock.owns_lock() && stat(xml_path.c_str(), &status) == 0 && settled(status);
  Kept& last = kept();
  if (keeps && last.path == xml_path && same_content(last.status, status)) return last.config;
  ConfigReader reader(xml_path, data_file);
  Config config = reader.read();
  if (keeps && !reader.names_files()) last = {xml_path, status, config};
  return config;
}

const char* section_of(ParameterLayer layer) {
  switch (layer) {
    case ParameterLayer::kMpiioHint:
      return kSections[1];
    case ParameterLayer::kFileSystem:
    case ParameterLayer::kPosix:
      return kSections[2];
    default:
      return kSections[0];
  }
}

std::string escaped(const std::string& name) {
  std::string text;
  for (char c : name) {
    if (c == '&') {
      text += "&amp;";
    } else if (c == '<') {
      text += "&lt;";
    } else if (c == '"') {
      text += "&quot;";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

Result<Config> read_config(const std::string& xml_path, const std::string& data_file) noexcept {
  return guarded<Config>([&] { return read_or_recall(xml_path, data_file); });
}

Result<std::vector<std::string>> files_named_in(const std::string& xml_path) noexcept {
  return guarded<std::vector<std::string>>([&] {
    ConfigReader reader(xml_path, "");
    reader.read();
    return std::vector<std::string>(reader.file_names().begin(), reader.file_names().end());
  });
}

std::string config_text(const std::vector<FileSettings>& files, bool forced) {
  std::string text = std::string("<?xml version=\"1.0\"?>\n<Parameters") +
                     (forced ? " iotune_force=\"yes\"" : "") + ">\n";
  for (const char* section : kSections) {
    std::string leaves;
    for (const auto& [file_name, settings] : files) {
      const std::string attribute =
          file_name.empty() ? "" : " FileName=\"" + escaped(file_name) + "\"";
      for (const auto& [name, value] : settings.values()) {
        const Parameter* parameter = find_parameter(name.c_str());
        if (parameter == nullptr || strcmp(section_of(parameter->layer), section) != 0) continue;
        // No valid value holds a character that XML would want escaped.
        leaves += "    <" + name + attribute + ">" + value + "</" + name + ">\n";
      }
    }
    text += std::string("  <") + section + ">\n" + leaves + "  </" + section + ">\n";
  }
  return text + "</Parameters>\n";
}

}  // namespace iotune::patterndb
