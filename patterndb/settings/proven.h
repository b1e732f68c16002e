// Looks settings up in proven_table.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "patterndb/settings/parameters.h"
#include "patterndb/settings/proven_table.h"

namespace iotune::patterndb {

// A library and its version: "Open MPI v4.1.4" whose MPI-IO is OMPIO is {"OMPIO", "4.1.4"}.
struct Library {
  std::string name, version;
  std::string text() const { return version.empty() ? name : name + " " + version; }
};

// The MPI-IO of an MPI as traces name it. `mpi_io`: kOmpio or kOpenMpiRomio, which only Open MPI is
// asked for; "" where that is not known, and Open MPI is then a library of which only bad is known.
Library mpiio_library(const std::string& mpi, const std::string& mpi_io);

// Which of the two reads the parameter; nullptr: neither does.
const Library* library_of(const Parameter& parameter, const Library& mpiio, const Library& hdf5);

// The class of a valid value; of every valid value there is one.
std::string value_class(const std::string& parameter, const std::string& value);

struct Verdict {
  Known known = Known::kUnknown;
  std::string because;
};
// By the table alone.
Verdict known_of(const Library& library, const std::string& parameter,
                 const std::string& value_class);

// "harmless", "proven", "known bad" or "unknown".
const char* known_name(Known known);

}  // namespace iotune::patterndb
