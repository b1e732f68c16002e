// Wrappers of the POSIX calls that move data in other ways than by one buffer and one
// descriptor: between descriptors, through memory, in the background.
#include <sys/types.h>
#include <sys/uio.h>

#include <optional>

#include "core/os/raw_syscall.h"
#include "recorder/hooks/service.h"
#include "recorder/meaning_by_call.h"
#include "recorder/ring/process_buffer.h"
#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/descriptors/descriptor_place.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"
#include "recorder/wrappers/posix/aio_request.h"
#include "recorder/wrappers/reported_transfer.h"
#include "recorder/wrappers/traced_call.h"
#include "recorder/wrappers/wrapper_parts.h"

namespace iotune::recorder {
namespace {

// The descriptor's position before a call at the position; kUnknownPlace where it has none.
std::int64_t position_before(const PositionWatch& watch, std::int64_t moved) noexcept {
  std::int64_t offset = kUnknownPlace;
  return watch.place(moved, offset) ? offset : kUnknownPlace;
}

// One side of a call that moves data from one descriptor to another.
struct Side {
  CallNumber number;
  int fd, other;
  std::int64_t* offset;  // the program's; nullptr: the descriptor's own position
  std::uint32_t file = file_of_descriptor(fd);

  // Where the data were, asked after the call: only then has the kernel checked that the program's
  // offset can be read. The kernel refuses these calls for a descriptor that appends.
  std::int64_t position(const PositionWatch& watch, std::int64_t moved) const noexcept {
    if (offset == nullptr) return position_before(watch, moved);
    return moved < 0 ? -1 : *offset - moved;
  }
};

void record_side(const CallScope& scope, const Side& side,
                 const std::optional<PositionWatch>& watch, std::size_t count, unsigned flags,
                 std::int64_t result) noexcept {
  if (side.file == 0) return;
  RecordWriter record(scope, side.number, Times::kPosix);
  record.key(side.fd);
  record.key(side.file);
  record.number(std::int64_t{side.other});
  record.number(static_cast<std::int64_t>(count));
  record.number(static_cast<std::int64_t>(flags));
  record.number(result);
  record.number(side.position(*watch, result));
  record.commit();
}

// A call without its type: there are many wrappers, and their common work is compiled once.
using Make = ssize_t (*)(const void* call);
template <typename Call>
ssize_t made(const void* call) noexcept {
  return (*static_cast<const Call*>(call))();
}

// Makes the call and reports it to services. `position(result)`: its offset in the file.
template <typename Call, typename Position>
ssize_t make_reported(Transfer transfer, Call call, Position position) noexcept {
  if (g_recording != kWatched || t_thread.ours != 0) return call(transfer);
  report_before(transfer);
  transfer.start_ticks = ticks_now();
  const ssize_t result = call(transfer);
  transfer.duration_ticks = ticks_now() - transfer.start_ticks;
  transfer.offset = position(result);
  transfer.bytes = result;
  report_after(transfer);
  return result;
}

// Recorded once for each traced file: as a read of one, as a write of the other.
__attribute__((noinline)) ssize_t move_between(const Side& from, const Side& to, std::size_t count,
                                               unsigned flags, Make make,
                                               const void* call) noexcept {
  if (from.file == 0 && to.file == 0) return make(call);
  const Side& side = to.file != 0 ? to : from;
  std::optional<PositionWatch> from_watch, to_watch;
  if (from.file != 0) from_watch.emplace(from.fd, from.file, Way::kReads);
  if (to.file != 0) to_watch.emplace(to.fd, to.file, Way::kIgnoresFlags);
  const auto between = [&] {
    return make_reported(
        {side.fd, side.file, false, false, -1, -1, 0, 0},
        [&](Transfer& /*transfer*/) { return make(call); },
        [&](ssize_t result) { return to.file != 0 ? to.position(*to_watch, result) : -1; });
  };
  const auto note = [&](const CallScope& scope, ssize_t result) {
    const OwnCode own;
    start_buffer_if_worth(result);
    record_side(scope, from, from_watch, count, flags, result);
    record_side(scope, to, to_watch, count, flags, result);
  };
  return recorded_call<Layer::kPosix, ssize_t>(between, note);
}

template <typename Call>
ssize_t moved(const Side& from, const Side& to, std::size_t count, unsigned flags,
              Call call) noexcept {
  if (!call.exists()) return no_such_call();
  return move_between(from, to, count, flags, made<Call>, &call);
}

constexpr int kRwfAppend = 0x10, kRwfNoAppend = 0x20;  // Linux 4.16 and 6.9

struct VectorCall {
  CallNumber number;
  int fd;
  const struct iovec* parts;
  int count;
  std::int64_t offset;
  int flags;

  bool reads() const noexcept { return does(number, Verb::kReads); }
  // -1 asks for the descriptor's own position.
  bool at_position() const noexcept { return offset == -1; }
  Way way() const noexcept {
    if (reads()) return Way::kReads;
    if ((flags & kRwfAppend) != 0) return Way::kToTheEnd;
    return (flags & kRwfNoAppend) != 0 ? Way::kIgnoresFlags : Way::kWrites;
  }
};

__attribute__((noinline)) ssize_t move_vector(const VectorCall& asked, Make make,
                                              const void* call) noexcept {
  const std::uint32_t file = file_of_descriptor(asked.fd);
  if (file == 0) return make(call);
  const bool reads = asked.reads();
  const auto serve_or_make = [&](Transfer& transfer) {
    if (transfer.reads && asked.flags == 0 && asked.offset >= 0 && g_recording == kWatched &&
        t_thread.ours == 0) {
      const std::int64_t served = serve_read(transfer, asked.parts, asked.count);
      if (served != kMakeTheCall) return static_cast<ssize_t>(served);
    }
    return make(call);
  };
  std::optional<PositionWatch> watch;
  std::optional<AppendWatch> append;
  if (asked.at_position()) {
    watch.emplace(asked.fd, file, asked.way());
  } else if (!reads && (asked.way() == Way::kToTheEnd || place_is_asked(asked.fd))) {
    append.emplace(asked.fd, asked.way());
  }
  std::optional<std::int64_t> place;  // asked for once
  const auto position = [&](ssize_t result) {
    if (!place) {
      place = watch    ? position_before(*watch, result)
              : append ? append->place(result, asked.offset)
                       : asked.offset;
    }
    return *place;
  };
  const auto vector = [&] {
    return make_reported({asked.fd, file, reads, false, asked.offset, -1, 0, 0}, serve_or_make,
                         position);
  };
  const auto note = [&](const CallScope& scope, ssize_t result) {
    const std::int64_t at = position(result);
    const OwnCode own;
    start_buffer_if_worth(result);
    RecordWriter record(scope, asked.number, Times::kPosix);
    record.key(asked.fd);
    record.key(file);
    for (const std::int64_t value : {std::int64_t{asked.count}, asked.offset,
                                     std::int64_t{asked.flags}, std::int64_t{result}, at}) {
      record.number(value);
    }
    record.commit();
  };
  return recorded_call<Layer::kPosix, ssize_t>(vector, note);
}

template <typename Call>
ssize_t vector_moved(const VectorCall& asked, Call call) noexcept {
  if (!call.exists()) return no_such_call();
  return move_vector(asked, made<Call>, &call);
}

// Records the bytes asked for; aio_return returns how many were moved.
void record_request(const CallScope& scope, CallNumber number, const AioRequest& request,
                    std::uint32_t file, std::int64_t result) noexcept {
  const OwnCode own;
  start_buffer_if_worth(static_cast<std::int64_t>(request.bytes));
  RecordWriter record(scope, number, Times::kPosix);
  record.key(request.fd);
  record.key(file);
  record.number(static_cast<std::int64_t>(request.bytes));
  // It is written later: the end of the file may move until then.
  const bool writes = does(number, Verb::kWrites) ||
                      (does(number, Verb::kCompletes) && request.operation == kAioWrite);
  const bool appends = writes && (traits_of_descriptor(request.fd) & kAppends) != 0;
  record.number(appends ? kUnknownPlace : request.offset);
  record.number(result);
  record.commit();
}

__attribute__((noinline)) ssize_t make_request(CallNumber number, const void* request, Make make,
                                               const void* call) noexcept {
  if (request == nullptr) return make(call);
  const AioRequest asked = read_aio_request(request);
  const std::uint32_t file = file_of_descriptor(asked.fd);
  if (file == 0) return make(call);
  return recorded_call<Layer::kPosix, ssize_t>([=] { return make(call); },
                                               [=](const CallScope& scope, ssize_t result) {
                                                 record_request(scope, number, asked, file, result);
                                               });
}

template <typename Result>
Result on_request(CallNumber number, const void* request, NextCall<Result, void*> call) noexcept {
  if (!call.exists()) return no_such_call();
  return static_cast<Result>(make_request(number, request, made<NextCall<Result, void*>>, &call));
}

int synchronised(int operation, const void* request, NextCall<int, int, void*> call) noexcept {
  if (!call.exists()) return no_such_call();
  const int fd = request == nullptr ? -1 : read_aio_request(request).fd;
  return traced_call<Layer::kPosix, int>(CallNumber::kaio_fsync, fd, file_of_descriptor(fd), call,
                                         operation);
}

// The trace has each request of the list as if it had been made alone.
template <typename Call>
int list_requested(void* const* list, int count, Call call) noexcept {
  if (!call.exists()) return no_such_call();
  if (list == nullptr || in_vfork_child()) return call();
  CallScope scope(Layer::kPosix);
  if (!scope.active()) return call();
  scope.start();
  const int result = call();
  scope.stop();
  for (int i = 0; i < count; ++i) {
    if (list[i] == nullptr) continue;
    const AioRequest asked = read_aio_request(list[i]);
    const std::uint32_t file = file_of_descriptor(asked.fd);
    const bool reads = asked.operation == kAioRead, writes = asked.operation == kAioWrite;
    if (file == 0 || (!reads && !writes)) continue;
    record_request(scope, reads ? CallNumber::kaio_read : CallNumber::kaio_write, asked, file,
                   result);
  }
  return result;
}

}  // namespace
}  // namespace iotune::recorder

using namespace iotune;
using namespace iotune::recorder;

extern "C" {

IOTUNE_EXPORT ssize_t preadv2(int fd, const struct iovec* parts, int count, std::int64_t offset,
                              int flags) {
  static constinit NextSymbol next;
  return vector_moved({CallNumber::kpreadv2, fd, parts, count, offset, flags},
                      next.prepare<ssize_t>("preadv2", fd, parts, count, offset, flags));
}
IOTUNE_EXPORT ssize_t preadv64v2(int fd, const struct iovec* parts, int count, std::int64_t offset,
                                 int flags) {
  static constinit NextSymbol next;
  return vector_moved({CallNumber::kpreadv2, fd, parts, count, offset, flags},
                      next.prepare<ssize_t>("preadv64v2", fd, parts, count, offset, flags));
}
IOTUNE_EXPORT ssize_t pwritev2(int fd, const struct iovec* parts, int count, std::int64_t offset,
                               int flags) {
  static constinit NextSymbol next;
  return vector_moved({CallNumber::kpwritev2, fd, parts, count, offset, flags},
                      next.prepare<ssize_t>("pwritev2", fd, parts, count, offset, flags));
}
IOTUNE_EXPORT ssize_t pwritev64v2(int fd, const struct iovec* parts, int count, std::int64_t offset,
                                  int flags) {
  static constinit NextSymbol next;
  return vector_moved({CallNumber::kpwritev2, fd, parts, count, offset, flags},
                      next.prepare<ssize_t>("pwritev64v2", fd, parts, count, offset, flags));
}

IOTUNE_EXPORT ssize_t sendfile(int out, int in, std::int64_t* offset, std::size_t count) {
  static constinit NextSymbol next;
  return moved({CallNumber::ksendfile, in, out, offset},
               {CallNumber::ksendfile_write, out, in, nullptr}, count, 0,
               next.prepare<ssize_t>("sendfile", out, in, offset, count));
}
IOTUNE_EXPORT ssize_t sendfile64(int out, int in, std::int64_t* offset, std::size_t count) {
  static constinit NextSymbol next;
  return moved({CallNumber::ksendfile, in, out, offset},
               {CallNumber::ksendfile_write, out, in, nullptr}, count, 0,
               next.prepare<ssize_t>("sendfile64", out, in, offset, count));
}

IOTUNE_EXPORT ssize_t copy_file_range(int in, std::int64_t* in_offset, int out,
                                      std::int64_t* out_offset, std::size_t count, unsigned flags) {
  static constinit NextSymbol next;
  return moved(
      {CallNumber::kcopy_file_range, in, out, in_offset},
      {CallNumber::kcopy_file_range_write, out, in, out_offset}, count, flags,
      next.prepare<ssize_t>("copy_file_range", in, in_offset, out, out_offset, count, flags));
}
IOTUNE_EXPORT ssize_t splice(int in, std::int64_t* in_offset, int out, std::int64_t* out_offset,
                             std::size_t count, unsigned flags) {
  static constinit NextSymbol next;
  return moved({CallNumber::ksplice, in, out, in_offset},
               {CallNumber::ksplice_write, out, in, out_offset}, count, flags,
               next.prepare<ssize_t>("splice", in, in_offset, out, out_offset, count, flags));
}

IOTUNE_EXPORT int aio_read(void* request) {
  static constinit NextSymbol next;
  return on_request(CallNumber::kaio_read, request, next.prepare<int>("aio_read", request));
}
IOTUNE_EXPORT int aio_read64(void* request) {
  static constinit NextSymbol next;
  return on_request(CallNumber::kaio_read, request, next.prepare<int>("aio_read64", request));
}
IOTUNE_EXPORT int aio_write(void* request) {
  static constinit NextSymbol next;
  return on_request(CallNumber::kaio_write, request, next.prepare<int>("aio_write", request));
}
IOTUNE_EXPORT int aio_write64(void* request) {
  static constinit NextSymbol next;
  return on_request(CallNumber::kaio_write, request, next.prepare<int>("aio_write64", request));
}

IOTUNE_EXPORT ssize_t aio_return(void* request) {
  static constinit NextSymbol next;
  return on_request(CallNumber::kaio_return, request, next.prepare<ssize_t>("aio_return", request));
}
IOTUNE_EXPORT ssize_t aio_return64(void* request) {
  static constinit NextSymbol next;
  return on_request(CallNumber::kaio_return, request,
                    next.prepare<ssize_t>("aio_return64", request));
}

IOTUNE_EXPORT int aio_fsync(int operation, void* request) {
  static constinit NextSymbol next;
  return synchronised(operation, request, next.prepare<int>("aio_fsync", operation, request));
}
IOTUNE_EXPORT int aio_fsync64(int operation, void* request) {
  static constinit NextSymbol next;
  return synchronised(operation, request, next.prepare<int>("aio_fsync64", operation, request));
}

IOTUNE_EXPORT int lio_listio(int mode, void* const* list, int count, void* event) {
  static constinit NextSymbol next;
  return list_requested(list, count, next.prepare<int>("lio_listio", mode, list, count, event));
}
IOTUNE_EXPORT int lio_listio64(int mode, void* const* list, int count, void* event) {
  static constinit NextSymbol next;
  return list_requested(list, count, next.prepare<int>("lio_listio64", mode, list, count, event));
}

}  // extern "C"
