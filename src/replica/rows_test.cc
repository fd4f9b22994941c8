// Rows from the trainer's memory into a slot, and from there into an image: after any number of
// rounds the image is what a whole copy would have been, checksums and all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "base/temp_dir.h"
#include "checkpoint/delta.h"
#include "replica/apply.h"
#include "replica/changed_rows.h"
#include "replica/row_chain.h"
#include "replica/stage.h"

namespace headway::replica {
namespace {

using checkpoint::DType;

TEST(RowSet, HoldsWhatWasMarked) {
  RowSet set(130);
  set.mark(std::vector<std::int64_t>{0, 63, 64, 129, 130, -1, 63});
  set.mark(std::vector<std::int32_t>{5, -7});
  EXPECT_EQ(set.list(), (std::vector<std::int64_t>{0, 5, 63, 64, 129}));
  EXPECT_EQ(set.count(), 5U);
  set.mark_all();
  EXPECT_EQ(set.count(), 130U);
  EXPECT_EQ(set.list().back(), 129);
  set.clear();
  EXPECT_TRUE(set.list().empty());
}

TEST(ChangedRows, ASaveToTheDiskHasAllSinceTheLastOne) {
  ChangedRows rows(10);
  const auto mark = [&](std::int64_t row) { rows.mark(std::span<const std::int64_t>(&row, 1)); };
  mark(1);
  rows.sealed(false);
  mark(2);
  EXPECT_EQ(rows.due(false), std::vector<std::int64_t>{2});
  EXPECT_EQ(rows.due(true), (std::vector<std::int64_t>{1, 2}));
  rows.sealed(false);
  rows.sealed(true);
  EXPECT_TRUE(rows.due(true).empty());
  mark(3);
  EXPECT_EQ(rows.due(true), std::vector<std::int64_t>{3});
}

// A rank with two tables and a dense tensor, of odd sizes, that cross chunks.
class Rows : public testing::Test {
 protected:
  struct Tensor {
    checkpoint::Piece piece;
    std::vector<std::byte> memory;
    bool own;
    bool table;
  };
  void SetUp() override {
    tensors_.push_back({{"a", DType::f32, {70'001, 21}, {0, 0}}, {}, true, true});
    tensors_.push_back({{"b", DType::u8, {9'000, 1000}, {500, 24}}, {}, false, true});
    tensors_.push_back({{"dense", DType::u8, {5'000'003}, {0}}, {}, true, false});
    std::vector<ImagePiece> pieces;
    for (Tensor& tensor : tensors_) {
      tensor.memory.resize(*bytes_of_shape(tensor.piece.dtype, tensor.piece.shape));
      scramble(tensor.memory);
      pieces.push_back({tensor.piece, tensor.own});
    }
    stage_ = std::make_unique<Stage>(plan_image(pieces).value());
    image_ = make("image", stage_->plan().bytes);
    fill_whole(*image_, 1);
  }
  void scramble(std::span<std::byte> bytes) {
    for (auto& byte : bytes) byte = static_cast<std::byte>(random_());
  }
  std::shared_ptr<Slot> make(const std::string& name, std::uint64_t bytes) {
    return Slot::create(dir_.path() + "/" + name + std::to_string(++number_), bytes).value();
  }
  void fill_whole(Slot& slot, std::uint64_t sequence) {
    ASSERT_TRUE(slot.try_begin());
    std::vector<Source> sources;
    for (const Tensor& tensor : tensors_) sources.push_back({.at = tensor.memory.data()});
    stage_->fill(slot, sources, team_);
    seal(slot, stage_->plan(), sequence, 0);
  }
  void seal(Slot& slot, const ImagePlan& plan, std::uint64_t sequence, std::uint64_t since) {
    SlotFacts facts;
    facts.sequence = facts.step = sequence;
    facts.since = since;
    facts.own = plan.own.range;
    facts.rest = plan.rest.range;
    slot.seal(facts, false);
  }
  // Changes some rows and the dense tensor, and stages that.
  std::shared_ptr<Slot> change(std::uint64_t sequence, std::uint64_t since) {
    std::vector<ImagePiece> pieces;
    std::vector<std::vector<std::int64_t>> ids(tensors_.size()), whole(tensors_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      Tensor& tensor = tensors_[i];
      if (!tensor.table) {
        scramble(std::span(tensor.memory).subspan(0, 1000));
        pieces.push_back({tensor.piece, tensor.own});
        continue;
      }
      RowSet set(tensor.piece.shape[0]);
      for (int n = static_cast<int>(random_() % 300); n > 0; --n) {
        const std::int64_t row = static_cast<std::int64_t>(random_() % set.rows());
        set.mark(std::span<const std::int64_t>(&row, 1));
      }
      ids[i] = whole[i] = set.list();
      const std::uint64_t bytes = tensor.memory.size() / set.rows();
      for (const std::int64_t row : ids[i]) {
        scramble(std::span(tensor.memory).subspan(static_cast<std::uint64_t>(row) * bytes, bytes));
      }
      for (std::int64_t& id : whole[i]) id += static_cast<std::int64_t>(tensor.piece.offsets[0]);
      const auto two = checkpoint::row_pieces(tensor.piece, ids[i].size());
      pieces.push_back({two.ids, tensor.own});
      pieces.push_back({two.rows, tensor.own});
    }
    const Stage stage(plan_image(pieces).value());
    std::vector<Source> sources;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Tensor& tensor = tensors_[i];
      if (tensor.table) {
        sources.push_back({.at = reinterpret_cast<const std::byte*>(whole[i].data())});
        sources.push_back(
            {tensor.memory.data(), ids[i], tensor.memory.size() / tensor.piece.shape[0]});
        keep_.push_back(ids[i]);
        sources.back().rows = keep_.back();
      } else {
        sources.push_back({.at = tensor.memory.data()});
      }
    }
    auto slot = make("rows", stage.plan().bytes);
    EXPECT_TRUE(slot->try_begin());
    stage.fill(*slot, sources, team_);
    seal(*slot, stage.plan(), sequence, since);
    return slot;
  }
  void expect_current(std::uint64_t sequence) {
    const auto facts = image_->facts();
    ASSERT_TRUE(facts) << name_of(image_->state());
    EXPECT_EQ(facts->sequence, sequence);
    EXPECT_EQ(facts->since, 0U);
    EXPECT_TRUE(image_->verify(*facts, team_).ok());
    const auto wanted = make("wanted", stage_->plan().bytes);
    fill_whole(*wanted, sequence);
    EXPECT_TRUE(std::ranges::equal(wanted->image(), image_->image()));
    const auto chunks = chunks_of(facts->own, facts->rest).size();
    EXPECT_TRUE(
        std::ranges::equal(wanted->checksums().first(chunks), image_->checksums().first(chunks)));
  }

  const base::TempDir dir_;
  std::mt19937 random_{20261122};
  int number_ = 0;
  CopyTeam team_{2};
  std::vector<Tensor> tensors_;
  std::vector<std::vector<std::int64_t>> keep_;
  std::unique_ptr<Stage> stage_;
  std::shared_ptr<Slot> image_;
};

TEST_F(Rows, RoundAfterRoundTheImageIsWhatAWholeCopyWouldBe) {
  for (std::uint64_t sequence = 2; sequence < 8; ++sequence) {
    const auto rows = change(sequence, sequence - 1);
    const base::Status status = apply(*image_, *rows);
    ASSERT_TRUE(status.ok()) << status.message();
    expect_current(sequence);
  }
}

TEST_F(Rows, OneThatWasCutShortIsDoneAgain) {
  const auto rows = change(2, 1);
  const auto before = image_->facts();
  ASSERT_TRUE(image_->try_apply());
  // As a holder that died in the middle left it: half of the bytes new, checksums anything.
  const auto wanted = make("wanted", stage_->plan().bytes);
  fill_whole(*wanted, 2);
  std::memcpy(image_->image().data(), wanted->image().data(), stage_->plan().bytes / 2);
  scramble(std::as_writable_bytes(image_->checksums().first(2)));
  ASSERT_FALSE(image_->facts());
  ASSERT_EQ(image_->facts_before()->sequence, before->sequence);
  ASSERT_TRUE(apply(*image_, *rows).ok());
  expect_current(2);
}

TEST_F(Rows, WhatDoesNotComeNextOrIsDamagedChangesNothing) {
  const auto first = image_->facts();
  const auto late = change(5, 4);
  EXPECT_FALSE(apply(*image_, *late).ok());
  const auto rows = change(2, 1);
  rows->image()[rows->facts()->own.end - 1] ^= std::byte{1};
  const base::Status status = apply(*image_, *rows);
  EXPECT_NE(status.message().find("damaged between bytes"), std::string::npos) << status.message();
  EXPECT_EQ(image_->facts(), first);
  EXPECT_TRUE(image_->verify(*first, team_).ok());
}

TEST(RowChain, IsBoundedAndUnbroken) {
  const auto facts = [](std::uint64_t sequence, std::uint64_t saved, std::uint64_t attempt = 1,
                        std::uint64_t bytes = 1) {
    SlotFacts one;
    one.own = {0, bytes};
    one.sequence = sequence;
    one.saved = saved;
    one.attempt = attempt;
    return std::map<std::uint32_t, SlotFacts>{{0, one}};
  };
  RowChain chain;
  EXPECT_EQ(chain.base_for("/f", facts(2, 1)), "") << "nothing is on disk";
  chain.begin("/f", "whole", facts(1, 0, 1, 1000));
  EXPECT_EQ(chain.base_for("/f", facts(4, 1)), "whole") << "others were staged between them";
  EXPECT_EQ(chain.base_for("/f", facts(4, 3)), "") << "one before it did not get to the disk";
  EXPECT_EQ(chain.base_for("/g", facts(4, 1)), "");
  EXPECT_EQ(chain.base_for("/f", facts(4, 1, 2)), "") << "of another attempt";
  std::uint64_t sequence = 1;
  for (std::uint32_t i = 0; i < chain_max; ++i) {
    ASSERT_NE(chain.base_for("/f", facts(sequence + 1, sequence)), "") << i;
    EXPECT_EQ(chain.base_for("/f", facts(sequence + 1, sequence), 4).empty(), i >= 4) << i;
    chain.add("delta", facts(++sequence, 0));
  }
  EXPECT_EQ(chain.base_for("/f", facts(sequence + 1, sequence)), "") << "too many";
  chain.begin("/f", "whole", facts(50, 0, 1, 1000));
  chain.add("large", facts(51, 50, 1, 501));
  EXPECT_EQ(chain.base_for("/f", facts(52, 51)), "") << "too large";
}

}  // namespace
}  // namespace headway::replica
