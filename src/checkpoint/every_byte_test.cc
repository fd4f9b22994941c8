// Every single byte of a small checkpoint, a whole one and a delta with its base, of every file in
// it and beside it, is changed, and every file is cut at every length: whatever reads it says so,
// or gives what was saved. Nothing is taken for another value, and nothing crashes.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "checkpoint/anchor.h"
#include "checkpoint/delta.h"
#include "checkpoint/load.h"
#include "checkpoint/look.h"
#include "checkpoint/shard.h"
#include "checkpoint/test_checkpoint.h"
#include "checkpoint/verify.h"

namespace headway::checkpoint {
namespace {

using base::SimFileSystem;
using base::Status;

constexpr const char* kFolder = "/ck";
const std::string kOldPath = "/ck/step-00000001-000001";
const std::string kNewPath = "/ck/step-00000002-000002";
const Box kWhole{{0, 0}, {5, 6}};
constexpr std::ptrdiff_t kRowBytes = 6 * 4;

class EveryByte : public testing::Test {
 protected:
  explicit EveryByte(bool delta = false) {
    for (const std::uint64_t step : {1, 2}) {
      Manifest facts;
      facts.step = step;
      facts.job = "job";
      EXPECT_TRUE(delta && step == 2 ? save_delta(facts) : save_whole(facts));
    }
    EXPECT_TRUE(set_anchor(files_, kNewPath, "why").ok());
    for (const auto& [path, content] : files_.contents()) {
      const bool read = path.starts_with(kNewPath + "/") || (delta && path.starts_with(kOldPath));
      if (read && !path.ends_with('/')) read_[path] = content;
    }
  }

  bool save_whole(const Manifest& facts) {
    const std::vector<std::vector<TestPiece>> ranks = {{{"w", {{0, 0}, {3, 6}}}},
                                                       {{"w", {{3, 0}, {2, 6}}}}};
    return save_pieces(files_, kFolder, facts, ranks).ok();
  }

  // Row 1 by rank 0 and rows 3 and 4 by rank 1, all of another value than in the base.
  bool save_delta(Manifest facts) {
    facts.base = last_name_of(kOldPath);
    facts.world_size = 2;
    CheckpointFolder into(files_, kFolder);
    auto draft = Draft::begin(into, facts);
    if (!draft.ok()) return false;
    const std::vector<std::vector<std::int64_t>> changed = {{1}, {3, 4}};
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const std::vector<std::int64_t>& ids = changed[rank];
      const auto begin = truth_.begin() + ids.front() * kRowBytes;
      const auto count = static_cast<std::int64_t>(ids.size());
      std::transform(begin, begin + count * kRowBytes, begin, [](std::byte b) { return ~b; });
      const Piece table{"w", DType::f32, {rank == 0 ? 3U : 2U, 6}, {rank == 0 ? 0U : 3U, 0}};
      const RowPieces two = row_pieces(table, ids.size());
      const std::byte* const sources[] = {reinterpret_cast<const std::byte*>(ids.data()), &*begin};
      auto entry = write_shard(files_, (*draft)->path(), fmt::format("rank-{:05}.delta", rank),
                               rank, {two.ids, two.rows}, sources);
      if (!entry.ok()) return false;
      (*draft)->take(std::move(*entry));
    }
    return (*draft)->commit().ok();
  }

  // A copy in which this file has this content.
  std::unique_ptr<SimFileSystem> with(const std::string& path, const std::string& content) const {
    auto copy = files_.after_crash([](std::size_t) { return 1.0; });
    EXPECT_TRUE(copy->remove_file(path).ok());
    auto file = copy->create(path, {});
    EXPECT_TRUE(file.ok() && (*file)->write(0, base::bytes_of(content)).ok());
    return copy;
  }

  // What verify says, and that whoever loads gets the truth or an error.
  bool verifies(base::FileSystem& files, const std::string& what) const {
    const auto report = verify_checkpoint(files, kNewPath);
    const bool good = report.ok() && report.value().good();
    std::vector<std::byte> got(truth_.size());
    auto reader = CheckpointReader::open(files, kNewPath);
    const Status read = reader.ok() ? (*reader)->read("w", kWhole, got) : reader.status();
    if (read.ok()) {
      EXPECT_EQ(got, truth_) << what;
    }
    EXPECT_TRUE(read.ok() || !good)
        << what << ": verify finds nothing, load says " << read.message();
    if (!read.ok()) {
      EXPECT_EQ(read.message().find('\n'), std::string::npos) << what;
    }
    return good;
  }

  // An anchor is there or not; its note is for people, and no reader goes by it.
  void expect_that_changes_are_found(std::size_t files_read) const {
    EXPECT_TRUE(verifies(*files_.after_crash([](std::size_t) { return 1.0; }), "as it was saved"));
    std::map<std::string, std::size_t> unseen;  // by file
    for (const auto& [path, content] : read_) {
      for (std::size_t at = 0; at < content.size(); ++at) {
        for (const unsigned bits : {1U << at % 8, 0xFFU}) {
          std::string changed = content;
          changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ bits);
          const auto files = with(path, changed);
          unseen[path] += verifies(*files, fmt::format("{} byte {}", path, at)) ? 1U : 0U;
        }
      }
    }
    for (const auto& [path, count] : unseen) {
      EXPECT_EQ(count > 0, path.ends_with("/ANCHOR")) << path << ": " << count;
    }
    EXPECT_EQ(unseen.size(), files_read);
  }

  void expect_that_cuts_are_found() const {
    for (const auto& [path, content] : read_) {
      for (std::size_t bytes = 0; bytes < content.size(); ++bytes) {
        const std::string what = fmt::format("{} cut at {}", path, bytes);
        const auto files = with(path, content.substr(0, bytes));
        EXPECT_EQ(verifies(*files, what), path.ends_with("/ANCHOR")) << what;
        EXPECT_TRUE(is_anchor(*files, kNewPath)) << "even an empty one keeps it";
      }
      EXPECT_EQ(verifies(*with(path, content + "x"), path), path.ends_with("/ANCHOR"));
    }
  }

  SimFileSystem files_;
  std::map<std::string, std::string> read_;  // by whoever reads the newest
  std::vector<std::byte> truth_ = values_of(kWhole);
};

class EveryByteOfADelta : public EveryByte {
 protected:
  EveryByteOfADelta() : EveryByte(true) {}
};

TEST_F(EveryByte, ChangedInAnyWayIsFoundOrHarmless) {
  expect_that_changes_are_found(4);  // the manifest, two shards and the anchor
}

TEST_F(EveryByte, CutAtAnyLengthIsFound) {
  expect_that_cuts_are_found();
}

TEST_F(EveryByteOfADelta, ChangedInAnyWayIsFoundOrHarmless) {
  expect_that_changes_are_found(7);  // the same, and its base's manifest and shards
}

TEST_F(EveryByteOfADelta, CutAtAnyLengthIsFound) {
  expect_that_cuts_are_found();
}

// LATEST is for people and scripts: it leads to a checkpoint of this folder that exists, or is
// refused. Restore does not go by it.
TEST_F(EveryByte, LatestLeadsToACheckpointOrNowhere) {
  const std::string path = "/ck/LATEST";
  const std::string content = files_.contents().at(path);
  std::vector<std::string> changes;
  for (std::size_t at = 0; at < content.size(); ++at) {
    changes.push_back(content.substr(0, at));
    for (const unsigned bits : {1U, 2U, 4U, 8U, 16U, 32U, 64U, 128U}) {
      changes.push_back(content);
      changes.back()[at] = static_cast<char>(static_cast<unsigned char>(content[at]) ^ bits);
    }
  }
  for (const char* text :
       {"..", "/ck/step-00000001-000001", "step-00000001-000001/../..", "../ck"}) {
    changes.emplace_back(text);
  }
  changes.push_back(std::string(100'000, 'x'));
  changes.push_back(std::string("step-00000001-000001\0", 21));
  for (const std::string& changed : changes) {
    const auto files = with(path, changed);
    std::vector<std::string> passed;
    const auto found = find_checkpoint(*files, path, passed);
    if (found.ok()) {
      EXPECT_TRUE(CheckpointName::parse(last_name_of(found.value()))) << found.value();
      EXPECT_EQ(base::folder_of(found.value()), kFolder) << found.value();
      const bool there = found.value() == kOldPath || found.value() == kNewPath;
      EXPECT_EQ(CheckpointReader::open(*files, found.value()).ok(), there) << found.value();
    }
    EXPECT_EQ(find_checkpoint(*files, kFolder, passed).value(), kNewPath) << "the folder's newest";
  }
}

}  // namespace
}  // namespace headway::checkpoint
