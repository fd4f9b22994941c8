// For tests: machines that write checkpoints together, by turns, on a simulated disk.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/crc32c.h"
#include "base/sim_file_system.h"
#include "checkpoint/together.h"

namespace headway::checkpoint {

inline constexpr const char* together_folder = "/jobs/ck";
inline constexpr std::uint32_t together_ranks = 3;
inline constexpr std::size_t together_bytes = 1500;  // of a file: several sectors

inline std::string together_content(std::uint64_t step, std::uint32_t rank) {
  std::string text;
  while (text.size() < together_bytes) {
    text += fmt::format("step {} rank {} byte {};", step, rank, text.size());
  }
  return text.substr(0, together_bytes);
}

inline std::string together_file(std::uint32_t rank) {
  return fmt::format("rank-{:05}.safetensors", rank);
}

inline Manifest together_part(std::uint64_t step, std::uint32_t first, std::uint32_t count) {
  Manifest part;
  part.step = step;
  part.attempt = 1;
  part.world_size = together_ranks;
  part.time_ns = static_cast<std::int64_t>(step * 10 + first);
  for (std::uint32_t rank = first; rank < first + count; ++rank) {
    const std::string content = together_content(step, rank);
    part.files.push_back({.name = together_file(rank),
                          .bytes = content.size(),
                          .chunk_bytes = default_chunk_bytes,
                          .crc32c = {base::crc32c(content.data(), content.size())},
                          .rank = rank});
  }
  return part;
}

// One machine at one save.
class Machine {
 public:
  Machine(base::FileSystem& files, std::uint64_t step, std::uint32_t first, std::uint32_t count,
          std::uint64_t run = 7)
      : folder_(files, together_folder),
        part_(together_part(step, first, count)),
        together_(folder_, {1, step, false, run}, part_) {}

  // Its part is there when it returns well, or the checkpoint is.
  void prepare() {
    take(together_.find_committed());
    if (!durable && !failed) take(together_.begin(1));
    if (durable || failed) return;
    if (!together_.is_published()) {
      if (base::Status status = write(); !status.ok()) return give_up(status);
    }
    published = true;
  }
  void look() {
    if (!durable && !failed) take(together_.look());
  }
  [[nodiscard]] Together& together() { return together_; }

  bool published = false;
  bool durable = false;
  bool failed = false;
  std::string why;

 private:
  void take(const base::Result<std::optional<CheckpointName>>& found) {
    if (!found.ok()) return give_up(found.status());
    durable = found.value().has_value();
  }
  void give_up(const base::Status& status) {
    failed = true;
    why = status.message();
    if (together_.leads() || !published) together_.fail(false);
  }
  base::Status write() {
    for (const ManifestFile& entry : part_.files) {
      auto file = together_.add(entry.name);
      if (!file.ok()) return file.status();
      const std::string content = together_content(part_.step, entry.rank);
      base::Status status = (*file)->write(base::bytes_of(content));
      if (status.ok()) status = (*file)->finish();
      if (!status.ok()) return status;
    }
    return together_.publish();
  }

  CheckpointFolder folder_;
  const Manifest part_;
  Together together_;
};

// The leader has rank 0, the other one 1 and 2.
struct Told {
  bool leader = false;
  bool follower = false;
};
inline Told save_together(base::FileSystem& files, std::uint64_t step, bool leader_first) {
  Machine leader(files, step, 0, 1);
  Machine follower(files, step, 1, 2);
  if (leader_first) {
    leader.prepare();
    leader.look();
    follower.prepare();
  } else {
    follower.prepare();
    follower.look();
    leader.prepare();
  }
  leader.look();
  follower.look();
  leader.look();
  return {leader.durable, follower.durable};
}

// The step that is found, and that all of it is right; 0: none.
inline std::uint64_t together_found(base::FileSystem& files) {
  const CheckpointFolder folder(files, together_folder);
  std::vector<std::string> passed;
  auto good = folder.newest_good(true, passed);
  EXPECT_TRUE(good.ok()) << good.status().message();
  if (!good.ok() || !good.value()) return 0;
  const Manifest& manifest = good.value()->manifest;
  EXPECT_EQ(manifest.files.size(), together_ranks);
  for (std::uint32_t rank = 0; rank < together_ranks; ++rank) {
    const std::string path = folder.path_of(good.value()->name) + "/" + together_file(rank);
    const auto text = base::read_all(files, path, together_bytes);
    EXPECT_TRUE(text.ok() && text.value() == together_content(manifest.step, rank)) << path;
  }
  return manifest.step;
}

inline std::unique_ptr<base::SimFileSystem> together_disk() {
  auto files = std::make_unique<base::SimFileSystem>();
  EXPECT_TRUE(files->make_folder("/jobs").ok());
  EXPECT_TRUE(files->sync_folder("/").ok());
  return files;
}

}  // namespace headway::checkpoint
