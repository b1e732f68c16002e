#include "logstore/read/container_reader.h"

#include <algorithm>

namespace iotune::logstore {

std::optional<Error> ContainerReader::read_log(std::uint32_t writer, std::int64_t physical,
                                               std::span<std::byte> to) {
  auto log = logs_.find(writer);
  const auto name = [&] { return container_.map().writer_name(writer) + kLogEnding; };
  const auto where = [&] { return container_.path() + "/" + name(); };
  if (log == logs_.end()) {
    auto opened = open_regular(container_.directory(), name());
    if (!opened) return Error{where(), opened.error().message};
    if (logs_.size() == kMostOpen) logs_.clear();
    log = logs_.emplace(writer, std::move(*opened)).first;
  }
  const ssize_t size = read_at(log->second.descriptor.get(), to, physical);
  if (size < 0) return failed(where(), "cannot be read");
  if (static_cast<std::size_t>(size) < to.size()) {
    return Error{where(), "is shorter than its index says"};
  }
  return std::nullopt;
}

Result<std::size_t> ContainerReader::read(std::int64_t offset, std::span<std::byte> to) {
  std::size_t done = 0;
  std::optional<Error> wrong;
  const auto most = static_cast<std::int64_t>(
      std::min<std::size_t>(to.size(), static_cast<std::size_t>(kLargestFile)));
  container_.map().for_each_piece(offset, most, [&](const LogPiece& piece) {
    if (wrong) return;
    const auto part = to.subspan(done, static_cast<std::size_t>(piece.length));
    done += part.size();
    switch (piece.kind) {
      case LogPiece::Kind::kHole:
        std::ranges::fill(part, std::byte{0});
        break;
      case LogPiece::Kind::kMissing:
        wrong = Error{container_.path() + "/" + container_.map().writer_name(piece.writer) +
                          kLogEnding,
                      "has lost bytes that were synced"};
        break;
      case LogPiece::Kind::kData:
        wrong = read_log(piece.writer, piece.physical, part);
    }
  });
  if (wrong) return *wrong;
  return done;
}

}  // namespace iotune::logstore
