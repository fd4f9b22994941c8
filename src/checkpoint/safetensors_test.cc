#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include "checkpoint/json_depth.h"

namespace headway::checkpoint {
namespace {

std::string head_of(const std::string& json) {
  std::string head(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) head[i] = static_cast<char>(json.size() >> (8 * i) & 0xff);
  return head + json;
}

TEST(Safetensors, ThereAndBack) {
  const std::vector<Piece> pieces = {{"mask", DType::boolean, {3}, {0}},
                                     {"emb.weight", DType::f32, {2, 4}, {6, 0}},
                                     {"step", DType::i64, {}, {}},
                                     {"none", DType::bf16, {0, 7}, {0, 0}}};
  const auto plan = plan_safetensors(pieces, 4096);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan.value().head.size(), 4096U);
  EXPECT_EQ(plan.value().header.file_bytes, 4096U + 8 + 32 + 3);
  const auto read =
      parse_safetensors(plan.value().head, plan.value().header.file_bytes, "x.safetensors");
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read.value().pieces.size(), 4U);
  EXPECT_EQ(read.value().pieces[2].piece.name, "step");
  EXPECT_EQ(read.value().pieces[3].piece.name, "mask") << "an odd size comes last";
  const StoredPiece& table = read.value().pieces[1];
  EXPECT_EQ(table.begin, 4096U) << "nothing is before it but one without elements";
  EXPECT_EQ(table.piece.name, "emb.weight");
  EXPECT_EQ(table.piece.offsets, (std::vector<std::uint64_t>{6, 0}));
  EXPECT_EQ(table.end - table.begin, 32U);
  EXPECT_EQ(read.value().metadata.at("format"), "pt");
}

TEST(Safetensors, WhatCannotBeStored) {
  EXPECT_FALSE(plan_safetensors({{"a", DType::u8, {1}, {0}}, {"a", DType::u8, {1}, {0}}}, 8).ok());
  EXPECT_FALSE(plan_safetensors({{"", DType::u8, {1}, {0}}}, 8).ok());
  EXPECT_FALSE(plan_safetensors({{"__metadata__", DType::u8, {1}, {0}}}, 8).ok());
  EXPECT_FALSE(plan_safetensors({{"\xff", DType::u8, {1}, {0}}}, 8).ok()) << "no UTF-8";
  EXPECT_FALSE(plan_safetensors({{"a", DType::u8, {1}, {}}}, 8).ok());
  EXPECT_FALSE(plan_safetensors({{"a", DType::f64, {1ULL << 61, 2}, {0, 0}}}, 8).ok());
}

TEST(Safetensors, DepthIsToldBeforeParsing) {
  EXPECT_FALSE(nests_deeper(R"({"[[[[": ["{{{\"{{{", [{}], {}]})", 4));
  EXPECT_TRUE(nests_deeper(R"({"a": [[{}]]})", 3));
  EXPECT_FALSE(nests_deeper("[],[],[],[],[]", 1));
  EXPECT_FALSE(nests_deeper("\"\\", 1)) << "it ends in the middle of a text";
  const std::string deep = head_of("{\"a\":" + std::string(1'000'000, '['));
  EXPECT_NE(parse_safetensors(deep, deep.size(), "x").status().message().find("too deep"),
            std::string::npos);
}

TEST(Safetensors, WhatIsNoGoodFile) {
  const auto read = [](const std::string& json, std::uint64_t data) {
    const std::string head = head_of(json);
    return parse_safetensors(head, head.size() + data, "x").ok();
  };
  const std::string good = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";
  EXPECT_TRUE(read(good, 4));
  EXPECT_TRUE(read("{}", 0));
  EXPECT_FALSE(read(good, 5)) << "bytes behind";
  EXPECT_FALSE(read(good, 3)) << "bytes missing";
  for (
      const char* bad : {
          "[]",
          "{",
          R"({"a":1})",
          R"({"a":{"dtype":"U8","shape":[4]}})",
          R"({"a":{"dtype":"X8","shape":[4],"data_offsets":[0,4]}})",
          R"({"a":{"dtype":"U8","shape":[5],"data_offsets":[0,4]}})",
          R"({"a":{"dtype":"U8","shape":[-4],"data_offsets":[0,4]}})",
          R"({"a":{"dtype":"U8","shape":[4.0],"data_offsets":[0,4]}})",
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})",
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4,8]}})",
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[9223372036854775808,9223372036854775812]}})",
          R"({"a":{"dtype":"U8","shape":[4294967296,4294967296,4],"data_offsets":[0,4]}})",
          R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})",
          R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
          R"({"__metadata__":{"x":1},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
          R"({"__metadata__":{"DCP_SHARDING_INFO":"{\"a\":{\"saved_offsets\":[0,0]}}"},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
      }) {
    EXPECT_FALSE(read(bad, 4)) << bad;
  }
  EXPECT_FALSE(safetensors_head_bytes(std::string(8, '\xff'), 100, "x").ok());
  EXPECT_FALSE(safetensors_head_bytes("1234567", 100, "x").ok());
  EXPECT_FALSE(safetensors_head_bytes(head_of(std::string(200, ' ')).substr(0, 8), 100, "x").ok());
}

}  // namespace
}  // namespace headway::checkpoint
