// What was read ahead of this process's streams, in bounded memory: pieces of files
// (piece_table.h), each of one descriptor's stream, and used up by its reads. It makes no call on a
// file: who fills a piece does (piece_fillers.h).
//
// Empty in the child of a fork, no matter who makes it: the kernel wipes its memory there, and all
// zero is an empty cache with a free lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "patterns/extent.h"
#include "prefetch/cache/piece_table.h"
#include "prefetch/cache/written_files.h"

namespace iotune::prefetch {

// A stream as the cache knows it: by the number of its slot, and whose it is, because slots are
// used again.
struct CachedStream {
  unsigned slot;
  int fd;
  std::uint32_t file;
};

// False where there is no such memory; then nothing else may be called.
bool set_up_read_cache(std::uint64_t memory_bytes) noexcept;

// Whether there is anything of the slot's stream. Without a lock, a guess.
bool is_any_cached(unsigned slot) noexcept;

// A piece that is to be filled: of `stream`, whose file is as the stamp says. Pieces of another
// state of the file, or of another word, are dropped. kNoPiece where there is no room.
PieceName add_piece(const CachedStream& stream, const FileStamp& stamp, std::uint64_t word,
                    const patterns::Extent& extent, std::uint64_t now_ns) noexcept;

// By who fills it: `to` is nullptr where the program has taken it over, or it was dropped.
// From here to end_filling its memory is the filler's, and the slot has one more in flight.
struct Filling {
  std::byte* to = nullptr;
  patterns::Extent extent{};
  unsigned slot = 0;
};
Filling begin_filling(PieceName piece) noexcept;
// `bytes`: what is there of it, below 0: it could not be read.
void end_filling(PieceName piece, std::int64_t bytes) noexcept;
// The stream of a piece that nobody has begun.
bool slot_of_piece(PieceName piece, unsigned& slot) noexcept;

// Looks for all of the extent, in at most `room` parts. Pieces of it that nobody has begun to fill
// are the caller's from now on: dropped. kUnderWay: one of its pieces is being filled.
Found find_pieces(const CachedStream& stream, const FileStamp& stamp, std::uint64_t word,
                  const patterns::Extent& extent, FoundPart* parts, unsigned room,
                  unsigned& count) noexcept;
// The program has read the extent itself: pieces of it that nobody has begun to fill are dropped.
void take_over(const CachedStream& stream, const patterns::Extent& extent) noexcept;
// Whether what was found is still what it was, after it was copied. What was read whole makes room.
bool used_pieces(const FoundPart* parts, unsigned count) noexcept;

// Waits for any filler to end one, as long as `seen` is the count of those.
std::uint32_t filled_count() noexcept;
void wait_for_filled(std::uint32_t seen) noexcept;

// `ends`: the slot will be another stream's.
void drop_stream(unsigned slot, bool ends) noexcept;
void drop_piece(PieceName piece) noexcept;
// A signal handler jumps out of what this thread is in the midst of. True where the cache is half
// changed: nothing is found in it any more.
bool leave_cache_by_jump() noexcept;
// Of the stream that the slot has, or had last.
std::uint64_t served_reads(unsigned slot) noexcept;
void count_served(unsigned slot) noexcept;

}  // namespace iotune::prefetch
