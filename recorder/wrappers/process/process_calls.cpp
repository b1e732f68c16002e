// Wrappers of POSIX calls that are about the process and none of its files: recorded where it has
// a trace by then, so that they alone never make one.
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/posix/path_call.h"
#include "recorder/wrappers/traced_call.h"
#include "recorder/wrappers/wrapper_parts.h"

using namespace iotune;
using namespace iotune::recorder;

namespace {

template <typename Result, typename Call, typename Write>
Result of_process(CallNumber number, Call call, Write write) noexcept {
  if (g_recording < kRecorded || t_thread.ours != 0 || !buffer_exists()) return call();
  if (is_the_end_of_mpi(t_thread.layers & kLayerBits)) return call();
  return recorded_call<Layer::kPosix, Result>(call, [&](const CallScope& scope, Result result) {
    RecordWriter record(scope, number, Times::kControl);
    write(record, result);
    record.commit();
  });
}

template <typename Call>
char* working_directory(std::size_t size, Call call) noexcept {
  return of_process<char*>(CallNumber::kgetcwd, call, [=](RecordWriter& record, const char* path) {
    record.numbers({static_cast<std::int64_t>(size), path == nullptr ? -1 : 0});
    record.text(path);
  });
}

// The new descriptors were numbers of other files before.
template <typename Call>
int piped(CallNumber number, const int* ends, bool with_flags, int flags, Call call) noexcept {
  const int result = of_process<int>(number, call, [=](RecordWriter& record, int done) {
    if (with_flags) record.number(std::int64_t{flags});
    record.number(std::int64_t{done});
    for (int i = 0; i < 2; ++i) record.number(std::int64_t{done < 0 ? -1 : ends[i]});
  });
  if (result == 0) {
    for (int i = 0; i < 2; ++i) set_file_of_descriptor(ends[i], 0);
  }
  return result;
}

}  // namespace

extern "C" {

IOTUNE_EXPORT char* getcwd(char* buffer, std::size_t size) noexcept {
  static constinit NextSymbol next;
  return working_directory(size, next.prepare<char*>("getcwd", buffer, size));
}
IOTUNE_EXPORT char* __getcwd_chk(char* buffer, std::size_t size, std::size_t room) noexcept {
  static constinit NextSymbol next;
  return working_directory(size, next.prepare<char*>("__getcwd_chk", buffer, size, room));
}

IOTUNE_EXPORT unsigned umask(unsigned mode) noexcept {
  static constinit NextSymbol next;
  return of_process<unsigned>(CallNumber::kumask, next.prepare<unsigned>("umask", mode),
                              [=](RecordWriter& record, unsigned before) {
                                record.numbers({std::int64_t{mode}, std::int64_t{before}});
                              });
}

IOTUNE_EXPORT int pipe(int* ends) noexcept {
  static constinit NextSymbol next;
  return piped(CallNumber::kpipe, ends, false, 0, next.prepare<int>("pipe", ends));
}
IOTUNE_EXPORT int pipe2(int* ends, int flags) noexcept {
  static constinit NextSymbol next;
  return piped(CallNumber::kpipe2, ends, true, flags, next.prepare<int>("pipe2", ends, flags));
}

}  // extern "C"
