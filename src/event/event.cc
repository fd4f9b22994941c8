#include "event/event.h"

#include "base/check.h"

namespace headway::event {

std::int64_t pack_end_a(const EndInfo& info) {
  return static_cast<std::int64_t>(static_cast<std::uint32_t>(info.exit_code)) |
         static_cast<std::int64_t>(
             static_cast<std::uint64_t>(static_cast<std::uint32_t>(info.signal)) << 32);
}

std::int64_t pack_end_b(const EndInfo& info) {
  const std::uint64_t packed = static_cast<std::uint64_t>(static_cast<std::uint8_t>(info.origin)) |
                               (static_cast<std::uint64_t>(info.reason) << 16) |
                               (static_cast<std::uint64_t>(info.rank) << 32);
  return static_cast<std::int64_t>(packed);
}

EndInfo unpack_end(std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a);
  const auto ub = static_cast<std::uint64_t>(b);
  EndInfo info;
  info.exit_code = static_cast<std::int32_t>(static_cast<std::uint32_t>(ua));
  info.signal = static_cast<std::int32_t>(static_cast<std::uint32_t>(ua >> 32));
  info.origin = static_cast<int>(ub & 0xFF);
  if (info.origin > HW_ORIGIN_UNKNOWN) info.origin = HW_ORIGIN_UNKNOWN;
  info.reason = static_cast<NameId>((ub >> 16) & 0xFFFF);
  info.rank = static_cast<std::uint32_t>(ub >> 32);
  return info;
}

NameTable::NameTable() {
  texts_.resize(kUserFirst);
  intern("~other");
  HW_CHECK(text(kOtherName) == "~other");
}

NameId NameTable::intern(std::string_view text) {
  if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
  if (texts_.size() >= names_max) {
    ++overflowed_;
    return kOtherName;
  }
  const auto id = static_cast<NameId>(texts_.size());
  texts_.push_back(std::make_unique<std::string>(text));
  ids_.emplace(std::string_view(*texts_.back()), id);
  return id;
}

std::string_view NameTable::text(NameId id) const {
  if (id < kUserFirst) return phase_name(id);
  if (id >= texts_.size() || !texts_[id]) return {};
  return *texts_[id];
}

std::span<const Event> VectorSource::next() {
  if (done_) return {};
  done_ = true;
  return events_;
}

}  // namespace headway::event
