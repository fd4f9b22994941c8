#include "replica/trainer.h"

#include <algorithm>

#include "base/check.h"
#include "base/crc32c.h"

namespace headway::replica {

Trainer::Trainer(LinkOptions options, unsigned threads)
    : link_(options), team_(threads), hello_(options.hello) {}

base::Status Trainer::plan(const std::vector<ImagePiece>& pieces, std::uint32_t slots) {
  auto plan = plan_image(pieces);
  if (!plan.ok()) return plan.status();
  stage_ = std::make_unique<Stage>(std::move(*plan));
  pieces_ = pieces;
  rows_.reset();
  image_.clear();
  saved_ = 0;  // a delta of another layout could not be read
  room_ = {.bytes = stage_->plan().bytes, .count = slots};
  link_.reserve(room_);
  return {};
}

std::vector<Whole> Trainer::whole_ones() {
  std::vector<Whole> whole;
  for (const auto& slot : link_.slots()) {
    const auto facts = slot->facts();
    if (facts && facts->since == 0) whole.push_back({slot, *facts});
  }
  std::sort(whole.begin(), whole.end(),
            [](const Whole& a, const Whole& b) { return a.facts.sequence > b.facts.sequence; });
  return whole;
}

// Of those that may be written into the one that holds the least: nothing, half, the oldest.
std::shared_ptr<Slot> Trainer::find_free(std::uint64_t bytes, const Slot* but) {
  if (!settle(0)) return nullptr;
  const auto whole = whole_ones();
  const auto fits = [&](const Slot& slot, SlotState wanted) {
    return slot.capacity() >= bytes && slot.state() == wanted && &slot != but;
  };
  for (const SlotState wanted : {SlotState::empty, SlotState::writing}) {
    for (const auto& slot : link_.slots()) {
      if (fits(*slot, wanted)) return slot;
    }
  }
  for (std::size_t i = whole.size(); i > 1; --i) {
    if (fits(*whole[i - 1].slot, SlotState::sealed)) return whole[i - 1].slot;
  }
  return nullptr;
}

bool Trainer::wait_for(const std::function<bool()>& found, std::int64_t wait_ns) {
  constexpr std::int64_t kLookNs = 5'000'000;  // a slot that gets free makes no noise
  constexpr int kLooksBeforeAsking = 200;      // nor does one that was removed before we saw it
  bool asked = false;
  for (int looks = 1; !found(); ++looks) {
    if (!link_.refusal().empty()) {
      if (std::exchange(asked, true)) return false;
      link_.ask_again();
    } else if (looks % kLooksBeforeAsking == 0) {
      link_.ask_again();
    }
    if (wait_ns <= 0) return false;
    link_.wait_for_news(std::min(wait_ns, kLookNs));
    wait_ns -= kLookNs;
  }
  return true;
}

bool Trainer::wait_for_slot(std::int64_t wait_ns) {
  HW_CHECK(stage_ != nullptr);
  // Rows go into the only image that there is, which is not given away: a whole save needs another.
  const auto slots = link_.slots();
  const bool kept = std::any_of(slots.begin(), slots.end(), [this](const auto& slot) {
    const SlotState state = slot->state();
    return slot->capacity() >= room_.bytes &&
           (state == SlotState::sealed || state == SlotState::pinned ||
            state == SlotState::applying);
  });
  if (room_.count == 1 && kept) {
    room_.count = 2;
    link_.reserve(room_);
  }
  return wait_for([this] { return find_free(stage_->plan().bytes) != nullptr; }, wait_ns);
}

std::shared_ptr<Slot> Trainer::begin() {
  HW_CHECK(stage_ != nullptr);
  auto slot = find_free(stage_->plan().bytes);
  return slot && slot->try_begin() ? slot : nullptr;
}

void Trainer::fill(const std::shared_ptr<Slot>& slot, const Step& step,
                   std::span<const Source> sources) {
  stage_->fill(*slot, sources, team_);
  seal(slot, step, stage_->plan(), 0);
  image_ = slot->path();
}

void Trainer::seal(const std::shared_ptr<Slot>& slot, const Step& step, const ImagePlan& plan,
                   std::uint64_t since) {
  for (const auto& other : link_.slots()) {
    if (const auto there = other->facts()) sequence_ = std::max(sequence_, there->sequence);
  }
  SlotFacts facts;
  facts.sequence = ++sequence_;
  facts.step = step.step;
  facts.data = step.data;
  facts.time_ns = step.time_ns;
  facts.attempt = hello_.attempt;
  facts.run = hello_.run;
  facts.layout_hash = plan.layout_hash;
  facts.since = since;
  facts.saved = saved_;
  facts.own = plan.own.range;
  facts.rest = plan.rest.range;
  facts.rank = hello_.rank;
  facts.world_size = hello_.world_size;
  slot->seal(facts, step.persist);
  if (step.persist) saved_ = sequence_;
  if (step.persist || since != 0) link_.look();
}

std::vector<Whole> Trainer::left_behind(std::int64_t wait_ns) {
  (void)link_.wait_for_answer(wait_ns);
  return whole_ones();
}

void Trainer::free_live() {
  for (const auto& slot : link_.slots()) {
    if (slot->state() == SlotState::live) slot->clear();
  }
}

void Trainer::forget() {
  for (const auto& slot : link_.slots()) {
    if (slot->try_begin()) slot->clear();
  }
}

std::shared_ptr<Slot> Trainer::adopt(const Whole& whole, bool on_disk, bool persist) {
  const std::uint64_t bytes = whole.facts.rest.end;
  if (on_disk && whole.slot->try_adopt()) {
    room_.bytes = std::max(room_.bytes, whole.slot->capacity());
    link_.reserve(room_);
    return whole.slot;
  }
  const auto other = find_free(bytes, whole.slot.get());
  if (!other || !other->try_begin()) return nullptr;
  auto live = other;
  if (whole.slot->state() == SlotState::sealed) {
    live = whole.slot;
  } else {
    const auto chunks = chunks_of(whole.facts.own, whole.facts.rest);
    team_.run(chunks.size(), [&](std::size_t i) {
      (void)base::copy_crc32c(live->image().data() + chunks[i].begin,
                              whole.slot->image().data() + chunks[i].begin, chunks[i].bytes());
    });
    if (!live->try_adopt()) return nullptr;
  }
  room_.bytes = std::max(room_.bytes, whole.slot->capacity());
  room_.count = std::max(room_.count, 2U);
  // Another one for the one that is used up, as soon as it is.
  const auto ask = [this, room = room_] { link_.reserve(room); };
  if (live == whole.slot) {
    backup_ = std::make_unique<Backup>(whole.slot, whole.facts, other, persist, ask);
  } else {
    ask();
  }
  return live;
}

void Trainer::persist(const Whole& whole) {
  if (whole.slot->try_pin()) link_.look();
}

bool Trainer::settle(std::int64_t wait_ns) {
  if (!backup_) return true;
  if (!backup_->wait(wait_ns)) return false;
  changed_early_ = !backup_->kept();
  backup_.reset();
  return true;
}

}  // namespace headway::replica
