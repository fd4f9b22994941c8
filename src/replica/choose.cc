#include "replica/choose.h"

#include <algorithm>
#include <set>

#include "replica/apply.h"

namespace headway::replica {
namespace {

using Key = std::pair<std::uint64_t, std::uint64_t>;  // attempt, step

// Steps that all ranks have, in their order. Of a step that was saved twice the later one, and of
// one that is being copied (backup.h) the copy, which is pinned.
std::map<Key, Choice> whole_ones(const HeldByRank& held, std::uint32_t ranks) {
  std::map<Key, Choice> choices;
  for (const auto& [rank, slots] : held) {
    std::map<Key, std::uint64_t> sequences;
    for (const Held& one : slots) {
      if (one.facts.since != 0 || one.applying) continue;
      const Key key{one.facts.attempt, one.facts.step};
      Choice& choice = choices[key];
      choice.attempt = key.first;
      choice.step = key.second;
      std::uint64_t& sequence = sequences[key];
      const bool met = choice.slots.contains(rank);
      if (met && one.facts.sequence < sequence) continue;
      if (met && one.facts.sequence == sequence && !one.pinned) continue;
      sequence = one.facts.sequence;
      choice.slots[rank] = one.slot;
    }
  }
  std::erase_if(choices, [&](const auto& entry) { return entry.second.slots.size() != ranks; });
  return choices;
}

// Rows that all ranks have, in their order, each with the image that they go into or are in.
std::map<Key, RowsChoice> rows_of_all(const HeldByRank& held, std::uint32_t ranks,
                                      bool also_of_pinned) {
  std::map<Key, RowsChoice> choices;
  for (const auto& [rank, slots] : held) {
    for (const Held& rows : slots) {
      const auto image = std::find_if(slots.begin(), slots.end(), [&](const Held& other) {
        return (!other.pinned || also_of_pinned) &&
               (come_next(other.facts, other.applying, rows.facts) ||
                are_in(other.facts, other.applying, rows.facts));
      });
      if (image == slots.end()) continue;
      const Key key{rows.facts.attempt, rows.facts.step};
      RowsChoice& choice = choices[key];
      choice.rows.attempt = key.first;
      choice.rows.step = key.second;
      choice.rows.slots[rank] = rows.slot;
      choice.images[rank] = image->slot;
      choice.facts[rank] = rows.facts;
      choice.pinned = choice.pinned || rows.pinned;
      choice.waiting = choice.waiting || !are_in(image->facts, image->applying, rows.facts);
    }
  }
  std::erase_if(choices, [&](const auto& entry) { return entry.second.images.size() != ranks; });
  return choices;
}

// What a rank holds, each beside the image of it that was written.
template <typename Look>
void each_written(const HeldByRank& held, const Choice& written, const Look& look) {
  for (const auto& [rank, slot] : written.slots) {
    const auto slots = held.find(rank);
    if (slots == held.end()) continue;
    const auto image = std::find_if(slots->second.begin(), slots->second.end(),
                                    [&](const Held& one) { return one.slot == slot; });
    if (image == slots->second.end()) continue;
    for (const Held& one : slots->second) look(*image, one);
  }
}

}  // namespace

std::optional<Choice> next_to_persist(const HeldByRank& held, std::uint32_t ranks,
                                      std::uint64_t running) {
  auto choices = whole_ones(held, ranks);
  for (auto& [key, choice] : choices) {
    std::set<std::uint32_t> pinned;
    for (const auto& [rank, slots] : held) {
      for (const Held& one : slots) {
        const bool is_image = one.facts.since == 0;
        const bool is_it = is_image && Key{one.facts.attempt, one.facts.step} == key;
        if (is_it && one.pinned) pinned.insert(rank);
      }
    }
    if (pinned.empty()) continue;
    // Once they have a newer step they have taken over whatever they did.
    const bool newest = key == choices.rbegin()->first;
    if (newest && key.first < running && pinned.size() < ranks) continue;
    return std::move(choice);
  }
  return std::nullopt;
}

std::vector<Choice> whole_steps(const HeldByRank& held, std::uint32_t ranks) {
  std::vector<Choice> steps;
  for (auto& [key, choice] : whole_ones(held, ranks)) steps.push_back(choice);
  std::reverse(steps.begin(), steps.end());
  return steps;
}

std::optional<RowsChoice> next_rows(const HeldByRank& held, std::uint32_t ranks) {
  auto choices = rows_of_all(held, ranks, false);
  if (choices.empty()) return std::nullopt;
  return std::move(choices.begin()->second);
}

bool rows_wait(const HeldByRank& held, std::uint32_t ranks) {
  const auto choices = rows_of_all(held, ranks, true);
  return std::any_of(choices.begin(), choices.end(),
                     [](const auto& entry) { return entry.second.waiting; });
}

std::vector<std::shared_ptr<Slot>> lost_rows(const HeldByRank& held, std::uint64_t newest) {
  std::vector<std::shared_ptr<Slot>> lost;
  for (const auto& [rank, slots] : held) {
    for (const Held& rows : slots) {
      if (rows.facts.since == 0) continue;
      const bool passed = std::any_of(slots.begin(), slots.end(), [&](const Held& other) {
        return other.facts.since == 0 && !other.applying &&
               other.facts.sequence >= rows.facts.sequence;
      });
      if (rows.facts.attempt < newest || passed) lost.push_back(rows.slot);
    }
  }
  return lost;
}

std::map<std::uint32_t, std::vector<std::shared_ptr<Slot>>> cut_off_rows(const HeldByRank& held) {
  std::map<std::uint32_t, std::vector<std::shared_ptr<Slot>>> cut_off;
  for (const auto& [rank, slots] : held) {
    std::set<std::uint64_t> reached;  // sequences that an image has, or will have
    std::vector<const Held*> rows;
    for (const Held& one : slots) {
      if (one.facts.since == 0) {
        reached.insert(one.facts.sequence);
      } else {
        rows.push_back(&one);
      }
    }
    std::sort(rows.begin(), rows.end(),
              [](const Held* a, const Held* b) { return a->facts.sequence < b->facts.sequence; });
    for (const Held* one : rows) {
      const bool follows = reached.contains(one->facts.since) ||
                           reached.contains(one->facts.sequence);  // it is in the image
      if (follows) {
        reached.insert(one->facts.sequence);
      } else {
        cut_off[rank].push_back(one->slot);
      }
    }
  }
  return cut_off;
}

std::vector<std::shared_ptr<Slot>> rows_in(const HeldByRank& held, const Choice& written) {
  std::vector<std::shared_ptr<Slot>> found;
  each_written(held, written, [&](const Held& image, const Held& one) {
    if (are_in(image.facts, image.applying, one.facts)) found.push_back(one.slot);
  });
  return found;
}

std::vector<std::shared_ptr<Slot>> superseded(const HeldByRank& held, const Choice& written) {
  std::vector<std::shared_ptr<Slot>> older;
  each_written(held, written, [&](const Held& image, const Held& one) {
    if (one.pinned && one.facts.since == 0 && one.facts.attempt == written.attempt &&
        one.facts.step == written.step && one.facts.sequence < image.facts.sequence) {
      older.push_back(one.slot);
    }
  });
  return older;
}

std::vector<std::shared_ptr<Slot>> lost_causes(const HeldByRank& held, std::uint32_t ranks,
                                               std::uint64_t newest) {
  const auto whole = whole_ones(held, ranks);
  const auto passed = [&held](const Key& key) {
    return std::any_of(held.begin(), held.end(), [&key](const auto& entry) {
      bool has = false;
      bool beyond = false;
      for (const Held& one : entry.second) {
        const Key other{one.facts.attempt, one.facts.step};
        has = has || other == key;
        beyond = beyond || (other.first == key.first && other.second > key.second);
      }
      return beyond && !has;
    });
  };
  std::vector<std::shared_ptr<Slot>> lost;
  for (const auto& [rank, slots] : held) {
    for (const Held& one : slots) {
      const Key key{one.facts.attempt, one.facts.step};
      if (!one.pinned || one.facts.since != 0 || whole.contains(key)) continue;
      if (key.first < newest || passed(key)) lost.push_back(one.slot);
    }
  }
  return lost;
}

}  // namespace headway::replica
