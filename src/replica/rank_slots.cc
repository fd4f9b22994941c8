#include "replica/rank_slots.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "base/file_system.h"

namespace headway::replica {
namespace {

using base::Result;
using base::Status;

struct SlotName {
  std::uint32_t rank = 0;
  std::uint64_t number = 0;
};

std::string text_of(const SlotName& name) {
  return fmt::format("rank-{:05}.slot-{}", name.rank, name.number);
}

std::optional<SlotName> parse(const std::string& text) {
  constexpr std::string_view kRank = "rank-";
  constexpr std::string_view kSlot = ".slot-";
  const std::size_t dot = text.find(kSlot);
  if (!text.starts_with(kRank) || dot == std::string::npos) return std::nullopt;
  SlotName name;
  std::from_chars(text.data() + kRank.size(), text.data() + dot, name.rank);
  std::from_chars(text.data() + dot + kSlot.size(), text.data() + text.size(), name.number);
  return text_of(name) == text ? std::optional(name) : std::nullopt;
}

// A whole step, be it of a layout that has been outgrown: nobody writes rows over it.
bool holds_image(const Slot& slot) {
  auto facts = slot.facts();
  if (!facts) facts = slot.facts_before();
  return facts && facts->since == 0;
}

std::vector<SlotName> names_in(const std::string& folder) {
  std::vector<SlotName> names;
  auto entries = base::real_file_system().list(folder);
  if (!entries.ok()) return names;
  for (const base::FolderEntry& entry : *entries) {
    if (const auto name = parse(entry.name)) names.push_back(*name);
  }
  return names;
}

}  // namespace

void RankSlots::take_over() {
  for (const SlotName& name : names_in(folder_)) {
    if (name.rank != rank_) continue;
    next_ = std::max(next_, name.number + 1);
    const std::string path = folder_ + "/" + text_of(name);
    auto slot = Slot::open(path);
    // One that was not sealed may lack a part of its memory: its maker died while he got it.
    const bool whole =
        slot.ok() && (*slot)->state() != SlotState::gone &&
        ((*slot)->state() != SlotState::empty || (*slot)->allocate([] { return true; }).ok());
    if (whole) {
      slots_.push_back(*slot);
    } else {
      ::unlink(path.c_str());
    }
  }
}

RankSlots::Usable RankSlots::usable(const Sizes& sizes) const {
  Usable usable;
  for (const auto& slot : slots_) {
    if (slot->state() == SlotState::live) continue;
    if (slot->capacity() >= sizes.image) {
      ++usable.images;
    } else if (sizes.rows > 0 && slot->capacity() >= sizes.rows && !holds_image(*slot)) {
      ++usable.rows;
    }
  }
  return usable;
}

void RankSlots::drop_unfit(const Sizes& sizes, bool all) {
  std::erase_if(slots_, [&](const std::shared_ptr<Slot>& slot) {
    const bool image = holds_image(*slot);
    const bool fits_rows = sizes.rows > 0 && slot->capacity() >= sizes.rows && !image;
    if (fits_rows || slot->capacity() >= sizes.image) return false;
    // Not what is written at this moment. A trainer may begin with it just now, too: one of us is
    // the first to change its state.
    const bool goes =
        slot->try_remove(SlotState::empty) || (all && image && slot->try_remove(SlotState::sealed));
    if (goes) ::unlink(slot->path().c_str());
    return goes;
  });
}

void RankSlots::writer_died() {
  for (const auto& slot : slots_) slot->abandon();
}

std::vector<std::shared_ptr<Slot>> RankSlots::drop_broken(
    const std::function<bool(const std::shared_ptr<Slot>&)>& in_use) {
  std::vector<std::shared_ptr<Slot>> broken;
  std::erase_if(slots_, [&](const std::shared_ptr<Slot>& slot) {
    if (slot->is_intact() || in_use(slot)) return false;
    broken.push_back(slot);
    ::unlink(slot->path().c_str());
    return true;
  });
  return broken;
}

void RankSlots::add(std::vector<std::shared_ptr<Slot>> slots) {
  for (auto& slot : slots) slots_.push_back(std::move(slot));
}

std::vector<std::string> RankSlots::new_paths(std::uint32_t count) {
  std::vector<std::string> paths;
  for (; count > 0; --count) paths.push_back(folder_ + "/" + text_of({rank_, next_++}));
  return paths;
}

Result<std::vector<std::shared_ptr<Slot>>> allocate_slots(const std::vector<NewSlot>& wanted,
                                                          const std::function<bool()>& goes_on) {
  std::vector<std::shared_ptr<Slot>> slots;
  Status status;
  for (const NewSlot& one : wanted) {
    auto slot = Slot::create(one.path, one.bytes);
    status = slot.status();
    if (status.ok()) {
      slots.push_back(*slot);
      status = slots.back()->allocate(goes_on);
    }
    if (!status.ok()) break;
  }
  if (status.ok()) return slots;
  for (const NewSlot& one : wanted) ::unlink(one.path.c_str());
  return status;
}

std::vector<std::uint32_t> ranks_in(const std::string& folder) {
  std::set<std::uint32_t> ranks;
  for (const SlotName& name : names_in(folder)) ranks.insert(name.rank);
  return {ranks.begin(), ranks.end()};
}

}  // namespace headway::replica
