#include "record/name_interner.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "record/core.h"

namespace headway::record {
namespace {

constexpr std::uint64_t id_max = 65535;

// Cut to the bound, not through the middle of a UTF-8 character.
std::string_view bounded(std::string_view text) {
  if (text.size() <= event::kNameBytesMax) return text;
  std::size_t end = event::kNameBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end == 0 ? event::kNameBytesMax : end);
}

bool write_name(event::JournalHeader* header, std::uint16_t id, std::string_view text) {
  constexpr std::size_t kPart = event::kNameBytesPerRecord;
  const auto parts = static_cast<std::uint32_t>((text.size() + kPart - 1) / kPart);
  event::Record* slots = reserve(header, parts);
  if (slots == nullptr) return false;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const std::string_view piece = text.substr(part * kPart, kPart);
    event::Record words{};
    std::memcpy(static_cast<void*>(&words), piece.data(), piece.size());
    commit(slots + part, event::EventType::name, id, event::name_part_lane(part, parts), words.t,
           words.a, words.b);
  }
  return true;
}

}  // namespace

std::uint16_t NameInterner::intern(event::JournalHeader* header, std::string_view text) {
  text = bounded(text);
  if (text.empty()) return 0;
  const std::lock_guard<NameInterner> guard(*this);
  std::string key(text);
  if (const auto found = ids_.find(key); found != ids_.end()) return found->second;
  if (header->next_name.load(std::memory_order_relaxed) > id_max) {
    header->names_dropped.fetch_add(1, std::memory_order_relaxed);
    return event::kOtherNameId;
  }
  // Room in the table first: nothing may throw once the journal knows the name.
  const auto place = ids_.emplace(std::move(key), event::kOtherNameId).first;
  const std::uint64_t id = header->next_name.fetch_add(1, std::memory_order_relaxed);
  if (id > id_max || !write_name(header, static_cast<std::uint16_t>(id), text)) {
    ids_.erase(place);
    if (id > id_max) header->names_dropped.fetch_add(1, std::memory_order_relaxed);
    return event::kOtherNameId;
  }
  place->second = static_cast<std::uint16_t>(id);
  return place->second;
}

void NameInterner::clear() {
  const std::lock_guard<NameInterner> guard(*this);
  ids_.clear();
}

}  // namespace headway::record
