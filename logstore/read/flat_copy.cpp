#include "logstore/read/flat_copy.h"

#include <algorithm>
#include <vector>

namespace iotune::logstore {
namespace {

constexpr std::int64_t kBufferBytes = std::int64_t{8} << 20U;

}  // namespace

Result<std::int64_t> copy_flat(const Container& container, int to, std::int64_t offset,
                               std::int64_t length) {
  std::vector<std::byte> buffer(
      static_cast<std::size_t>(std::clamp<std::int64_t>(length, 0, kBufferBytes)));
  std::optional<Error> wrong;
  std::int64_t start = offset;  // in the file, of what the buffer holds
  std::int64_t used = 0;
  std::int64_t written = 0;
  const auto write = [&] {
    if (!wrong && !write_at(to, std::span(buffer).first(static_cast<std::size_t>(used)), start)) {
      wrong = file_error("", "cannot be written");
    }
    written += used;
    start += used;
    used = 0;
  };
  container.map().for_each_piece(offset, length, [&](const LogPiece& piece) {
    if (piece.kind == LogPiece::Kind::kHole || wrong) return;
    if (piece.kind == LogPiece::Kind::kMissing) {
      wrong = Error{container.path() + "/" + container.map().writer_name(piece.writer) + kLogEnding,
                    "has lost bytes that were synced"};
      return;
    }
    if (start + used != piece.offset) {
      write();
      start = piece.offset;
    }
    for (std::int64_t done = 0; done < piece.length && !wrong;) {
      if (used == std::ssize(buffer)) write();
      const std::int64_t some = std::min(std::ssize(buffer) - used, piece.length - done);
      wrong = container.read_log(piece.writer, piece.physical + done,
                                 std::span(buffer).subspan(static_cast<std::size_t>(used),
                                                           static_cast<std::size_t>(some)));
      used += some;
      done += some;
    }
  });
  write();
  if (wrong) return *wrong;
  return written;
}

}  // namespace iotune::logstore
