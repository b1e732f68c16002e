#include "tuner/openmpi_io.h"

#include <cstring>

#include "recorder/preload/short_text.h"
#include "tuner/file_layout.h"
#include "tuner/real_directory.h"

namespace iotune::tuner {
namespace {

constexpr int kMostValueBytes = 4096;

// False where it cannot be read.
bool read_io_parameter(const recorder::MpiApi& mpi, char (&value)[kMostValueBytes]) noexcept {
  if (mpi.MPI_T_init_thread == nullptr || mpi.MPI_T_cvar_get_index == nullptr ||
      mpi.MPI_T_cvar_handle_alloc == nullptr || mpi.MPI_T_cvar_read == nullptr ||
      mpi.MPI_T_cvar_handle_free == nullptr || mpi.MPI_T_finalize == nullptr) {
    return false;
  }
  constexpr int kThreadSingle = 0;
  int provided = 0, index = -1, bytes = 0;
  if (mpi.MPI_T_init_thread(kThreadSingle, &provided) != 0) return false;
  void* handle = nullptr;
  bool good = mpi.MPI_T_cvar_get_index("io", &index) == 0 &&
              mpi.MPI_T_cvar_handle_alloc(index, nullptr, &handle, &bytes) == 0;
  if (good) {
    good = bytes < kMostValueBytes && mpi.MPI_T_cvar_read(handle, value) == 0;
    mpi.MPI_T_cvar_handle_free(&handle);
  }
  mpi.MPI_T_finalize();
  value[kMostValueBytes - 1] = '\0';
  return good;
}

bool on_lustre(const char* path) noexcept {
  recorder::ShortText<4096> directory;
  return real_directory_of(path, directory) &&
         layout_kind_of(directory.c_str()) == LayoutKind::kLustre;
}

}  // namespace

OpenMpiIo openmpi_io(const recorder::MpiApi& mpi, const char* path) noexcept {
  char value[kMostValueBytes] = "";
  if (!read_io_parameter(mpi, value)) return OpenMpiIo::kUnknown;
  const bool names_ompio = std::strstr(value, "ompio") != nullptr;
  const bool names_romio = std::strstr(value, "romio") != nullptr;
  if (names_ompio && names_romio) return OpenMpiIo::kUnknown;
  // "^ompio" is everything but OMPIO.
  const bool others = value[0] == '^';
  if (names_ompio || names_romio) {
    return names_romio != others ? OpenMpiIo::kRomio : OpenMpiIo::kOmpio;
  }
  if (value[0] != '\0') return OpenMpiIo::kUnknown;
  return on_lustre(path) ? OpenMpiIo::kRomio : OpenMpiIo::kOmpio;
}

bool ompio_reads(const char* hint) noexcept {
  return std::strcmp(hint, "cb_nodes") == 0 || std::strcmp(hint, "cb_buffer_size") == 0;
}

}  // namespace iotune::tuner
