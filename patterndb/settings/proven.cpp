#include "patterndb/settings/proven.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace iotune::patterndb {

namespace {

constexpr std::int64_t kLargestTried = 64 * kMiB;

struct Version {
  unsigned long part[3] = {0, 0, 0};
  bool operator<=(const Version& other) const {
    for (int i = 0; i < 3; ++i) {
      if (part[i] != other.part[i]) return part[i] < other.part[i];
    }
    return true;
  }
};

// Nothing for what is no plain release: of a beta nothing is known.
std::optional<Version> version_of(const std::string& text) {
  Version version;
  const char* at = text.c_str();
  for (int i = 0; i < 3; ++i) {
    if (*at < '0' || *at > '9') return std::nullopt;
    char* end = nullptr;
    version.part[i] = strtoul(at, &end, 10);
    at = end;
    if (*at == '\0') return version;
    if (*at++ != '.') return std::nullopt;
  }
  // A fourth number is a packager's.
  return version;
}

bool covers(const KnownRow& row, const Library& library) {
  if (strcmp(row.library, kAnyLibrary) == 0) return true;
  const bool of_open_mpi =
      library.name == "Open MPI" && row.known == Known::kBad &&
      (strcmp(row.library, kOmpio) == 0 || strcmp(row.library, kOpenMpiRomio) == 0);
  if (library.name != row.library && !of_open_mpi) return false;
  if (row.from[0] == '\0' && row.to[0] == '\0') return true;
  const std::optional<Version> version = version_of(library.version);
  if (!version) return false;
  const std::optional<Version> from = version_of(row.from), to = version_of(row.to);
  return (!from || *from <= *version) && (!to || *version <= *to);
}

// "a,b": the last one.
std::int64_t last_integer(const std::string& value) {
  const std::size_t comma = value.rfind(',');
  return strtoll(value.c_str() + (comma == std::string::npos ? 0 : comma + 1), nullptr, 10);
}

bool has_class(const std::string& parameter, const char* name) {
  for (const ValueClass& one : kValueClasses) {
    if (parameter == one.parameter && strcmp(one.name, name) == 0) return true;
  }
  return false;
}

bool is_star_and_number(const std::string& value) {
  return value.size() > 2 && value.compare(0, 2, "*:") == 0 &&
         value.find_first_not_of("0123456789", 2) == std::string::npos;
}

}  // namespace

Library mpiio_library(const std::string& mpi, const std::string& mpi_io) {
  // "Cray MPICH 9.0.0 (MPICH 4.1.2)": what it is built on is not what it is.
  const std::string own = mpi.substr(0, mpi.find(" ("));
  const std::size_t space = own.rfind(' ');
  Library library{own.substr(0, space), space == std::string::npos ? "" : own.substr(space + 1)};
  if (library.version.size() > 1 && library.version[0] == 'v') library.version.erase(0, 1);
  if (library.name == "Open MPI" && !mpi_io.empty()) library.name = mpi_io;
  return library;
}

const Library* library_of(const Parameter& parameter, const Library& mpiio, const Library& hdf5) {
  switch (parameter.layer) {
    case ParameterLayer::kFileAccess:
    case ParameterLayer::kDatasetAccess:
    case ParameterLayer::kDatasetCreation:
    case ParameterLayer::kDatasetTransfer:
      return &hdf5;
    case ParameterLayer::kMpiioHint:
      return &mpiio;
    case ParameterLayer::kFileSystem:
    case ParameterLayer::kPosix:
      break;
  }
  return nullptr;
}

std::string value_class(const std::string& parameter, const std::string& value) {
  if (parameter == "cb_nodes") return last_integer(value) == 1 ? "1" : "more";
  if (parameter == "cb_config_list") {
    if (value == "*:1") return value;
    return is_star_and_number(value) ? "*:N" : "other";
  }
  if (parameter == "romio_lustre_coll_threshold") return last_integer(value) == 0 ? "0" : "more";
  if (has_class(parameter, "up to 64 MiB")) {
    return last_integer(value) <= kLargestTried ? "up to 64 MiB" : "larger";
  }
  return has_class(parameter, "any") ? "any" : value;
}

Verdict known_of(const Library& library, const std::string& parameter,
                 const std::string& value_class) {
  Verdict found;
  for (const KnownRow& row : kKnownRows) {
    if (parameter != row.parameter || !covers(row, library)) continue;
    if (strcmp(row.value_class, kAnyClass) != 0 && value_class != row.value_class) continue;
    found = {row.known, row.because};
    if (row.known == Known::kBad) break;  // whatever else is said
  }
  return found;
}

const char* known_name(Known known) {
  switch (known) {
    case Known::kHarmless:
      return "harmless";
    case Known::kProven:
      return "proven";
    case Known::kBad:
      return "known bad";
    case Known::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace iotune::patterndb
