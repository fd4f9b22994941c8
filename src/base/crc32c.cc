#include "base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
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

HEADWAY_CRC_TARGET std::uint32_t crc32c_instruction(const unsigned char* p, std::size_t bytes,
                                                    std::uint32_t crc) {
  crc = ~crc;
  for (; bytes >= 8; p += 8, bytes -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, 8);
    crc = add64(crc, word);
  }
  for (; bytes > 0; ++p, --bytes) crc = add8(crc, *p);
  return ~crc;
}

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

}  // namespace headway::base
