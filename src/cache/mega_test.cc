#include "cache/mega.h"

#include "cache/test_cache.h"

namespace headway::cache {
namespace {

using base::SimFileSystem;

// As torch 2.13 writes it: AppendingByteSerializer with one chunk ("pgo", [("k:None:", b"state")]).
constexpr std::string_view kTorch =
    "c2c33b0800000000000000010000000000000004634764760000000000000001000000000000000c617a704f623235"
    "6c4f673d3d00000000000000057374617465";

std::vector<MegaChunk> some_chunks() {
  return {{"inductor", {{"fabc", "graph one"}, {"fabc", "graph two"}, {"fxyz", "graph one"}}},
          {"aot_autograd", {{"akey", "joint"}}},
          {"pgo", {{"job:0:", "state"}, {"my job:None:tag", "other"}}},
          {"autotune", {{"ab/0123.best_config", "{}"}}},
          {"precompile", {{"00ff", "entry"}}}};
}

std::string why_not(std::string_view blob) {
  const auto parsed = parse_blob(blob, "b");
  return parsed.ok() ? "" : parsed.status().message();
}

TEST(MegaBlob, WritesWhatTorchWrites) {
  const std::string blob = to_blob({{"pgo", {{"k:None:", "state"}}}});
  EXPECT_EQ(base::hex(std::span(reinterpret_cast<const std::uint8_t*>(blob.data()), blob.size())),
            kTorch);
}

TEST(MegaBlob, RoundTripIsExact) {
  const std::string blob = to_blob(some_chunks());
  const auto parsed = parse_blob(blob, "b");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(to_blob(parsed.value()), blob);
}

TEST(MegaBlob, ChunksOfOneTypeAreUnited) {
  const std::string blob =
      to_blob({{"pgo", {{"a", "1"}}}, {"inductor", {{"fab", "2"}}}, {"pgo", {{"b", "3"}}}});
  const auto parsed = parse_blob(blob, "b");
  ASSERT_TRUE(parsed.ok());
  ASSERT_EQ(parsed.value().size(), 2U);
  EXPECT_EQ(parsed.value()[0].artifacts.size(), 2U);
  EXPECT_EQ(parsed.value()[0].artifacts[1].content, "3");
}

TEST(MegaBlob, DamagedOrHostile) {
  const std::string blob = to_blob(some_chunks());
  for (std::size_t bytes = 0; bytes < blob.size(); ++bytes) {
    EXPECT_NE(why_not(std::string_view(blob).substr(0, bytes)), "") << bytes;
  }
  for (std::size_t i = 0; i < blob.size(); ++i) {
    std::string bad = blob;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_NE(why_not(bad), "") << i;
  }
}

// A blob whose checksum fits whatever stands behind it.
std::string with_checksum(std::string blob) {
  std::uint32_t crc = ~0U;
  for (std::size_t i = 4; i < blob.size(); ++i) {
    crc ^= static_cast<unsigned char>(blob[i]);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320U : 0);
  }
  for (std::size_t i = 0; i < 4; ++i) blob[i] = static_cast<char>(~crc >> (24 - 8 * i) & 0xFF);
  return blob;
}

TEST(MegaBlob, LengthsThatOverflow) {
  // The content's length is the last number in front of it.
  for (const std::uint64_t length : {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{6}}) {
    MegaChunk chunk{"pgo", {{"k", "12345"}}};
    std::string blob = to_blob({chunk});
    for (std::size_t at = blob.size() - 13, i = 0; i < 8; ++i) {
      blob[at + i] = static_cast<char>(length >> (56 - 8 * i) & 0xFF);
    }
    EXPECT_EQ(why_not(with_checksum(to_blob({chunk}))), "");
    EXPECT_NE(why_not(with_checksum(blob)).find("an artifact"), std::string::npos) << length;
  }
}

TEST(MegaBlob, CountsThatOverflow) {
  std::string blob = to_blob({{"pgo", {{"k", "12345"}}}});
  for (std::size_t i = 0; i < 8; ++i) blob[24 + i] = '\xFF';  // behind the type "cGdv"
  EXPECT_NE(why_not(with_checksum(blob)).find("a chunk's length"), std::string::npos);
}

TEST(Mega, KeysThatLeadElsewhere) {
  const auto place = [](const char* type, const char* key) {
    return mega_place(type, {key, "x"}).has_value();
  };
  EXPECT_TRUE(place("autotune", "ab/0123.best_config"));
  for (const char* key : {"../x.best_config", "/etc/x.best_config", "ab/../../x.best_config",
                          "ab/c.py", "ab/c.so", "fxgraph/ab/k/h", ""}) {
    EXPECT_FALSE(place("autotune", key)) << key;
  }
  EXPECT_TRUE(place("precompile", "00ff"));
  EXPECT_FALSE(place("precompile", "../.."));
  EXPECT_FALSE(place("precompile", "a/b"));
  EXPECT_TRUE(place("pgo", "a/../b:0:"));  // torch makes "_" of the slashes, too
  EXPECT_FALSE(place("pgo", "a\n:0:"));
  EXPECT_FALSE(place("inductor", "f"));
  EXPECT_FALSE(place("inductor", "f/../x"));
  EXPECT_FALSE(place("unheard_of", "x"));
}

TEST(Mega, ThroughAnArchiveAndBackIsExact) {
  SimFileSystem files;
  const std::string blob = to_blob(some_chunks());
  const auto imported = import_mega(blob, "b", test_binding(), nullptr, files, "/x.hwc");
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_EQ(imported.value().entries, 8U);
  EXPECT_EQ(imported.value().left_out, 0U);
  const auto archive = open_archive(files, "/x.hwc");
  Tree tree = tree_of(*archive);
  EXPECT_EQ(tree["dynamo/code_state_my job_None_tag.pkl"], "other");
  EXPECT_EQ(tree[graph_path("fabc", "graph two")], "graph two");
  EXPECT_EQ(tree["dynamo/00ff/entry"], "entry");
  const auto exported = export_mega(*archive);
  ASSERT_TRUE(exported.ok()) << exported.status().message();
  EXPECT_EQ(exported.value().blob, blob);
}

TEST(Mega, TheLastStateOfAJobCounts) {
  SimFileSystem files;
  const std::string blob = to_blob(
      {{"pgo", {{"j:0:", "first"}, {"k:0:", "k"}, {"j:0:", "last"}}}, {"new", {{"a", "b"}}}});
  const auto imported = import_mega(blob, "b", test_binding(), nullptr, files, "/x.hwc");
  ASSERT_TRUE(imported.ok());
  EXPECT_EQ(imported.value().repeated, 1U);
  EXPECT_EQ(imported.value().left_out, 1U);
  Tree tree = tree_of(*open_archive(files, "/x.hwc"));
  EXPECT_EQ(tree["dynamo/code_state_j_0_.pkl"], "last");
}

TEST(Mega, OfAPackedDirectory) {
  SimFileSystem files;
  write_tree(files, "/c", small_tree());
  ASSERT_TRUE(pack_tree(files, "/c", "/x.hwc", test_binding()).ok());
  const auto exported = export_mega(*open_archive(files, "/x.hwc"));
  ASSERT_TRUE(exported.ok());
  EXPECT_EQ(exported.value().artifacts, 5U);
  EXPECT_EQ(exported.value().left_out, small_tree().size() - 5);
  const auto chunks = parse_blob(exported.value().blob, "b");
  ASSERT_TRUE(chunks.ok());
  for (const MegaChunk& chunk : chunks.value()) {
    for (const MegaArtifact& artifact : chunk.artifacts) {
      const auto place = mega_place(chunk.type, artifact);
      ASSERT_TRUE(place);
      EXPECT_EQ(small_tree()[place->path], artifact.content) << place->path;
    }
  }
}

}  // namespace
}  // namespace headway::cache
