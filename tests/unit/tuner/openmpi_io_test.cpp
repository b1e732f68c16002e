// Parameters of components that no MPI here has: those of Open MPI's on Lustre.
#include "tuner/mpiio/openmpi_io.h"

#include <gtest/gtest.h>

#include <cstring>
#include <iterator>

#include "tuner/mpiio/openmpi_said.h"
#include "tuner/posix/file_layout.h"

namespace iotune {

// There is no run here, only the tool interface that the tests make.
Provider* world_provider() noexcept {
  return nullptr;
}
const MpiApi* mpi_api(Provider&) noexcept {
  return nullptr;
}

}  // namespace iotune

namespace iotune::tuner {

bool io_parameters_may_be_set() noexcept {
  return true;
}

LayoutKind layout_kind_of(const char*) noexcept {
  return LayoutKind::kLustre;
}

namespace {

struct Parameter {
  const char* name;
  std::int32_t value;
};
// One is not there, as where a component is missing.
constexpr Parameter kParameters[] = {{"io_ompio_num_aggregators", -1},
                                     {"fs_lustre_stripe_width", 0},
                                     {"fs_lustre_stripe_size", 65536}};
int g_sessions = 0, g_open = 0, g_handles = 0;

int find(const char* name, int* index) {
  EXPECT_EQ(g_open, 1);
  for (std::size_t i = 0; i < std::size(kParameters); ++i) {
    if (std::strcmp(kParameters[i].name, name) == 0) {
      *index = static_cast<int>(i);
      return 0;
    }
  }
  return 1;
}

MpiApi tool_interface() {
  MpiApi mpi{};
  mpi.MPI_T_init_thread = [](int, int*) {
    ++g_sessions;
    ++g_open;
    return 0;
  };
  mpi.MPI_T_finalize = [] {
    --g_open;
    return 0;
  };
  mpi.MPI_T_cvar_get_index = find;
  mpi.MPI_T_cvar_handle_alloc = [](int index, void*, void** handle, int* elements) {
    *handle = const_cast<Parameter*>(&kParameters[index]);
    *elements = 1;
    ++g_handles;
    return 0;
  };
  mpi.MPI_T_cvar_read = [](void* handle, void* value) {
    std::memcpy(value, &static_cast<const Parameter*>(handle)->value, sizeof(std::int32_t));
    return 0;
  };
  mpi.MPI_T_cvar_handle_free = [](void**) {
    --g_handles;
    return 0;
  };
  return mpi;
}

TEST(OpenMpiIo, ParametersThatAreNotAtTheirDefaultAreTheUsers) {
  const MpiApi mpi = tool_interface();
  const unsigned own = own_parameters(mpi);
  EXPECT_TRUE(parameters_name(own, "striping_unit"));
  for (const char* hint : {"striping_factor", "cb_nodes", "cb_buffer_size", "romio_cb_write"}) {
    EXPECT_FALSE(parameters_name(own, hint)) << hint;
  }
  // All is asked for once, and given back. Which MPI-IO it uses cannot be known here.
  EXPECT_EQ(own_parameters(mpi), own);
  EXPECT_EQ(openmpi_io(mpi, "/a/b"), OpenMpiIo::kUnknown);
  EXPECT_EQ(g_sessions, 1);
  EXPECT_EQ(g_open, 0);
  EXPECT_EQ(g_handles, 0);
}

// No ROMIO is there to be named, on Lustre neither.
TEST(OpenMpiIo, FromVersion6OnThereIsOmpioAlone) {
  MpiApi mpi = tool_interface();
  const int sessions = g_sessions;
  for (const char* version : {"Open MPI v6.0.0", "Open MPI v6.0.0rc1", "Open MPI v10.1.0"}) {
    std::strncpy(mpi.version, version, sizeof mpi.version - 1);
    EXPECT_EQ(openmpi_io(mpi, "/tmp/b"), OpenMpiIo::kOmpio) << version;
    EXPECT_TRUE(reports_hints_in_use(version)) << version;
  }
  EXPECT_EQ(g_sessions, sessions);
  for (const char* version : {"Open MPI v5.0.11", "Open MPI v4.1.4", "MPICH 6.0.0", ""}) {
    EXPECT_FALSE(reports_hints_in_use(version)) << version;
  }
}

}  // namespace
}  // namespace iotune::tuner
