#include "checkpoint/manifest.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"

namespace headway::checkpoint {
namespace {

Manifest example() {
  Manifest manifest;
  manifest.step = 100;
  manifest.data = 6400;
  manifest.world_size = 2;
  manifest.job = "ctr \"v2\"";
  manifest.attempt = 65537;
  manifest.time_ns = 1794825783353567982;
  manifest.files = {{"shard-00000.safetensors", 10'000, 4096, {1, 2, 0xffffffff}, 0},
                    {"shard-00001.safetensors", 0, 4096, {}, 1}};
  return manifest;
}

// As somebody with an editor and the right checksum would leave it.
std::string sealed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  text.resize(text.rfind(",\n\"crc32c\""));
  char seal[16];
  std::snprintf(seal, sizeof(seal), "%08x", base::crc32c(text.data(), text.size()));
  return text + ",\n\"crc32c\":\"" + seal + "\"}\n";
}

TEST(Manifest, ThereAndBack) {
  const Manifest before = example();
  const auto after = parse_manifest(to_text(before), "m");
  ASSERT_TRUE(after.ok()) << after.status().message();
  EXPECT_EQ(to_text(after.value()), to_text(before));
  EXPECT_EQ(after.value().job, before.job);
  EXPECT_EQ(after.value().files[0].crc32c, before.files[0].crc32c);
}

TEST(Manifest, NoByteCanChangeAndNoneCanBeMissing) {
  const std::string good = to_text(example());
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      EXPECT_FALSE(parse_manifest(bad, "m").ok()) << "byte " << i << " bit " << bit;
    }
    EXPECT_FALSE(parse_manifest(good.substr(0, i), "m").ok()) << i;
  }
}

TEST(Manifest, ADeltaIsOfAVersionThatOlderReadersRefuse) {
  Manifest delta = example();
  delta.base = "step-00000090-000006";
  const std::string text = to_text(delta);
  EXPECT_NE(text.find("\"version\":2"), std::string::npos);
  const auto parsed = parse_manifest(text, "m");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed.value().base, delta.base);
  for (const std::string to : {"\"../other\"", "\"\"", "7"}) {
    EXPECT_FALSE(parse_manifest(sealed(text, "\"step-00000090-000006\"", to), "m").ok()) << to;
  }
}

TEST(Manifest, WhatMakesNoSenseIsRefused) {
  const std::string good = to_text(example());
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"shard-00000.safetensors", "../../etc/passwd"},
           {"shard-00000.safetensors", "/etc/passwd"},
           {"shard-00000.safetensors", ".hidden"},
           {"shard-00000.safetensors", "MANIFEST.json"},
           {"shard-00000.safetensors", "shard-00001.safetensors"},
           {"\"bytes\":10000", "\"bytes\":9223372036854775808"},
           {"\"bytes\":10000", "\"bytes\":-1"},
           {"\"bytes\":10000", "\"bytes\":1e4"},
           {"\"chunk_bytes\":4096", "\"chunk_bytes\":0"},
           {"\"crc32c\":[1,2,4294967295]", "\"crc32c\":[1,2]"},
           {"\"crc32c\":[1,2,4294967295]", "\"crc32c\":[1,2,4294967296]"},
           {"\"rank\":1", "\"rank\":2"},
           {"\"world_size\":2", "\"world_size\":0"},
           {"\"step\":100", "\"step\":\"100\""},
           {"headway-checkpoint", "headway-checkpoin"},
           {"\"headway-checkpoint\"", "82"},
           {"\"job\":\"ctr", "\"jot\":\"ctr"},
           {"\"version\":1", "\"version\":0"},
       }) {
    const auto parsed = parse_manifest(sealed(good, from, to), "the/path");
    ASSERT_FALSE(parsed.ok()) << from << " → " << to;
    EXPECT_TRUE(parsed.status().message().starts_with("the/path: ")) << parsed.status().message();
  }
  EXPECT_TRUE(parse_manifest(sealed(good, "\"step\":100", "\"step\":101"), "m").ok());
  const auto newer = parse_manifest(sealed(good, "\"version\":1", "\"version\":3"), "m");
  EXPECT_EQ(newer.status().code(), base::Code::unsupported);
}

}  // namespace
}  // namespace headway::checkpoint
