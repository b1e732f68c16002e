#include "prefetch/cache/piece_table.h"

#include <algorithm>

namespace iotune::prefetch {
namespace {

using patterns::Extent;

// What has not been asked for after so many reads of its reader, or so long, never will be.
constexpr std::uint64_t kReadsUntilUnused = 128, kNsUntilUnused = 5'000'000'000;

// An index is a search tree by offset and age, and a heap by this: whatever the order in which
// pieces come, it is about as deep as a balanced tree.
std::uint32_t priority(const Piece& piece) noexcept {
  std::uint64_t mixed = (std::uint64_t{piece.birth} + 1) * 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ mixed >> 32) * 0xC2B2AE3D27D4EB4Fu;
  return static_cast<std::uint32_t>(mixed >> 32);
}

bool is_before(const Piece& piece, std::int64_t offset, std::uint32_t birth) noexcept {
  return piece.offset != offset ? piece.offset < offset : piece.birth < birth;
}

bool is_unused(const Piece& piece, std::uint64_t now_ns) noexcept {
  return piece.reader == nullptr || piece.reader->reads > piece.at_read + kReadsUntilUnused ||
         now_ns > piece.born_ns + kNsUntilUnused;
}

}  // namespace

std::size_t PieceTable::heads_bytes(unsigned units) noexcept {
  static_assert(sizeof(Heads) % alignof(Piece) == 0 && alignof(Piece) <= 8);
  return sizeof(Heads) + units * sizeof(Piece);
}

void PieceTable::use(std::byte* heads, std::byte* room, unsigned units,
                     const PieceRules& rules) noexcept {
  heads_ = reinterpret_cast<Heads*>(heads);
  pieces_ = reinterpret_cast<Piece*>(heads + sizeof(Heads));
  room_ = room;
  units_ = units;
  rules_ = rules;
}

Piece* PieceTable::named(PieceName name) const noexcept {
  if (name.number >= units_) return nullptr;
  Piece& piece = pieces_[name.number];
  return piece.state != PieceState::kFree && piece.birth == name.birth ? &piece : nullptr;
}

std::byte* PieceTable::memory_of(unsigned number) const noexcept {
  return room_ + std::size_t{number} * rules_.unit_bytes;
}

// A unit is free where its `units` is 0; those behind a piece's first one have 1.
unsigned PieceTable::run_between(unsigned from, unsigned end, unsigned units) const noexcept {
  unsigned begin = from;
  for (unsigned at = from; at < end;) {
    if (pieces_[at].units != 0) {
      at += pieces_[at].units;
      begin = at;
    } else if (++at - begin == units) {
      return begin;
    }
  }
  return kNoPiece;
}

// The next free units after those that were given last.
unsigned PieceTable::free_run(unsigned units) noexcept {
  const unsigned next = heads_->next_unit;
  unsigned at = run_between(next, units_, units);
  if (at == kNoPiece) at = run_between(0, std::min(units_, next + units - 1), units);
  if (at != kNoPiece) heads_->next_unit = at + units;
  return at;
}

void PieceTable::free_units(unsigned number) noexcept {
  const unsigned units = pieces_[number].units;
  for (unsigned i = 0; i < units; ++i) {
    pieces_[number + i].state = PieceState::kFree;
    pieces_[number + i].units = 0;
  }
  heads_->used_units -= std::min(units, heads_->used_units);
}

// The oldest of those that were used, or will not be.
bool PieceTable::make_room(std::uint64_t now_ns) noexcept {
  for (std::uint32_t next = heads_->oldest; next != 0; next = pieces_[next - 1].newer) {
    const Piece& piece = pieces_[next - 1];
    if (piece.holders != 0 || (piece.used != piece.bytes && !is_unused(piece, now_ns))) continue;
    drop(next - 1);
    return true;
  }
  return false;
}

PieceName PieceTable::add(PieceIndex& index, PieceReader* reader, const Extent& extent,
                          std::uint64_t now_ns) noexcept {
  const auto wanted = static_cast<std::uint32_t>(extent.length);
  const unsigned units = (wanted + rules_.unit_bytes - 1) / rules_.unit_bytes;
  if (units > units_) return {};
  while (heads_->used_units > units_ - units) {
    if (!make_room(now_ns)) return {};
  }
  unsigned number = free_run(units);
  while (number == kNoPiece && make_room(now_ns)) number = free_run(units);
  if (number == kNoPiece) return {};
  heads_->used_units += units;
  for (unsigned i = 1; i < units; ++i) pieces_[number + i].units = 1;
  Piece& piece = pieces_[number];
  piece = {};
  piece.offset = extent.offset;
  piece.wanted = wanted;
  piece.birth = ++heads_->births;
  piece.reader = reader;
  piece.at_read = reader->reads;
  piece.born_ns = now_ns;
  piece.units = static_cast<std::uint16_t>(units);
  piece.state = PieceState::kWanted;
  link(index, number);
  return {number, piece.birth};
}

void PieceTable::link(PieceIndex& index, unsigned number) noexcept {
  Piece& piece = pieces_[number];
  std::uint32_t* at = &index.root;
  std::uint32_t rest = *at;
  while (rest != 0) {
    Piece& above = pieces_[rest - 1];
    if (priority(above) < priority(piece)) break;
    at = is_before(above, piece.offset, piece.birth) ? &above.right : &above.left;
    rest = *at;
  }
  // What was below that place is divided around the piece.
  *at = number + 1;
  std::uint32_t *left = &piece.left, *right = &piece.right;
  while (rest != 0) {
    Piece& below = pieces_[rest - 1];
    if (is_before(below, piece.offset, piece.birth)) {
      *left = rest;
      left = &below.right;
      rest = *left;
    } else {
      *right = rest;
      right = &below.left;
      rest = *right;
    }
  }
  *left = *right = 0;
  piece.index = &index;
  index.count.store(index.count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void PieceTable::unlink(unsigned number) noexcept {
  Piece& piece = pieces_[number];
  PieceIndex* const index = piece.index;
  if (index == nullptr) return;
  std::uint32_t* at = &index->root;
  for (std::uint32_t here = *at; here != number + 1; here = *at) {
    if (here == 0) return;
    Piece& above = pieces_[here - 1];
    at = is_before(above, piece.offset, piece.birth) ? &above.right : &above.left;
  }
  std::uint32_t left = piece.left, right = piece.right;
  while (left != 0 && right != 0) {
    if (priority(pieces_[left - 1]) >= priority(pieces_[right - 1])) {
      *at = left;
      at = &pieces_[left - 1].right;
      left = *at;
    } else {
      *at = right;
      at = &pieces_[right - 1].left;
      right = *at;
    }
  }
  *at = left != 0 ? left : right;
  piece.index = nullptr;
  index->count.store(index->count.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

void PieceTable::link_ready(unsigned number) noexcept {
  Piece& piece = pieces_[number];
  piece.newer = 0;
  piece.older = heads_->newest;
  (piece.older != 0 ? pieces_[piece.older - 1].newer : heads_->oldest) = number + 1;
  heads_->newest = number + 1;
}

void PieceTable::unlink_ready(const Piece& piece) noexcept {
  (piece.older != 0 ? pieces_[piece.older - 1].newer : heads_->oldest) = piece.newer;
  (piece.newer != 0 ? pieces_[piece.newer - 1].older : heads_->newest) = piece.older;
}

void PieceTable::begin_filling(unsigned number) noexcept {
  pieces_[number].state = PieceState::kFilling;
  hold(number);
}

void PieceTable::end_filling(unsigned number, std::int64_t bytes) noexcept {
  Piece& piece = pieces_[number];
  if (piece.state == PieceState::kFilling) {
    if (bytes < 0) {
      drop(number);
    } else {
      piece.bytes = static_cast<std::uint32_t>(bytes);
      piece.state = PieceState::kReady;
      link_ready(number);
    }
  }
  let_go(number);
}

void PieceTable::let_go(unsigned number) noexcept {
  Piece& piece = pieces_[number];
  if (--piece.holders == 0 && piece.state == PieceState::kDropped) free_units(number);
}

void PieceTable::drop(unsigned number) noexcept {
  Piece& piece = pieces_[number];
  unlink(number);
  if (piece.state == PieceState::kReady) unlink_ready(piece);
  if (piece.holders != 0) {
    piece.state = PieceState::kDropped;
  } else {
    free_units(number);
  }
}

void PieceTable::drop_all(PieceIndex& index) noexcept {
  for (std::uint32_t root = index.root; root != 0; root = index.root) drop(root - 1);
}

void PieceTable::drop_wanted(PieceIndex& index, const Extent& extent) noexcept {
  const std::int64_t end = extent.offset + extent.length;
  unsigned next = first_from(index, extent.offset - kPieceBytes);
  while (next != kNoPiece && pieces_[next].offset < end) {
    const unsigned number = next;
    next = after(index, number);
    const Piece& piece = pieces_[number];
    if (piece.state == PieceState::kWanted && piece.end() > extent.offset) drop(number);
  }
}

void PieceTable::leave(const PieceReader& reader) noexcept {
  for (std::uint32_t next = heads_->oldest; next != 0; next = pieces_[next - 1].newer) {
    if (pieces_[next - 1].reader == &reader) pieces_[next - 1].reader = nullptr;
  }
}

unsigned PieceTable::first_from(const PieceIndex& index, std::int64_t offset,
                                std::uint32_t birth) const noexcept {
  unsigned best = kNoPiece;
  for (std::uint32_t at = index.root; at != 0;) {
    const Piece& piece = pieces_[at - 1];
    if (is_before(piece, offset, birth)) {
      at = piece.right;
    } else {
      best = at - 1;
      at = piece.left;
    }
  }
  return best;
}

unsigned PieceTable::last_before(const PieceIndex& index, std::int64_t offset,
                                 std::uint32_t birth) const noexcept {
  unsigned best = kNoPiece;
  for (std::uint32_t at = index.root; at != 0;) {
    const Piece& piece = pieces_[at - 1];
    if (is_before(piece, offset, birth)) {
      best = at - 1;
      at = piece.right;
    } else {
      at = piece.left;
    }
  }
  return best;
}

unsigned PieceTable::after(const PieceIndex& index, unsigned number) const noexcept {
  return first_from(index, pieces_[number].offset, pieces_[number].birth + 1);
}

unsigned PieceTable::oldest(const PieceIndex& index) const noexcept {
  unsigned oldest = kNoPiece;
  std::uint32_t most = 0;
  for (unsigned at = first_from(index, INT64_MIN); at != kNoPiece; at = after(index, at)) {
    const std::uint32_t age = heads_->births - pieces_[at].birth;
    if (oldest == kNoPiece || age > most) {
      oldest = at;
      most = age;
    }
  }
  return oldest;
}

// Of the pieces that have the byte one that is ready, else one that is being filled.
unsigned PieceTable::piece_at(const PieceIndex& index, std::int64_t at) const noexcept {
  unsigned filling = kNoPiece;
  for (unsigned number = last_before(index, at + 1); number != kNoPiece;
       number = last_before(index, pieces_[number].offset, pieces_[number].birth)) {
    const Piece& piece = pieces_[number];
    if (at - piece.offset >= kPieceBytes) break;
    const std::int64_t end = rules_.short_ends_file ? piece.end() : piece.filled_end();
    if (piece.state == PieceState::kReady && end > at) return number;
    if (piece.state == PieceState::kFilling && piece.end() > at) filling = number;
    if (!rules_.overlap) break;
  }
  return filling;
}

Found PieceTable::find(PieceIndex& index, const Extent& extent, FoundPart* parts, unsigned room,
                       unsigned& count) noexcept {
  const std::int64_t end = extent.offset + extent.length;
  std::int64_t at = extent.offset;
  bool under_way = false;
  count = 0;
  while (at < end) {
    const unsigned number = piece_at(index, at);
    if (number == kNoPiece) break;
    const Piece& piece = pieces_[number];
    if (piece.state == PieceState::kFilling) {
      under_way = true;
      at = piece.end();
      continue;
    }
    const std::int64_t to = std::min(end, piece.filled_end());
    if (to > at) {
      if (count == room) break;
      parts[count++] = {{number, piece.birth},
                        memory_of(number) + (at - piece.offset),
                        static_cast<std::size_t>(to - at)};
    }
    at = rules_.short_ends_file && piece.bytes < piece.wanted ? end : to;
  }
  if (at >= end) return under_way ? Found::kUnderWay : Found::kWhole;
  count = 0;
  drop_wanted(index, extent);
  return Found::kNothing;
}

std::uint32_t PieceTable::use_bytes(unsigned number, std::size_t length) noexcept {
  Piece& piece = pieces_[number];
  const auto fresh =
      static_cast<std::uint32_t>(std::min<std::size_t>(length, piece.bytes - piece.used));
  piece.used += fresh;
  return fresh;
}

}  // namespace iotune::prefetch
