// For tests: slots as trainers leave them, filled with bytes that tell step and rank.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/temp_dir.h"
#include "replica/stage.h"

namespace headway::replica {

inline std::vector<std::byte> state_of(std::uint64_t step, std::uint32_t rank, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::byte>((step * 31 + rank * 7 + i * 13 + i / 256) & 0xFF);
  }
  return out;
}

// Sealed and pinned. The tensor is "w.<rank>".
inline std::shared_ptr<Slot> filled_slot(const base::TempDir& dir, SlotFacts facts,
                                         std::size_t bytes, CopyTeam& team) {
  using checkpoint::DType;
  auto plan = plan_image({{{fmt::format("w.{}", facts.rank), DType::u8, {bytes}, {0}}, true},
                          {{"other's", DType::u8, {100}, {0}}, false}});
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  const Stage stage(std::move(*plan));
  const std::string path =
      fmt::format("{}/{}-{}-{}", dir.path(), facts.attempt, facts.step, facts.rank);
  auto slot = Slot::create(path, stage.plan().bytes);
  EXPECT_TRUE(slot.ok() && (*slot)->allocate([] { return true; }).ok());
  EXPECT_TRUE((*slot)->try_begin());
  const auto own = state_of(facts.step, facts.rank, bytes);
  const std::vector<std::byte> rest(100);
  const Source sources[] = {{.at = own.data()}, {.at = rest.data()}};
  stage.fill(**slot, sources, team);
  facts.sequence = facts.step;
  facts.time_ns = static_cast<std::int64_t>(facts.step);
  facts.own = stage.plan().own.range;
  facts.rest = stage.plan().rest.range;
  (*slot)->seal(facts, true);
  return *slot;
}

}  // namespace headway::replica
