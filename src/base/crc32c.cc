#include "base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace headway::base {
namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
    tables[0][i] = crc;
  }
  for (std::uint32_t i = 0; i < 256; ++i) {
    for (std::size_t k = 1; k < 8; ++k) {
      tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

#if defined(__x86_64__)
#define HEADWAY_CRC_TARGET __attribute__((target("sse4.2")))
inline bool has_instruction() {
  return __builtin_cpu_supports("sse4.2") != 0;
}
HEADWAY_CRC_TARGET inline std::uint32_t add8(std::uint32_t crc, std::uint8_t v) {
  return _mm_crc32_u8(crc, v);
}
HEADWAY_CRC_TARGET inline std::uint32_t add64(std::uint32_t crc, std::uint64_t v) {
  return static_cast<std::uint32_t>(_mm_crc32_u64(crc, v));
}
#elif defined(__aarch64__)
#define HEADWAY_CRC_TARGET __attribute__((target("+crc")))
inline bool has_instruction() {
  return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
}
HEADWAY_CRC_TARGET inline std::uint32_t add8(std::uint32_t crc, std::uint8_t v) {
  return __crc32cb(crc, v);
}
HEADWAY_CRC_TARGET inline std::uint32_t add64(std::uint32_t crc, std::uint64_t v) {
  return __crc32cd(crc, v);
}
#else
#define HEADWAY_CRC_TARGET
inline bool has_instruction() {
  return false;
}
inline std::uint32_t add8(std::uint32_t crc, std::uint8_t) {
  return crc;
}
inline std::uint32_t add64(std::uint32_t crc, std::uint64_t) {
  return crc;
}
#endif

// What a CRC becomes when kLane zero bytes follow it; linear, so four table look-ups.
constexpr std::size_t kLane = 512;
using Shift = std::array<std::array<std::uint32_t, 256>, 4>;

constexpr Shift make_shift() {
  std::array<std::uint32_t, 32> of_bit{};
  for (std::size_t bit = 0; bit < 32; ++bit) {
    std::uint32_t crc = 1u << bit;
    for (std::size_t i = 0; i < kLane; ++i) crc = (crc >> 8) ^ kTables[0][crc & 0xFF];
    of_bit[bit] = crc;
  }
  Shift shift{};
  for (std::size_t k = 0; k < 4; ++k) {
    for (std::size_t value = 0; value < 256; ++value) {
      for (std::size_t bit = 0; bit < 8; ++bit) {
        if ((value >> bit & 1) != 0) shift[k][value] ^= of_bit[8 * k + bit];
      }
    }
  }
  return shift;
}

constexpr Shift kShift = make_shift();

inline std::uint32_t behind_lane(std::uint32_t crc) {
  return kShift[0][crc & 0xFF] ^ kShift[1][crc >> 8 & 0xFF] ^ kShift[2][crc >> 16 & 0xFF] ^
         kShift[3][crc >> 24];
}

inline std::uint64_t word_at(const unsigned char* p) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, 8);
  return word;
}

// The instruction takes three cycles and one can start in each: three lanes at a time, close
// together so that they are one stream to the prefetcher.
constexpr std::size_t kBlock = 3 * kLane;
constexpr std::size_t kAhead = 4096;

HEADWAY_CRC_TARGET inline std::uint32_t add_block(const unsigned char* p, std::uint32_t crc) {
  std::uint32_t second = 0;
  std::uint32_t third = 0;
  for (std::size_t i = 0; i < kLane; i += 8) {
    if (i % 64 == 0) {
      for (std::size_t line = 0; line < 192; line += 64) {
        __builtin_prefetch(p + kAhead + 3 * i + line);
      }
    }
    crc = add64(crc, word_at(p + i));
    second = add64(second, word_at(p + kLane + i));
    third = add64(third, word_at(p + 2 * kLane + i));
  }
  return behind_lane(behind_lane(crc) ^ second) ^ third;
}

HEADWAY_CRC_TARGET inline std::uint32_t add_few(const unsigned char* p, std::size_t bytes,
                                                std::uint32_t crc) {
  for (; bytes >= 8; p += 8, bytes -= 8) crc = add64(crc, word_at(p));
  for (; bytes > 0; ++p, --bytes) crc = add8(crc, *p);
  return crc;
}

HEADWAY_CRC_TARGET std::uint32_t crc32c_instruction(const unsigned char* p, std::size_t bytes,
                                                    std::uint32_t crc) {
  crc = ~crc;
  for (; bytes >= kBlock; p += kBlock, bytes -= kBlock) crc = add_block(p, crc);
  return ~add_few(p, bytes, crc);
}

#if defined(__x86_64__)
bool can_copy_past_cache() {
  return __builtin_cpu_supports("avx") != 0 && __builtin_cpu_supports("sse4.2") != 0;
}

// `to` is aligned to 32 bytes.
__attribute__((target("avx"))) inline void copy_block_past_cache(unsigned char* to,
                                                                 const unsigned char* from) {
  for (std::size_t i = 0; i < kBlock; i += 128) {
    const auto* in = reinterpret_cast<const __m256i*>(from + i);
    auto* out = reinterpret_cast<__m256i*>(to + i);
    const __m256i a = _mm256_loadu_si256(in);
    const __m256i b = _mm256_loadu_si256(in + 1);
    const __m256i c = _mm256_loadu_si256(in + 2);
    const __m256i d = _mm256_loadu_si256(in + 3);
    _mm256_stream_si256(out, a);
    _mm256_stream_si256(out + 1, b);
    _mm256_stream_si256(out + 2, c);
    _mm256_stream_si256(out + 3, d);
  }
}

__attribute__((target("avx,sse4.2"))) std::uint32_t copy_past_cache(unsigned char* to,
                                                                    const unsigned char* from,
                                                                    std::size_t bytes,
                                                                    std::uint32_t crc) {
  crc = ~crc;
  const std::size_t front = (32 - reinterpret_cast<std::uintptr_t>(to) % 32) % 32;
  std::memcpy(to, from, front);
  crc = add_few(from, front, crc);
  std::size_t at = front;
  for (; bytes - at >= kBlock; at += kBlock) {
    crc = add_block(from + at, crc);
    copy_block_past_cache(to + at, from + at);
  }
  _mm_sfence();
  std::memcpy(to + at, from + at, bytes - at);
  return ~add_few(from + at, bytes - at, crc);
}
#else
bool can_copy_past_cache() {
  return false;
}
std::uint32_t copy_past_cache(unsigned char*, const unsigned char*, std::size_t,
                              std::uint32_t crc) {
  return crc;
}
#endif

// Smaller ones are likely to be read again soon.
constexpr std::size_t kPastCacheBytes = 64 << 10;
constexpr std::size_t kCopyStep = 32 << 10;  // stays in the cache until it is summed

}  // namespace

std::uint32_t crc32c_portable(const void* data, std::size_t bytes, std::uint32_t crc) {
  const auto* p = static_cast<const unsigned char*>(data);
  crc = ~crc;
  for (; bytes >= 8; p += 8, bytes -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, 8);
    word ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; bytes > 0; ++p, --bytes) crc = (crc >> 8) ^ kTables[0][(crc ^ *p) & 0xFF];
  return ~crc;
}

std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t crc) {
  static const bool instruction = has_instruction();
  if (instruction) return crc32c_instruction(static_cast<const unsigned char*>(data), bytes, crc);
  return crc32c_portable(data, bytes, crc);
}

std::uint32_t copy_crc32c(void* to, const void* from, std::size_t bytes, std::uint32_t crc) {
  static const bool past_cache = can_copy_past_cache();
  auto* out = static_cast<unsigned char*>(to);
  const auto* in = static_cast<const unsigned char*>(from);
  if (past_cache && bytes >= kPastCacheBytes) return copy_past_cache(out, in, bytes, crc);
  for (std::size_t at = 0; at < bytes; at += kCopyStep) {
    const std::size_t piece = bytes - at < kCopyStep ? bytes - at : kCopyStep;
    std::memcpy(out + at, in + at, piece);
    crc = crc32c(out + at, piece, crc);
  }
  return crc;
}

}  // namespace headway::base
