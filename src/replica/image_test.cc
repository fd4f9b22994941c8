#include "replica/image.h"

#include <gtest/gtest.h>

namespace headway::replica {
namespace {

using checkpoint::DType;

TEST(Image, OwnPiecesFirstAndTheRestBehindThem) {
  const std::vector<ImagePiece> pieces = {{{"a", DType::f32, {1024}, {0}}, false},
                                          {{"b", DType::u8, {3}, {0}}, true},
                                          {{"c", DType::f32, {2048}, {0}}, true}};
  const auto plan = plan_image(pieces);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const ImagePlan& image = plan.value();
  EXPECT_EQ(image.own.range, (Range{0, 4096 + 8192 + 3}));
  EXPECT_EQ(image.rest.range.begin % image_alignment, 0U);
  EXPECT_EQ(image.places[2], (Range{4096, 4096 + 8192}));
  EXPECT_EQ(image.places[1].begin, image.places[2].end);
  EXPECT_EQ(image.places[0].begin, image.rest.range.begin + 4096);
  EXPECT_EQ(image.bytes, image.places[0].end);
  const auto header = checkpoint::parse_safetensors(image.own.plan.head, image.own.range.end, "x");
  EXPECT_TRUE(header.ok()) << header.status().message();
}

TEST(Image, TheHashTellsLayoutsApart) {
  const auto hash = [](DType dtype, bool own) {
    return plan_image({{{"a", dtype, {4}, {0}}, own}}).value().layout_hash;
  };
  EXPECT_EQ(hash(DType::f32, true), hash(DType::f32, true));
  EXPECT_NE(hash(DType::f32, true), hash(DType::i32, true));
  EXPECT_NE(hash(DType::f32, true), hash(DType::f32, false));
}

TEST(Image, OneNameInBothPartsIsRefused) {
  const auto plan =
      plan_image({{{"a", DType::u8, {1}, {0}}, true}, {{"a", DType::u8, {1}, {0}}, false}});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().message(), "two tensors are called a");
}

TEST(Image, ChunksBeginAnewInTheSecondPart) {
  const Range own{0, chunk_bytes + 5};
  const Range rest{chunk_bytes + 4096, chunk_bytes + 4100};
  EXPECT_EQ(chunks_of(own, rest),
            (std::vector<Range>{{0, chunk_bytes}, {chunk_bytes, own.end}, rest}));
}

}  // namespace
}  // namespace headway::replica
