// Settings in H5Tuner's XML (docs/database.md). Its leaves stand below High_Level_IO_Library,
// Middleware_Layer or Parallel_File_System and may carry FileName="x.h5"; besides H5Tuner's own
// names every parameter of patterndb/settings/parameters.h is a leaf. <Parameters
// iotune_force="yes"> asks for settings too of which nothing is known; H5Tuner's own reader passes
// over it.
#pragma once

#include <string>
#include <vector>

#include "patterndb/settings/settings.h"

namespace iotune::patterndb {

// A setting for the datasets of one name, or of one path where it begins with a slash.
struct VariableSetting {
  std::string variable, name, value;
};

struct Config {
  Settings settings;        // that hold for the file asked about
  Settings named_settings;  // those of them that are said of its name
  std::vector<VariableSetting> of_variables;
  bool forced = false;             // <Parameters iotune_force="yes">: also what is not proven
  std::vector<std::string> notes;  // leaves that H5Tuner knew and iotune leaves out
};

// Reads the XML for one data file. FileName must equal its whole base name or its whole path; a
// leaf with FileName beats one without. The message names the XML file and the line. Unknown
// tags, document types (so no entities) and a setting given twice are errors.
Result<Config> read_config(const std::string& xml_path, const std::string& data_file) noexcept;

// Each FileName of the XML once.
Result<std::vector<std::string>> files_named_in(const std::string& xml_path) noexcept;

// The settings of files with one base name, or path where there is a slash; "": of every file.
struct FileSettings {
  std::string file_name;  // UTF-8 without control characters
  Settings settings;
};

// XML that read_config() reads back as these settings: what is said of a file's name beats what is
// said of every file.
std::string config_text(const std::vector<FileSettings>& files, bool forced = false);

}  // namespace iotune::patterndb
