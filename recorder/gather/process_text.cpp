#include "recorder/gather/process_text.h"

#include <fcntl.h>

#include "core/abi/mpi_api.h"
#include "core/files/process_files.h"
#include "core/os/raw_syscall.h"
#include "core/process/configuration.h"
#include "core/process/process_facts.h"
#include "core/process/process_tree.h"
#include "core/process/thread_state.h"
#include "core/run/run_identity.h"
#include "recorder/call_table.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"

namespace iotune::recorder {
namespace {

constinit ShortText<1024> g_hdf5_library;  // whole, or empty
constinit ShortText<64> g_mpi;
constinit ShortText<32> g_hdf5;
constinit int g_rank = -1, g_size = 0;
constexpr int kStdout = 1;
constinit const char* g_rank_from = "MPI_COMM_WORLD";

template <std::size_t N>
void describe_world(ShortText<N>& text) noexcept {
  text << "rank=" << g_rank << "\nsize=" << g_size << '\n';
  if (g_rank >= 0) text << "rank_from=" << g_rank_from << '\n';
  if (g_mpi.size() > 0) {
    text << "mpi=";
    text.add_escaped(g_mpi.c_str(), g_mpi.size());
    text << '\n';
  }
  if (g_hdf5.size() > 0) text << "hdf5=" << g_hdf5.c_str() << '\n';
  if (g_hdf5_library.size() > 0) {
    text << "hdf5_library=";
    text.add_escaped(g_hdf5_library.c_str(), g_hdf5_library.size());
    text << '\n';
  }
}

// What calls that order processes name the communicators by that nothing makes.
template <std::size_t N>
void describe_communicators(ShortText<N>& text) noexcept {
  Provider* const world = world_provider();
  const MpiApi* const mpi = g_records_order && world != nullptr ? mpi_api(*world) : nullptr;
  if (mpi == nullptr) return;
  text << "comm_world=" << std::uint64_t{mpi->constants.comm_world}
       << "\ncomm_self=" << std::uint64_t{mpi->constants.comm_self} << '\n';
}

void add_world() noexcept {
  if (!buffer_exists()) return;
  static constinit ShortText<4608> text;
  text.clear();
  describe_world(text);
  describe_communicators(text);
  add_process_text(text.c_str(), text.size());
}

// Several homes may share an account, and with it the folder of buffers: the process that joins
// what a death left has to know whose it is (python/iotune/traces/leftovers.py).
void add_state_folder(ProcessText& text) noexcept {
  static constexpr char kBelow[] = "/iotune";
  const char* const home = configuration().state_home;
  if (home == nullptr || home[0] != '/') return;
  text << "state=";
  text.add_escaped(home, std::strlen(home)).add_escaped(kBelow, sizeof kBelow - 1) << '\n';
}

// What the program says, and no data file's: analyses count it apart.
void add_stdout(ProcessText& text) noexcept {
  static char path[4096];
  if (file_of_stdout() == 0 || file_of_descriptor(kStdout) != file_of_stdout()) return;
  const long bytes = path_of_descriptor(kStdout, path, sizeof path);
  if (bytes <= 0) return;
  text << "stdout=";
  text.add_escaped(path, static_cast<std::size_t>(bytes)) << '\n';
}

void add_command_line(ProcessText& text) noexcept {
  static char arguments[2049];
  const long bytes = read_text("/proc/self/cmdline", arguments);
  if (bytes <= 1) return;
  text << "argv=";
  text.add_escaped(arguments, static_cast<std::size_t>(bytes - 1));
  text << '\n';
}

}  // namespace

void set_world(int rank, int size, const char* mpi, const char* rank_from) noexcept {
  g_rank_from = rank_from == nullptr ? "MPI_COMM_WORLD" : rank_from;
  g_rank = rank;
  g_size = size;
  g_mpi.clear();
  g_mpi << mpi;
  add_world();
}

void set_hdf5_version(unsigned major, unsigned minor, unsigned release) noexcept {
  if (g_hdf5.size() > 0) return;
  g_hdf5 << major << '.' << minor << '.' << release;
  add_world();
}

void set_hdf5_library(const char* path) noexcept {
  constexpr std::size_t kMostBytes = 1023;
  if (g_hdf5.size() > 0 || path == nullptr || std::strlen(path) > kMostBytes) return;
  g_hdf5_library.clear();
  g_hdf5_library << path;
}
const char* hdf5_version() noexcept {
  return g_hdf5.c_str();
}
bool uses_mpi() noexcept {
  return g_mpi.size() > 0;
}
int world_rank() noexcept {
  return g_rank;
}
int world_size() noexcept {
  return g_size;
}

void describe_process(ProcessText& text, const ClockReading& first, TickRate rate) noexcept {
  text << "pid=" << raw::getpid() << "\nparent=" << raw::getppid() << "\nhost=" << host_name()
       << "\nrun=" << run_id() << '\n';
  describe_world(text);
  describe_communicators(text);
  add_state_folder(text);
  text << "program=";
  const char* const program = program_path();
  text.add_escaped(program, std::strlen(program));
  text << '\n';
  add_stdout(text);
  add_command_line(text);
  static constinit ShortText<4096> directory;
  absolute_path("", directory);
  text << "cwd=";
  text.add_escaped(directory.c_str(), directory.size());
  text << '\n';
  // Who joins what a death left knows neither the site's word nor the run's environment.
  if (!configuration().learns) text << "learns=no\n";
  if (g_records_order) text << "order=yes\n";
  if (configuration().trace_path == nullptr) {
    // Whether what a death left is worth a trace is decided by it; without it, always.
    text << "keep_above=" << configuration().keep_above_bytes << '\n';
  } else {
    // Whether the trace there is this command line's own, so that its calls stay (trace_file.h).
    if (run_is_this_process()) text << "tree=" << process_tree() << '\n';
    static constinit ShortText<4096> trace;
    absolute_path(configuration().trace_path, trace);
    text << "trace=";
    text.add_escaped(trace.c_str(), trace.size());
    text << '\n';
  }
  const std::uint64_t per_second =
      rate.mult == 0
          ? 0
          : static_cast<std::uint64_t>(
                (static_cast<unsigned __int128>(1'000'000'000u) << TickRate::kShift) / rate.mult);
  text << "wall_ns=" << first.realtime_ns << "\nstart_ticks=" << first.ticks
       << "\nticks_per_second=" << per_second << "\ntable=" << call_table_crc() << '\n';
}

}  // namespace iotune::recorder
