// Wrappers of POSIX calls that are about the process and none of its files: recorded where it has
// a trace by then, so that they alone never make one.
#include "core/process/working_directory.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/traced_call.h"
#include "recorder/wrappers/wrapper_parts.h"

using namespace iotune;
using namespace iotune::recorder;

namespace {

template <typename Result, typename Call, typename Write>
Result of_process(CallNumber number, Call call, Write write) noexcept {
  if (!g_recording || t_thread.ours != 0 || !buffer_exists()) return call();
  return recorded_call<Layer::kPosix, Result>(call, [&](const CallScope& scope, Result result) {
    RecordWriter record(scope, number, Times::kControl);
    write(record, result);
    record.commit();
  });
}

char* working_directory(std::size_t size, char* (*real)(char*, std::size_t, std::size_t),
                        char* buffer, std::size_t room) noexcept {
  return of_process<char*>(
      CallNumber::kgetcwd, [=] { return real(buffer, size, room); },
      [=](RecordWriter& record, const char* path) {
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

// The third argument of the checked form is none of the other's, and does no harm there.
IOTUNE_EXPORT char* getcwd(char* buffer, std::size_t size) noexcept {
  IOTUNE_REAL(char* (*)(char*, std::size_t, std::size_t), getcwd);
  return working_directory(size, real, buffer, size);
}
IOTUNE_EXPORT char* __getcwd_chk(char* buffer, std::size_t size, std::size_t room) noexcept {
  IOTUNE_REAL(char* (*)(char*, std::size_t, std::size_t), __getcwd_chk);
  return working_directory(size, real, buffer, room);
}

IOTUNE_EXPORT unsigned umask(unsigned mode) noexcept {
  IOTUNE_REAL(unsigned (*)(unsigned), umask);
  return of_process<unsigned>(
      CallNumber::kumask, [=] { return real(mode); },
      [=](RecordWriter& record, unsigned before) {
        record.numbers({std::int64_t{mode}, std::int64_t{before}});
      });
}

IOTUNE_EXPORT int pipe(int* ends) noexcept {
  IOTUNE_REAL(int (*)(int*), pipe);
  return piped(CallNumber::kpipe, ends, false, 0, [=] { return real(ends); });
}
IOTUNE_EXPORT int pipe2(int* ends, int flags) noexcept {
  IOTUNE_REAL(int (*)(int*, int), pipe2);
  return piped(CallNumber::kpipe2, ends, true, flags, [=] { return real(ends, flags); });
}

}  // extern "C"
