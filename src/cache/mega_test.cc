#include "cache/mega.h"

#include "cache/archive_writer.h"
#include "cache/merge.h"
#include "cache/test_cache.h"
#include "cache/unpack.h"

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

TEST(MegaBlob, ChunksOfOneTypeStayApart) {
  const std::string blob =
      to_blob({{"pgo", {{"a", "1"}}}, {"inductor", {}}, {"pgo", {{"b", "3"}}}});
  const auto parsed = parse_blob(blob, "b");
  ASSERT_TRUE(parsed.ok());
  ASSERT_EQ(parsed.value().size(), 3U);
  EXPECT_EQ(parsed.value()[2].artifacts[0].content, "3");
  EXPECT_EQ(to_blob(parsed.value()), blob);
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

// What a process writes that saves three times, with a type that nobody knows and a key that leads
// elsewhere.
std::vector<MegaChunk> several_saves() {
  return {{"inductor", {{"fabc", "graph"}}},
          {"pgo", {{"j:0:", "first"}, {"k:0:", "k"}, {"j:0:", "second"}}},
          {"new", {{"a", "b"}}},
          {"inductor", {{"fabc", "graph"}, {"fxyz", "other"}}},
          {"autotune", {{"../../evil", "x"}}},
          {"pgo", {{"j:0:", "first"}, {"j:0:", "last"}}}};
}

TEST(Mega, EveryStateOfAJobIsKeptInOrder) {
  SimFileSystem files;
  const std::string blob = to_blob(several_saves());
  const auto imported = import_mega(blob, "b", test_binding(), nullptr, files, "/x.hwc");
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_EQ(imported.value().entries, 4U);
  EXPECT_EQ(imported.value().repeated, 4U);
  EXPECT_EQ(imported.value().left_out, 2U);
  const auto archive = open_archive(files, "/x.hwc");
  EXPECT_EQ(tree_of(*archive)["dynamo/code_state_j_0_.pkl"], "last");
  const auto exact = export_mega(*archive);
  ASSERT_TRUE(exact.ok()) << exact.status().message();
  EXPECT_TRUE(exact.value().exact);
  EXPECT_EQ(exact.value().repeated_types, 2U);
  EXPECT_EQ(exact.value().blob, blob);
  const auto united = export_mega(*archive, true);
  ASSERT_TRUE(united.ok());
  EXPECT_EQ(united.value().blob, to_blob({{"inductor", {{"fabc", "graph"}, {"fxyz", "other"}}},
                                          {"pgo", {{"j:0:", "last"}, {"k:0:", "k"}}}}));
}

TEST(Mega, NoFileIsMadeOfWhatIsKeptForTheBlob) {
  SimFileSystem files;
  ASSERT_TRUE(
      import_mega(to_blob(several_saves()), "b", test_binding(), nullptr, files, "/x.hwc").ok());
  const auto archive = open_archive(files, "/x.hwc");
  const std::vector<const Archive*> archives = {archive.get()};
  for (const Target& target : targets_of(archives, unite(archives), {})) {
    EXPECT_NE(kind_of_path(target.path), Kind::blob) << target.path;
  }
  // Nor is what lies in a directory under such a name packed.
  const std::string path = order_path(base::sha256({}));
  write_tree(files, "/c", {{path, "evil"}, {"ab/c.py", "x"}});
  ASSERT_TRUE(pack_tree(files, "/c", "/y.hwc", test_binding()).ok());
  EXPECT_EQ(tree_of(*open_archive(files, "/y.hwc")).size(), 1U);
}

TEST(Mega, OfTwoBlobsAUnion) {
  SimFileSystem files;
  const std::string one = to_blob(several_saves()), two = to_blob({{"inductor", {{"fq1", "q"}}}});
  ASSERT_TRUE(import_mega(one, "b", test_binding(), nullptr, files, "/1.hwc").ok());
  ASSERT_TRUE(import_mega(two, "b", test_binding(), nullptr, files, "/2.hwc").ok());
  const auto first = open_archive(files, "/1.hwc"), second = open_archive(files, "/2.hwc");
  const std::vector<const Archive*> both = {first.get(), second.get()};
  ASSERT_TRUE(merge_archives(files, both, "/m.hwc", {}).ok());
  const auto exported = export_mega(*open_archive(files, "/m.hwc"));
  ASSERT_TRUE(exported.ok()) << exported.status().message();
  EXPECT_FALSE(exported.value().exact);
  EXPECT_EQ(exported.value().artifacts, 5U);
  // The same blob twice is one.
  const std::vector<const Archive*> twice = {first.get(), first.get()};
  ASSERT_TRUE(merge_archives(files, twice, "/t.hwc", {}).ok());
  EXPECT_EQ(export_mega(*open_archive(files, "/t.hwc")).value().blob, one);
}

TEST(Mega, AnOrderThatGivesAnotherBlobIsNotTaken) {
  SimFileSystem files;
  const std::string blob = to_blob(several_saves());
  ASSERT_TRUE(import_mega(blob, "b", test_binding(), nullptr, files, "/x.hwc").ok());
  const auto archive = open_archive(files, "/x.hwc");
  auto writer = ArchiveWriter::create(files, "/y.hwc");
  ASSERT_TRUE(writer.ok());
  for (const Segment& segment : archive->segments()) {
    ASSERT_TRUE((*writer)->append(*archive, segment).ok());
  }
  for (Entry entry : archive->index().entries) {
    if (entry.path.ends_with(order_suffix)) entry.path = order_path(base::sha256({}));
    ASSERT_TRUE((*writer)->add_entry(entry, archive->index().contents[entry.content].sha256).ok());
  }
  ASSERT_TRUE((*writer)->finish(test_binding(), nullptr).ok());
  EXPECT_EQ(export_mega(*open_archive(files, "/y.hwc")).status().code(), base::Code::corrupt);
  EXPECT_TRUE(export_mega(*open_archive(files, "/y.hwc"), true).ok());
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
