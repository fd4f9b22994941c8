#include "cache/library.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace headway::cache {
namespace {

// Of a table of `count` records of `each` bytes at `offset`: does it end inside the file?
bool is_inside(std::uint64_t offset, std::uint64_t each, std::uint64_t count, std::uint64_t bytes) {
  return offset <= bytes && each * count <= bytes - offset;  // both factors have 16 bits
}

// `header`: of a file of so many bytes, or all of a shorter one.
bool is_damaged(std::span<const std::byte> header, std::uint64_t bytes) {
  if (std::ranges::all_of(header, [](std::byte b) { return b == std::byte{0}; })) return true;
  if (header.size() < SELFMAG || std::memcmp(header.data(), ELFMAG, SELFMAG) != 0) return false;
  if (header.size() < sizeof(Elf64_Ehdr)) return true;
  Elf64_Ehdr elf;
  std::memcpy(&elf, header.data(), sizeof(elf));
  if (elf.e_ident[EI_CLASS] != ELFCLASS64) return false;  // nothing that we could judge
  // Linkers put the table of sections last: where it is there, so is what lies before it.
  return !is_inside(elf.e_phoff, elf.e_phentsize, elf.e_phnum, bytes) ||
         !is_inside(elf.e_shoff, elf.e_shentsize, elf.e_shnum, bytes);
}

}  // namespace

bool is_damaged_library(std::span<const std::byte> content) {
  return is_damaged(content.first(std::min(content.size(), sizeof(Elf64_Ehdr))), content.size());
}

bool is_damaged_library(base::InputFile& file) {
  std::array<std::byte, sizeof(Elf64_Ehdr)> header{};
  const std::span<std::byte> front(header.data(),
                                   std::min<std::uint64_t>(header.size(), file.bytes()));
  return file.read(0, front).ok() && is_damaged(front, file.bytes());
}

}  // namespace headway::cache
