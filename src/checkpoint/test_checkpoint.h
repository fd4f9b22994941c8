// For tests: small checkpoints of known values, and folders after a crash.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/sim_file_system.h"
#include "checkpoint/folder.h"
#include "checkpoint/parts.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/traces.h"

namespace headway::checkpoint {

// The value of an element is told by its place.
inline std::vector<std::byte> values_of(const Box& box) {
  std::vector<std::byte> out;
  each_part(box, 1, 1, [&](const Box& element) {
    std::uint32_t value = 17;
    for (const std::uint64_t at : element.offsets) {
      value = value * 1009 + static_cast<std::uint32_t>(at);
    }
    for (int i = 0; i < 4; ++i) out.push_back(static_cast<std::byte>(value >> 8 * i));
  });
  return out;
}

struct TestPiece {
  std::string name;
  Box box;
};

// Files of F32 pieces, one a rank, as a new checkpoint.
inline base::Result<CheckpointName> save_pieces(base::FileSystem& files, const std::string& folder,
                                                Manifest facts,
                                                const std::vector<std::vector<TestPiece>>& ranks) {
  CheckpointFolder into(files, folder);
  facts.world_size = static_cast<std::uint32_t>(ranks.size());
  auto draft = Draft::begin(into, facts);
  if (!draft.ok()) return draft.status();
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::vector<Piece> pieces;
    for (const TestPiece& each : ranks[rank]) {
      pieces.push_back({each.name, DType::f32, each.box.shape, each.box.offsets});
    }
    const auto plan = plan_safetensors(pieces, 4096);
    if (!plan.ok()) return plan.status();
    auto file = (*draft)->add("shard-" + std::to_string(rank) + ".safetensors",
                              static_cast<std::uint32_t>(rank), {});
    if (!file.ok()) return file.status();
    base::Status status = (*file)->write(base::bytes_of(plan.value().head));
    for (const StoredPiece& stored : plan.value().header.pieces) {
      if (!status.ok()) return status;
      status = (*file)->write(values_of({stored.piece.offsets, stored.piece.shape}));
    }
    if (status.ok()) status = (*file)->finish();
    if (!status.ok()) return status;
  }
  return (*draft)->commit();
}

// Nothing that Headway does, at whatever call it ends, looks as if somebody had lost a checkpoint.
inline void expect_no_traces(base::FileSystem& files, const std::string& folder) {
  const auto traces = find_traces(files, folder);
  ASSERT_TRUE(traces.ok()) << traces.status().message();
  for (const Trace& trace : traces.value()) ADD_FAILURE() << trace.text;
}

// Calls check with what a machine may find that lost its power now: nothing, all, all but one and
// only one of what was not synced, and mixtures.
inline void each_crash_state(const base::SimFileSystem& files,
                             const std::function<void(base::SimFileSystem& after)>& check) {
  constexpr unsigned kMixtures = 12;
  std::vector<std::function<double(std::size_t)>> states = {[](std::size_t) { return 0.0; },
                                                            [](std::size_t) { return 1.0; }};
  for (std::size_t one = 0; one < files.loose_ends(); ++one) {
    states.emplace_back([=](std::size_t i) { return i == one ? 0.0 : 1.0; });
    states.emplace_back([=](std::size_t i) { return i == one ? 1.0 : 0.0; });
  }
  for (unsigned seed = 0; seed < kMixtures; ++seed) {
    states.emplace_back([random = std::mt19937(seed)](std::size_t) mutable {
      return static_cast<double>(random() % 4) / 2 - 0.5;  // a half: its front, or its back
    });
  }
  for (const auto& state : states) {
    const auto after = files.after_crash(state);
    check(*after);
  }
}

}  // namespace headway::checkpoint
