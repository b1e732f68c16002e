// Wrappers of the POSIX calls that move data.
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>

#include "recorder/hooks/service.h"
#include "recorder/meaning_by_call.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/descriptors/descriptor_place.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/reported_transfer.h"
#include "recorder/wrappers/wrapper_parts.h"

namespace iotune::recorder {
namespace {

constexpr std::uint8_t kBit = bit_of(Layer::kPosix);
constexpr auto kPassed = static_cast<std::uint8_t>(kBit | kUnrecordedBit);

// Makes the call in the POSIX layer. False, with nothing done, where it is not to be recorded, has
// to be reported to services, or time stamps are not the processor's counter.
template <typename Call>
__attribute__((always_inline)) inline bool timed(Call call, ssize_t& result, std::uint64_t& start,
                                                 std::uint64_t& duration,
                                                 std::uint8_t& layers) noexcept {
  ThreadState& thread = t_thread;
  layers = thread.layers;
  if (g_recording != kRecorded || g_tick_source != TickSource::kCounter || thread.ours != 0 ||
      (layers & kPassed) != 0) {
    return false;
  }
  thread.layers = static_cast<std::uint8_t>(layers | kBit);
  start = counter_now();
  result = call();
  duration = counter_now() - start;
  thread.layers = layers;
  return true;
}

// Records a transfer that continues no known pattern. Kept out of the wrappers, which rarely call
// it.
__attribute__((noinline)) void record_new(std::uint64_t stream, std::int64_t first,
                                          std::int64_t second, std::int64_t third,
                                          std::uint64_t start, std::uint64_t duration) noexcept {
  ThreadState& thread = t_thread;
  const TransferCall call{stream, {first, second, third}};
  if (Ring* const ring = thread.ring; ring != nullptr) {
    thread.ours = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    const bool listed = ring->cursor.append(call, start, duration, *ring);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread.ours = 0;
    if (listed) return;
  }
  record_transfer(call, start, duration);
}

__attribute__((always_inline)) inline void record(std::uint64_t stream, std::int64_t first,
                                                  std::int64_t second, std::int64_t third,
                                                  std::uint64_t start,
                                                  std::uint64_t duration) noexcept {
  ThreadState& thread = t_thread;
  if (Ring* const ring = thread.ring; ring != nullptr) {
    // A signal handler's calls must not come between. No function of libc is called here, so
    // that errno is as the call left it.
    thread.ours = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    const TransferCall call{stream, {first, second, third}};
    const bool counted = ring->cursor.count(call, start, duration, *ring) ||
                         ring->cursor.list(call, start, duration);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread.ours = 0;
    if (counted) return;
  }
  record_new(stream, first, second, third, start, duration);
}

// As PositionWatch::place; a descriptor without a position is not traced any more.
inline bool position_before(const PositionWatch& watch, int fd, ssize_t moved,
                            std::int64_t& offset) noexcept {
  if (watch.place(moved, offset)) return true;
  set_file_of_descriptor(fd, 0);
  return false;
}

// A call as the wrapper got it. The second number of a call at the position has no meaning.
struct PlainTransfer {
  CallNumber number;
  int fd;
  std::uint32_t file;
  std::int64_t numbers[2];
  const void* memory;  // of a read
};

constexpr MeaningByCall kAtPosition([](const CallMeaning& meaning) {
  return static_cast<std::int8_t>(meaning.pointer ? 1 : 0);
});
constexpr MeaningByCall kCountPlace([](const CallMeaning& meaning) { return meaning.count_place; });

constexpr bool is_seek(CallNumber number) noexcept {
  return does(number, Verb::kSeeks);
}
constexpr bool is_read(CallNumber number) noexcept {
  return does(number, Verb::kReads);
}
constexpr bool is_write(CallNumber number) noexcept {
  return does(number, Verb::kWrites);
}
constexpr bool is_at_position(CallNumber number) noexcept {
  return kAtPosition[number] != 0;
}
// The bytes of a vector are not known before the call.
constexpr std::int64_t bytes_asked(CallNumber number, std::int64_t first) noexcept {
  return kCountPlace[number] == CallMeaning::kNowhere ? -1 : first;
}

// A call that may have to be reported to services; it is recorded as any other. `watch`: of a
// call at the position; `append`: of a write whose place the kernel has to be asked for.
__attribute__((noinline)) ssize_t watched_call(const PlainTransfer& asked,
                                               const PositionWatch* watch,
                                               const AppendWatch* append,
                                               ssize_t (*make)(const void*),
                                               const void* call) noexcept {
  ThreadState& thread = t_thread;
  const bool reports = g_recording == kWatched && !is_seek(asked.number);
  const bool at_position = is_at_position(asked.number);
  Transfer transfer{asked.fd,
                    asked.file,
                    is_read(asked.number),
                    false,
                    at_position ? -1 : asked.numbers[1],
                    bytes_asked(asked.number, asked.numbers[0]),
                    0,
                    0};
  if (reports) report_before(transfer);
  const std::uint8_t layers = thread.layers;
  thread.layers = static_cast<std::uint8_t>(layers | kBit);
  const std::uint64_t start = ticks_now();
  // The kernel refuses an offset below 0.
  const bool may_be_served = reports && transfer.reads && (at_position || transfer.offset >= 0);
  ssize_t result =
      may_be_served ? serve_read(transfer, asked.memory, asked.numbers[0]) : kMakeTheCall;
  if (result == kMakeTheCall) result = make(call);
  const std::uint64_t duration = ticks_now() - start;
  thread.layers = layers;
  std::int64_t second = asked.numbers[1], third = result;
  bool has_place = true;
  if (at_position) {
    second = result;
    if (transfer.served) {
      third = transfer.offset;
    } else {
      has_place = position_before(*watch, asked.fd, result, third);
    }
    transfer.offset = third;
  } else if (append != nullptr) {
    second = append->place(result, second);
    transfer.offset = second;
  }
  if (has_place) {
    const std::int64_t first = asked.numbers[0] >= 0 ? asked.numbers[0] : result;
    record(stream_word(asked.number, layers, asked.fd, asked.file), first, second, third, start,
           duration);
  }
  if (reports) {
    transfer.bytes = result;
    transfer.start_ticks = start;
    transfer.duration_ticks = duration;
    report_after(transfer);
  }
  return result;
}

// A call that is either passed on unrecorded or also reported to services.
template <typename Call>
__attribute__((noinline, cold)) ssize_t other_call(const PlainTransfer& asked,
                                                   const PositionWatch* watch,
                                                   const AppendWatch* append,
                                                   const Call& call) noexcept {
  const ThreadState& thread = t_thread;
  if (g_recording < kRecorded || thread.ours != 0 || (thread.layers & kPassed) != 0) {
    return call();
  }
  return watched_call(
      asked, watch, append,
      [](const void* made) -> ssize_t { return (*static_cast<const Call*>(made))(); }, &call);
}

// Inside an HDF5 call that is not recorded.
__attribute__((always_inline)) inline bool is_unrecorded() noexcept {
  return (t_thread.layers & kUnrecordedBit) != 0;
}

// A write whose bytes may go to another offset than the program names.
template <typename Call>
__attribute__((noinline, cold)) ssize_t appending(const PlainTransfer& asked,
                                                  const Call& call) noexcept {
  const AppendWatch append(asked.fd, Way::kWrites);
  ssize_t result = 0;
  std::uint64_t start = 0, duration = 0;
  std::uint8_t layers = 0;
  if (!timed(call, result, start, duration, layers)) {
    return other_call(asked, nullptr, &append, call);
  }
  record(stream_word(asked.number, layers, asked.fd, asked.file), asked.numbers[0],
         append.place(result, asked.numbers[1]), result, start, duration);
  return result;
}

// A transfer at the offset that the program names, or a seek, which is part of the same loop as the
// transfer after it. `first`, `second`: its numbers as recorded.
template <typename Call>
__attribute__((always_inline)) inline ssize_t positioned(CallNumber number, int fd,
                                                         std::int64_t first, std::int64_t second,
                                                         const void* memory, Call call) noexcept {
  const std::uint32_t file = file_of_descriptor(fd);
  if (__builtin_expect(file == 0, 1)) return call();
  if (is_write(number) && __builtin_expect(place_is_asked(fd), 0)) {
    const Call copied = call;
    return appending({number, fd, file, {first, second}, memory}, copied);
  }
  ssize_t result = 0;
  std::uint64_t start = 0, duration = 0;
  std::uint8_t layers = 0;
  if (!timed(call, result, start, duration, layers)) {
    const Call copied = call;  // whose address may be taken: `call` stays in registers
    return other_call({number, fd, file, {first, second}, memory}, nullptr, nullptr, copied);
  }
  record(stream_word(number, layers, fd, file), first, second, result, start, duration);
  return result;
}

// A transfer at the descriptor's own position, which other processes may share: the kernel is asked
// for it after the call, because O_APPEND moves it during the call.
template <typename Call>
__attribute__((always_inline)) inline ssize_t at_position(CallNumber number, int fd,
                                                          std::int64_t size, const void* memory,
                                                          Call call) noexcept {
  const std::uint32_t file = file_of_descriptor(fd);
  if (__builtin_expect(file == 0, 1)) return call();
  const PositionWatch watch(fd, file, is_write(number) ? Way::kWrites : Way::kReads);
  ssize_t result = 0;
  std::uint64_t start = 0, duration = 0;
  std::uint8_t layers = 0;
  if (!timed(call, result, start, duration, layers)) {
    const Call copied = call;  // whose address may be taken: `call` stays in registers
    return other_call({number, fd, file, {size, 0}, memory}, &watch, nullptr, copied);
  }
  std::int64_t offset = 0;
  if (!position_before(watch, fd, result, offset)) return result;
  record(stream_word(number, layers, fd, file), size, result, offset, start, duration);
  return result;
}

// A write of formatted text, recorded as a write of the bytes that it returns.
template <typename Call>
int formatted(int fd, Call call) noexcept {
  const std::uint32_t file = file_of_descriptor(fd);
  if (file == 0) return call();
  const PositionWatch watch(fd, file, Way::kWrites);
  // Its length is known after the call.
  return static_cast<int>(
      other_call({CallNumber::kwrite, fd, file, {-1, 0}, nullptr}, &watch, nullptr, call));
}

template <typename Call>
[[gnu::always_inline]] inline std::int64_t sought(int fd, std::int64_t offset, int whence,
                                                  Call call) noexcept {
  const std::int64_t position = positioned(CallNumber::klseek, fd, offset, whence, nullptr, call);
  if (const std::uint32_t file = file_of_descriptor(fd); file != 0) {
    constexpr int kFromHere = 1;  // SEEK_CUR, which with 0 only asks
    if (offset != 0 || whence != kFromHere) count_move_of_position(file);
  }
  return position;
}

// The names of pread and pwrite, by which HDF5 makes its transfers.
struct Pread {
  static constexpr const char* kName = "pread";
  static constexpr CallNumber kNumber = CallNumber::kpread;
};
struct Pread64 : Pread {
  static constexpr const char* kName = "pread64";
};
struct OwnPread64 : Pread {
  static constexpr const char* kName = "__pread64";
};
struct Pwrite {
  static constexpr const char* kName = "pwrite";
  static constexpr CallNumber kNumber = CallNumber::kpwrite;
};
struct Pwrite64 : Pwrite {
  static constexpr const char* kName = "pwrite64";
};
struct OwnPwrite64 : Pwrite {
  static constexpr const char* kName = "__pwrite64";
};
template <typename Name>
constinit NextSymbol next_of;

template <typename Name, typename Buffer>
[[gnu::noinline]] ssize_t recorded_at_offset(int fd, Buffer* buffer, std::size_t size,
                                             std::int64_t offset) noexcept {
  return positioned(Name::kNumber, fd, static_cast<std::int64_t>(size), offset, buffer,
                    next_of<Name>.template prepare<ssize_t>(Name::kName, fd, buffer, size, offset));
}

// Inside HDF5 transfers that are not recorded the call is made at once, before anything is saved or
// looked up: between large transfers the caches are cold.
template <typename Name, typename Buffer>
[[gnu::always_inline]] inline ssize_t at_offset(int fd, Buffer* buffer, std::size_t size,
                                                std::int64_t offset) noexcept {
  if (void* const passed = is_unrecorded() ? next_of<Name>.known() : nullptr) {
    using Function = ssize_t(int, Buffer*, std::size_t, std::int64_t);
    return reinterpret_cast<Function*>(passed)(fd, buffer, size, offset);
  }
  return recorded_at_offset<Name>(fd, buffer, size, offset);
}

}  // namespace
}  // namespace iotune::recorder

using namespace iotune;
using namespace iotune::recorder;

extern "C" {

IOTUNE_EXPORT ssize_t read(int fd, void* buffer, std::size_t size) {
  static constinit NextSymbol next;
  return at_position(CallNumber::kread, fd, static_cast<std::int64_t>(size), buffer,
                     next.prepare<ssize_t>("read", fd, buffer, size));
}

IOTUNE_EXPORT ssize_t __read_chk(int fd, void* buffer, std::size_t size, std::size_t room) {
  static constinit NextSymbol next;
  return at_position(CallNumber::kread, fd, static_cast<std::int64_t>(size), buffer,
                     next.prepare<ssize_t>("__read_chk", fd, buffer, size, room));
}

IOTUNE_EXPORT ssize_t write(int fd, const void* buffer, std::size_t size) {
  static constinit NextSymbol next;
  return at_position(CallNumber::kwrite, fd, static_cast<std::int64_t>(size), buffer,
                     next.prepare<ssize_t>("write", fd, buffer, size));
}

// glibc's headers may declare these names in other forms.
IOTUNE_EXPORT int own_vdprintf(int fd, const char* format, va_list list) __asm__("vdprintf");
IOTUNE_EXPORT int own_dprintf(int fd, const char* format, ...) __asm__("dprintf");
IOTUNE_EXPORT int own_vdprintf_chk(int fd, int flag, const char* format,
                                   va_list list) __asm__("__vdprintf_chk");
IOTUNE_EXPORT int own_dprintf_chk(int fd, int flag, const char* format,
                                  ...) __asm__("__dprintf_chk");

int own_vdprintf(int fd, const char* format, va_list list) {
  static constinit NextSymbol next;
  return formatted(fd, next.prepare<int>("vdprintf", fd, format, list));
}

// A call with `...` cannot be passed on as such: its form with a va_list is called.
int own_dprintf(int fd, const char* format, ...) {
  static constinit NextSymbol next;
  va_list list;
  va_start(list, format);
  const int result = formatted(fd, next.prepare<int>("vdprintf", fd, format, list));
  va_end(list);
  return result;
}

int own_vdprintf_chk(int fd, int flag, const char* format, va_list list) {
  static constinit NextSymbol next;
  return formatted(fd, next.prepare<int>("__vdprintf_chk", fd, flag, format, list));
}

int own_dprintf_chk(int fd, int flag, const char* format, ...) {
  static constinit NextSymbol next;
  va_list list;
  va_start(list, format);
  const int result = formatted(fd, next.prepare<int>("__vdprintf_chk", fd, flag, format, list));
  va_end(list);
  return result;
}

IOTUNE_EXPORT ssize_t pread(int fd, void* buffer, std::size_t size, std::int64_t offset) {
  return at_offset<Pread>(fd, buffer, size, offset);
}
IOTUNE_EXPORT ssize_t pread64(int fd, void* buffer, std::size_t size, std::int64_t offset) {
  return at_offset<Pread64>(fd, buffer, size, offset);
}
IOTUNE_EXPORT ssize_t __pread64(int fd, void* buffer, std::size_t size, std::int64_t offset) {
  return at_offset<OwnPread64>(fd, buffer, size, offset);
}
IOTUNE_EXPORT ssize_t pwrite(int fd, const void* buffer, std::size_t size, std::int64_t offset) {
  return at_offset<Pwrite>(fd, buffer, size, offset);
}
IOTUNE_EXPORT ssize_t pwrite64(int fd, const void* buffer, std::size_t size, std::int64_t offset) {
  return at_offset<Pwrite64>(fd, buffer, size, offset);
}
IOTUNE_EXPORT ssize_t __pwrite64(int fd, const void* buffer, std::size_t size,
                                 std::int64_t offset) {
  return at_offset<OwnPwrite64>(fd, buffer, size, offset);
}

IOTUNE_EXPORT ssize_t __pread_chk(int fd, void* buffer, std::size_t size, std::int64_t offset,
                                  std::size_t room) {
  static constinit NextSymbol next;
  return positioned(CallNumber::kpread, fd, static_cast<std::int64_t>(size), offset, buffer,
                    next.prepare<ssize_t>("__pread_chk", fd, buffer, size, offset, room));
}
IOTUNE_EXPORT ssize_t __pread64_chk(int fd, void* buffer, std::size_t size, std::int64_t offset,
                                    std::size_t room) {
  static constinit NextSymbol next;
  return positioned(CallNumber::kpread, fd, static_cast<std::int64_t>(size), offset, buffer,
                    next.prepare<ssize_t>("__pread64_chk", fd, buffer, size, offset, room));
}

IOTUNE_EXPORT ssize_t readv(int fd, const struct iovec* parts, int count) {
  static constinit NextSymbol next;
  return at_position(CallNumber::kreadv, fd, count, parts,
                     next.prepare<ssize_t>("readv", fd, parts, count));
}
IOTUNE_EXPORT ssize_t writev(int fd, const struct iovec* parts, int count) {
  static constinit NextSymbol next;
  return at_position(CallNumber::kwritev, fd, count, parts,
                     next.prepare<ssize_t>("writev", fd, parts, count));
}

IOTUNE_EXPORT ssize_t preadv(int fd, const struct iovec* parts, int count, std::int64_t offset) {
  static constinit NextSymbol next;
  return positioned(CallNumber::kpreadv, fd, count, offset, parts,
                    next.prepare<ssize_t>("preadv", fd, parts, count, offset));
}
IOTUNE_EXPORT ssize_t preadv64(int fd, const struct iovec* parts, int count, std::int64_t offset) {
  static constinit NextSymbol next;
  return positioned(CallNumber::kpreadv, fd, count, offset, parts,
                    next.prepare<ssize_t>("preadv64", fd, parts, count, offset));
}
IOTUNE_EXPORT ssize_t pwritev(int fd, const struct iovec* parts, int count, std::int64_t offset) {
  static constinit NextSymbol next;
  return positioned(CallNumber::kpwritev, fd, count, offset, parts,
                    next.prepare<ssize_t>("pwritev", fd, parts, count, offset));
}
IOTUNE_EXPORT ssize_t pwritev64(int fd, const struct iovec* parts, int count, std::int64_t offset) {
  static constinit NextSymbol next;
  return positioned(CallNumber::kpwritev, fd, count, offset, parts,
                    next.prepare<ssize_t>("pwritev64", fd, parts, count, offset));
}

IOTUNE_EXPORT std::int64_t lseek(int fd, std::int64_t offset, int whence) {
  static constinit NextSymbol next;
  return sought(fd, offset, whence, next.prepare<std::int64_t>("lseek", fd, offset, whence));
}
IOTUNE_EXPORT std::int64_t lseek64(int fd, std::int64_t offset, int whence) {
  static constinit NextSymbol next;
  return sought(fd, offset, whence, next.prepare<std::int64_t>("lseek64", fd, offset, whence));
}

}  // extern "C"
