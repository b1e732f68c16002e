#include "recorder/wrappers/descriptors/saved_offsets.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "core/os/raw_syscall.h"
#include "recorder/wrappers/descriptors/descriptor_table.h"

namespace iotune::recorder {
namespace {

// Threads that use one file's position at once get an order that nobody promised them either, so
// plain atomic words do.
struct Place {
  std::uint32_t file;  // 0: free
  std::int64_t position;
};
constexpr std::size_t kPlaces = 256;
constinit Place g_places[kPlaces] = {};

Place* place_of(std::uint32_t file, bool make) noexcept {
  for (std::size_t i = 0; i < kPlaces; ++i) {
    Place& place = g_places[(file + i) % kPlaces];
    std::uint32_t held = __atomic_load_n(&place.file, __ATOMIC_ACQUIRE);
    if (held == file) return &place;
    if (held != 0) continue;
    if (!make) return nullptr;
    if (__atomic_compare_exchange_n(&place.file, &held, file, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE) ||
        held == file) {
      return &place;
    }
  }
  return nullptr;
}

void keep(std::uint32_t file, std::int64_t position) noexcept {
  if (Place* const place = place_of(file, true)) {
    __atomic_store_n(&place->position, position, __ATOMIC_RELAXED);
  }
}

}  // namespace

void save_offsets() noexcept {
  for (int fd = 0; fd < end_of_descriptors(); ++fd) {
    const std::uint32_t file = file_of_descriptor(fd);
    if (file == 0) continue;
    const long flags = raw::call(SYS_fcntl, fd, F_GETFL);
    const bool known = flags >= 0 && (flags & O_APPEND) == 0;
    keep(file, known ? raw::lseek(fd, 0, SEEK_CUR) : -1);
  }
}

void save_offset_of_opened(std::uint32_t file, bool appends) noexcept {
  keep(file, appends ? -1 : 0);
}

std::int64_t saved_offset_before(std::uint32_t file, std::int64_t bytes, bool appends) noexcept {
  Place* const place = place_of(file, false);
  if (appends && place != nullptr && bytes > 0) {
    __atomic_store_n(&place->position, -1, __ATOMIC_RELAXED);
  }
  if (place == nullptr || __atomic_load_n(&place->position, __ATOMIC_RELAXED) < 0) return -1;
  return __atomic_fetch_add(&place->position, bytes > 0 ? bytes : 0, __ATOMIC_RELAXED);
}

void save_offset_after_seek(std::uint32_t file, std::int64_t position) noexcept {
  Place* const place = position < 0 ? nullptr : place_of(file, false);
  if (place != nullptr) __atomic_store_n(&place->position, position, __ATOMIC_RELAXED);
}

}  // namespace iotune::recorder
