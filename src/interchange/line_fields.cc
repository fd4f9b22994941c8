#include "interchange/line_fields.h"

namespace headway::interchange {
namespace {

constexpr std::size_t kSlots = 128;

constexpr std::size_t slot_of(std::string_view key) {
  return (key.size() * 29 + static_cast<unsigned char>(key.front()) * 7 +
          static_cast<unsigned char>(key.back()) * 3) %
         kSlots;
}

constexpr std::array<std::uint8_t, kSlots> make_slots() {
  std::array<std::uint8_t, kSlots> slots{};
  for (auto& s : slots) s = kNoField;
  for (std::uint8_t f = 0; f < f_count; ++f) {
    std::size_t slot = slot_of(kFieldNames[f]);
    while (slots[slot] != kNoField) slot = (slot + 1) % kSlots;
    slots[slot] = f;
  }
  return slots;
}
constexpr auto kFieldSlots = make_slots();

}  // namespace

std::uint8_t field_of(std::string_view key) {
  if (key.empty()) return kNoField;
  for (std::size_t slot = slot_of(key); kFieldSlots[slot] != kNoField; slot = (slot + 1) % kSlots) {
    if (kFieldNames[kFieldSlots[slot]] == key) return kFieldSlots[slot];
  }
  return kNoField;
}

}  // namespace headway::interchange
