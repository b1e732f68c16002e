#include "core/abi/mpi_identity.h"

#include <cstring>

#include "core/os/short_text.h"

namespace iotune {
namespace {

// The number that comes next: up to a space, a comma, a bracket or the end.
template <std::size_t kBytes>
void add_number(const char* text, ShortText<kBytes>& to) noexcept {
  const char* const start = text + std::strspn(text, " \t:");
  to.add(start, std::strcspn(start, " \t,()\n"));
}

template <std::size_t kBytes>
void add_line(const char* text, ShortText<kBytes>& to) noexcept {
  to.add(text, std::strcspn(text, "\n"));
}

}  // namespace

MpiIdentity identify_mpi(const char* library_version, const char* soname,
                         bool has_open_mpi_objects) noexcept {
  MpiIdentity found{};
  const char* const text = library_version;
  ShortText<sizeof found.version> version;
  // MPI_Abi_get_version proves nothing: MPICH's own ABI has it too.
  const bool standard = starts_with(soname, "libmpi_abi.");
  if (starts_with(text, "Open MPI v")) {
    found.known = has_open_mpi_objects || standard;
    found.abi = MpiAbi::kOpenMpi;
    version << "Open MPI v";
    add_number(text + 10, version);
  } else if (has_open_mpi_objects) {
    // Another MPI made of it: its handles may differ.
  } else if (starts_with(text, "MPICH Version:")) {
    found.known = true;
    version << "MPICH ";
    add_number(text + 14, version);
  } else if (starts_with(text, "MVAPICH")) {
    const char* const end = std::strstr(text, " Version");
    const std::size_t bytes = end == nullptr ? 0 : static_cast<std::size_t>(end - text);
    found.known = bytes > 0 && bytes < 20;
    if (found.known) {
      version.add(text, bytes);
      version << ' ';
      add_number(end + 8, version);
    }
  } else if (starts_with(text, "Intel(R) MPI Library ")) {
    found.known = true;
    version << "Intel MPI ";
    add_number(text + 21, version);
  } else if (const char* const cray = std::strstr(text, "CRAY MPICH version ")) {
    found.known = true;
    version << "Cray MPICH ";
    add_number(cray + 19, version);
    if (const char* const base = std::strstr(cray, "(ANL base ")) {
      version << " (MPICH ";
      add_number(base + 10, version);
      version << ')';
    }
  }
  if (standard) {
    found.known = true;
    found.abi = MpiAbi::kStandard;
    if (version.size() == 0) add_line(text, version);
  }
  std::memcpy(found.version, version.c_str(), version.size() + 1);
  return found;
}

}  // namespace iotune
