#include "logstore/read/piece_buffer.h"

#include <utility>

namespace iotune::logstore {

std::optional<Error> PieceBuffer::add_data(std::uint32_t writer, std::int64_t physical,
                                           std::int64_t length) {
  plan_.add_data(length, writer, physical);
  return plan_.is_full() ? read_planned() : std::nullopt;
}

std::optional<Error> PieceBuffer::add_zeros(std::int64_t length) {
  plan_.add_zeros(length);
  return plan_.is_full() ? read_planned() : std::nullopt;
}

std::optional<Error> PieceBuffer::read_planned() {
  auto wrong = container_.run(plan_, bytes_.data() + read_);
  read_ += plan_.bytes();
  plan_ = {};
  return wrong;
}

Result<std::span<const std::byte>> PieceBuffer::take() {
  if (auto wrong = read_planned()) return *wrong;
  return std::span<const std::byte>(bytes_).first(
      static_cast<std::size_t>(std::exchange(read_, 0)));
}

}  // namespace iotune::logstore
