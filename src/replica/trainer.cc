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
  slots_ = slots;
  link_.reserve(stage_->plan().bytes, slots_);
  return {};
}

std::vector<Whole> Trainer::whole_ones() {
  std::vector<Whole> whole;
  for (const auto& slot : link_.slots()) {
    if (const auto facts = slot->facts()) whole.push_back({slot, *facts});
  }
  std::sort(whole.begin(), whole.end(),
            [](const Whole& a, const Whole& b) { return a.facts.sequence > b.facts.sequence; });
  return whole;
}

// Of those that may be written into the one that holds the least: nothing, half, the oldest.
std::shared_ptr<Slot> Trainer::find_free(std::uint64_t bytes) {
  const auto whole = whole_ones();
  for (const SlotState wanted : {SlotState::empty, SlotState::writing}) {
    for (const auto& slot : link_.slots()) {
      if (slot->capacity() >= bytes && slot->state() == wanted) return slot;
    }
  }
  for (std::size_t i = whole.size(); i > 1; --i) {
    const Whole& oldest = whole[i - 1];
    if (oldest.slot->capacity() >= bytes && oldest.slot->state() == SlotState::sealed) {
      return oldest.slot;
    }
  }
  return nullptr;
}

bool Trainer::wait_for_slot(std::int64_t wait_ns) {
  HW_CHECK(stage_ != nullptr);
  constexpr std::int64_t kLookNs = 5'000'000;  // a slot that gets free makes no noise
  bool asked = false;
  while (find_free(stage_->plan().bytes) == nullptr) {
    if (!link_.refusal().empty()) {
      if (std::exchange(asked, true)) return false;
      link_.ask_again();
    }
    if (wait_ns <= 0) return false;
    link_.wait_for_news(std::min(wait_ns, kLookNs));
    wait_ns -= kLookNs;
  }
  return true;
}

std::shared_ptr<Slot> Trainer::begin() {
  HW_CHECK(stage_ != nullptr);
  auto slot = find_free(stage_->plan().bytes);
  return slot && slot->try_begin() ? slot : nullptr;
}

void Trainer::fill(const std::shared_ptr<Slot>& slot, const Step& step,
                   std::span<const std::byte* const> sources) {
  for (const Whole& whole : whole_ones()) sequence_ = std::max(sequence_, whole.facts.sequence);
  stage_->fill(*slot, sources, team_);
  SlotFacts facts;
  facts.sequence = ++sequence_;
  facts.step = step.step;
  facts.data = step.data;
  facts.time_ns = step.time_ns;
  facts.attempt = hello_.attempt;
  facts.layout_hash = stage_->plan().layout_hash;
  facts.own = stage_->plan().own.range;
  facts.rest = stage_->plan().rest.range;
  facts.rank = hello_.rank;
  facts.world_size = hello_.world_size;
  slot->seal(facts, step.persist);
  if (step.persist) link_.look();
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

std::shared_ptr<Slot> Trainer::adopt(const Whole& whole, bool spare) {
  const std::uint64_t bytes = whole.facts.rest.end;
  std::shared_ptr<Slot> live;
  if (spare && whole.slot->try_adopt()) {
    live = whole.slot;
  } else {
    live = find_free(bytes);
    if (!live || live == whole.slot || !live->try_begin()) return nullptr;
    const auto chunks = chunks_of(whole.facts.own, whole.facts.rest);
    team_.run(chunks.size(), [&](std::size_t i) {
      (void)base::copy_crc32c(live->image().data() + chunks[i].begin,
                              whole.slot->image().data() + chunks[i].begin, chunks[i].bytes());
    });
    if (!live->try_adopt()) return nullptr;
  }
  link_.reserve(bytes, slots_);  // for the one that is used up
  return live;
}

}  // namespace headway::replica
