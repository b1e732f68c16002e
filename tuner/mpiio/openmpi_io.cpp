#include "tuner/mpiio/openmpi_io.h"

#include <cstring>
#include <iterator>

#include "core/os/short_text.h"
#include "patterndb/settings/proven_table.h"
#include "tuner/mpiio/openmpi_said.h"
#include "tuner/posix/file_layout.h"
#include "tuner/posix/real_directory.h"

namespace iotune::tuner {
namespace {

constexpr int kMostValueBytes = 4096;

// MPI's tool interface, which brings all parameters of all components: with Open MPI 4 a fifth of a
// second.
class ToolInterface {
 public:
  explicit ToolInterface(const MpiApi& mpi) noexcept : mpi_(mpi) {
    constexpr int kThreadSingle = 0;
    int provided = 0;
    open_ = mpi.MPI_T_init_thread != nullptr && mpi.MPI_T_cvar_get_index != nullptr &&
            mpi.MPI_T_cvar_handle_alloc != nullptr && mpi.MPI_T_cvar_read != nullptr &&
            mpi.MPI_T_cvar_handle_free != nullptr && mpi.MPI_T_finalize != nullptr &&
            mpi.MPI_T_init_thread(kThreadSingle, &provided) == 0;
  }
  ~ToolInterface() {
    if (open_) mpi_.MPI_T_finalize();
  }
  ToolInterface(const ToolInterface&) = delete;
  ToolInterface& operator=(const ToolInterface&) = delete;

  // False where there is none of that name or it cannot be read.
  bool read(const char* name, char (&value)[kMostValueBytes]) const noexcept {
    int index = -1, elements = 0;
    void* handle = nullptr;
    if (!open_ || mpi_.MPI_T_cvar_get_index(name, &index) != 0 ||
        mpi_.MPI_T_cvar_handle_alloc(index, nullptr, &handle, &elements) != 0) {
      return false;
    }
    // Elements are characters, or it is one number.
    const bool good = elements < kMostValueBytes && mpi_.MPI_T_cvar_read(handle, value) == 0;
    mpi_.MPI_T_cvar_handle_free(&handle);
    value[kMostValueBytes - 1] = '\0';
    return good;
  }

 private:
  const MpiApi& mpi_;
  bool open_;
};

// What MPI's tool interface does not tell: whether a value is the default because nobody set it.
struct OwnParameter {
  const char* name;
  std::int32_t by_default;
  const char* hint;  // that says the same
};
constexpr OwnParameter kOwnParameters[] = {
    {"io_ompio_num_aggregators", -1, "cb_nodes"},
    {"io_ompio_bytes_per_agg", 33554432, "cb_buffer_size"},
    {"fs_lustre_stripe_width", 0, "striping_factor"},
    {"fs_lustre_stripe_size", 0, "striping_unit"},
    // Which component makes collective calls: a text, empty by default.
    {"fcoll", 0, "collective_buffering"},
};

enum NamedIo : unsigned { kNamesUnknown, kNamesNothing, kNamesOmpio, kNamesRomio };

NamedIo named_io(const char* value) noexcept {
  const bool names_ompio = std::strstr(value, "ompio") != nullptr;
  const bool names_romio = std::strstr(value, "romio") != nullptr;
  if (names_ompio && names_romio) return kNamesUnknown;
  // "^ompio" is everything but OMPIO.
  const bool others = value[0] == '^';
  if (names_ompio || names_romio) return names_romio != others ? kNamesRomio : kNamesOmpio;
  return value[0] == '\0' ? kNamesNothing : kNamesUnknown;
}

constinit bool g_read = false;
constinit unsigned g_named = 0, g_own = 0;

// Once, because they do not change while the program runs. Threads that come at the same time read
// the same.
void read_parameters(const MpiApi& mpi) noexcept {
  if (__atomic_load_n(&g_read, __ATOMIC_ACQUIRE)) return;
  if (!io_parameters_may_be_set()) {
    __atomic_store_n(&g_named, kNamesNothing, __ATOMIC_RELAXED);
    __atomic_store_n(&g_read, true, __ATOMIC_RELEASE);
    return;
  }
  const ToolInterface tools(mpi);
  char value[kMostValueBytes] = "";
  const NamedIo named = tools.read("io", value) ? named_io(value) : kNamesUnknown;
  unsigned own = 0;
  for (unsigned i = 0; i < std::size(kOwnParameters); ++i) {
    std::memset(value, 0, sizeof(std::int64_t));
    if (!tools.read(kOwnParameters[i].name, value)) continue;
    std::int32_t number = 0;  // the lower half of a longer one
    std::memcpy(&number, value, sizeof number);
    if (number != kOwnParameters[i].by_default) own |= 1u << i;
  }
  __atomic_store_n(&g_named, named, __ATOMIC_RELAXED);
  __atomic_store_n(&g_own, own, __ATOMIC_RELAXED);
  __atomic_store_n(&g_read, true, __ATOMIC_RELEASE);
}

// 4 of "Open MPI v4.1.4"; 0 of all that is no Open MPI.
unsigned major_version(const char* mpi_version) noexcept {
  constexpr char kName[] = "Open MPI v";
  if (!starts_with(mpi_version, kName)) return 0;
  return static_cast<unsigned>(parse_decimal(mpi_version + sizeof kName - 1));
}

constexpr unsigned kFirstWithoutRomio = 6;

bool has_romio(const char* mpi_version) noexcept {
  return major_version(mpi_version) < kFirstWithoutRomio;
}

bool on_lustre(const char* path) noexcept {
  ShortText<4096> directory;
  return real_directory_of(path, directory) &&
         layout_kind_of(directory.c_str()) == LayoutKind::kLustre;
}

}  // namespace

OpenMpiIo openmpi_io(const MpiApi& mpi, const char* path) noexcept {
  if (!has_romio(mpi.version)) return OpenMpiIo::kOmpio;
  read_parameters(mpi);
  const unsigned named = __atomic_load_n(&g_named, __ATOMIC_RELAXED);
  if (named == kNamesUnknown) return OpenMpiIo::kUnknown;
  if (named == kNamesOmpio) return OpenMpiIo::kOmpio;
  if (named == kNamesRomio) return OpenMpiIo::kRomio;
  return on_lustre(path) ? OpenMpiIo::kRomio : OpenMpiIo::kOmpio;
}

const char* name_of_openmpi_io(const char* path) noexcept {
  Provider* const world = world_provider();
  const MpiApi* const mpi = world == nullptr ? nullptr : mpi_api(*world);
  // With the standard ABI too, which Open MPI has from version 6 on.
  if (mpi == nullptr || major_version(mpi->version) == 0) return nullptr;
  switch (openmpi_io(*mpi, path)) {
    case OpenMpiIo::kOmpio:
      return patterndb::kOmpio;
    case OpenMpiIo::kRomio:
      return patterndb::kOpenMpiRomio;
    case OpenMpiIo::kUnknown:
      break;
  }
  return nullptr;
}

unsigned own_parameters(const MpiApi& mpi) noexcept {
  read_parameters(mpi);
  return __atomic_load_n(&g_own, __ATOMIC_RELAXED);
}

bool parameters_name(unsigned parameters, const char* hint) noexcept {
  for (unsigned i = 0; i < std::size(kOwnParameters); ++i) {
    if ((parameters >> i & 1) != 0 && std::strcmp(kOwnParameters[i].hint, hint) == 0) return true;
  }
  return false;
}

bool romio_gets_hints(const char* mpi_version) noexcept {
  return major_version(mpi_version) != 5;
}

bool ompio_reads(const char* hint) noexcept {
  return std::strcmp(hint, "cb_nodes") == 0 || std::strcmp(hint, "cb_buffer_size") == 0 ||
         std::strcmp(hint, "collective_buffering") == 0;
}

bool reports_hints_in_use(const char* mpi_version) noexcept {
  return !has_romio(mpi_version);
}

}  // namespace iotune::tuner
