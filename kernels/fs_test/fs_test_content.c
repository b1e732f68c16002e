#include "fs_test_content.h"

/* splitmix64's output function (Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static uint64_t word_at(uint64_t key, int64_t offset) {
  return mixed(key + (uint64_t)(offset >> 3) * 0x9E3779B97F4A7C15u);
}

uint64_t fs_content_key(uint64_t seed, int64_t number) {
  return mixed(seed * 0x9E3779B97F4A7C15u + (uint64_t)number + 1);
}

unsigned char fs_content_byte(uint64_t key, int64_t offset) {
  return (unsigned char)(word_at(key, offset) >> 8 * (offset & 7));
}

void fs_content_fill(uint64_t key, int64_t offset, unsigned char* bytes, int64_t size) {
  for (int64_t i = 0; i < size;) {
    const int64_t at = offset + i;
    uint64_t word = word_at(key, at) >> 8 * (at & 7);
    for (int64_t end = (at | 7) + 1; offset + i < end && i < size; i++, word >>= 8)
      bytes[i] = (unsigned char)word;
  }
}

int64_t fs_content_check(uint64_t key, int64_t offset, const unsigned char* bytes, int64_t size) {
  for (int64_t i = 0; i < size;) {
    const int64_t at = offset + i;
    uint64_t word = word_at(key, at) >> 8 * (at & 7);
    for (int64_t end = (at | 7) + 1; offset + i < end && i < size; i++, word >>= 8)
      if (bytes[i] != (unsigned char)word) return i;
  }
  return -1;
}
