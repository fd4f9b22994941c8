#include "cache/archive.h"

#include <cstring>

#include "cache/archive_writer.h"
#include "cache/test_cache.h"

namespace headway::cache {
namespace {

using base::SimFileSystem;

// Opens, verifies and reads everything; the first error.
base::Status read_whole(base::FileSystem& files, const std::string& path) {
  auto archive = Archive::open(files, path);
  if (!archive.ok()) return archive.status();
  return (*archive)->verify(1, true);
}

struct Small {
  Small() {
    write_tree(files, "/c", small_tree());
    EXPECT_TRUE(pack_tree(files, "/c", "/x.hwc", test_binding(), &key.value()).ok());
    bytes = files.contents().at("/x.hwc");
  }
  // The same file with other bytes.
  base::Status read(const std::string& content) {
    (void)files.remove_file("/y.hwc");
    auto file = files.create("/y.hwc", {});
    EXPECT_TRUE(file.ok() && (*file)->write(0, base::bytes_of(content)).ok());
    return read_whole(files, "/y.hwc");
  }
  SimFileSystem files;
  base::Result<SigningKey> key = SigningKey::make();
  std::string bytes;
};

TEST(Archive, RoundTrip) {
  Small small;
  const auto archive = open_archive(small.files, "/x.hwc");
  ASSERT_NE(archive, nullptr);
  Tree expected = small_tree();
  expected["triton/0/KEY/__grp__kernel.json"] =
      "{\"child_paths\": {\"kernel.cubin\": \"[REPLACE]/kernel.cubin\"}}";
  EXPECT_EQ(tree_of(*archive), expected);
  EXPECT_EQ(archive->front().signer, small.key->public_key());
  EXPECT_EQ(to_text(archive->binding()), to_text(test_binding()));
  EXPECT_TRUE(archive->verify(1, true).ok());
}

TEST(Archive, EachContentOnce) {
  SimFileSystem files;
  const std::string content = code_like(100'000, 3);
  write_tree(files, "/c",
             {{"ab/c1.so", content}, {"ab/c2.so", content}, {"cd/c3.py", ""}, {"cd/c4.py", ""}});
  const auto packed = pack_tree(files, "/c", "/x.hwc", test_binding());
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  EXPECT_EQ(packed.value().entries, 4U);
  EXPECT_EQ(packed.value().contents, 2U);
  EXPECT_LT(packed.value().file_bytes, 40'000U);
  EXPECT_EQ(tree_of(*open_archive(files, "/x.hwc")), read_tree(files, "/c"));
}

TEST(Archive, OfNothing) {
  SimFileSystem files;
  write_tree(files, "/c", {});
  ASSERT_TRUE(pack_tree(files, "/c", "/x.hwc", test_binding()).ok());
  EXPECT_TRUE(open_archive(files, "/x.hwc")->index().entries.empty());
  write_tree(files, "/d", {{"ab/c.py", ""}});
  ASSERT_TRUE(pack_tree(files, "/d", "/y.hwc", test_binding()).ok());
  EXPECT_EQ(tree_of(*open_archive(files, "/y.hwc")), read_tree(files, "/d"));
}

TEST(Archive, OfSeveralBlocks) {
  SimFileSystem files;
  Tree tree;
  for (unsigned i = 0; i < 12; ++i) {
    tree["ab/c" + std::to_string(i) + ".so"] = code_like(1'500'000, i);
  }
  tree["cd/large.so"] = code_like(11'000'000, 99);
  tree["cd/ones.so"] = std::string(9'000'000, '\1');
  write_tree(files, "/c", tree);
  ASSERT_TRUE(pack_tree(files, "/c", "/x.hwc", test_binding()).ok());
  const auto archive = open_archive(files, "/x.hwc");
  EXPECT_GT(archive->segments().size(), 5U);
  EXPECT_GT(archive->index().blocks.size(), archive->segments().size());
  EXPECT_EQ(tree_of(*archive), tree);
  std::uint32_t next = 0;
  for (const Segment& segment : archive->segments()) {
    EXPECT_EQ(segment.first_content, next);
    next += segment.contents;
  }
  EXPECT_EQ(next, archive->index().contents.size());
}

TEST(Archive, TheSameBytesHoweverManyThreads) {
  SimFileSystem files;
  Tree tree;
  // Of real files, since a simulated file system has one thread.
  for (unsigned i = 0; i < 40; ++i) {
    tree["ab/c" + std::to_string(i) + ".so"] = code_like(700'000, i % 15);  // some twice
  }
  base::FileSystem& real = base::real_file_system();
  const std::string folder = testing::TempDir() + "/headway-archive-threads";
  std::filesystem::remove_all(folder);
  write_tree(real, folder, tree);
  const auto scan = scan_directory(real, folder, never_locked);
  ASSERT_TRUE(scan.ok());
  for (const std::size_t threads : {1U, 2U, 5U}) {
    const auto packed = pack_directory(real, folder, scan.value(), test_binding(), files,
                                       "/" + std::to_string(threads),
                                       {.threads = threads, .key = nullptr, .progress = {}});
    ASSERT_TRUE(packed.ok()) << packed.status().message();
    EXPECT_EQ(packed.value().contents, 15U);
  }
  EXPECT_EQ(files.contents()["/1"], files.contents()["/2"]);
  EXPECT_EQ(files.contents()["/1"], files.contents()["/5"]);
  std::filesystem::remove_all(folder);
}

TEST(Archive, CutOffAtEveryLength) {
  Small small;
  for (std::size_t bytes = 0; bytes < small.bytes.size(); ++bytes) {
    EXPECT_FALSE(small.read(small.bytes.substr(0, bytes)).ok()) << bytes;
  }
  EXPECT_FALSE(small.read(small.bytes + '\0').ok());
  EXPECT_TRUE(small.read(small.bytes).ok());
}

TEST(Archive, EveryBitOfEveryByteIsCovered) {
  Small small;
  // Unsigned too: there the seal is all there is.
  ASSERT_TRUE(pack_tree(small.files, "/c", "/u.hwc", test_binding()).ok());
  for (std::string good : {small.bytes, small.files.contents().at("/u.hwc")}) {
    for (std::size_t i = 0; i < good.size(); ++i) {
      for (const int bit : {0, 3, 7}) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
        const base::Status status = small.read(bad);
        EXPECT_FALSE(status.ok()) << "byte " << i << " bit " << bit;
        EXPECT_EQ(status.message().find('\n'), std::string::npos);
      }
    }
  }
}

TEST(Archive, OfTheVersionBefore) {
  Small small;
  // The seal covers the version: made again by who has no key.
  ASSERT_TRUE(pack_tree(small.files, "/c", "/u.hwc", test_binding()).ok());
  std::string older = small.files.contents().at("/u.hwc");
  older[8] = 1;
  HeadRecord head{};
  std::memcpy(&head, older.data(), sizeof head);
  base::Sha256Stream stream;
  const std::string_view view = older;
  stream.add(base::bytes_of(view.substr(0, sizeof head)));
  stream.add(base::bytes_of(
      view.substr(sizeof head + head.blocks_bytes, head.binding_bytes + head.index_bytes + 32)));
  const base::Sha256 seal = stream.finish();
  std::memcpy(older.data() + older.size() - 96, seal.data(), seal.size());
  EXPECT_TRUE(small.read(older).ok()) << small.read(older).message();
}

TEST(Archive, ABlockThatUnpacksToMoreThanItSays) {
  const std::string text(100'000, 'x');
  PackedBlock block = pack_block(base::bytes_of(text));
  for (const std::uint32_t less : {1U, 99'999U}) {
    BlockRecord record = block.record;
    record.raw_bytes -= less;
    std::vector<std::byte> into(record.raw_bytes);
    EXPECT_EQ(unpack_block(record, block.stored, into, "x").code(), base::Code::corrupt) << less;
  }
  block.record.raw_bytes += 1;
  std::vector<std::byte> into(block.record.raw_bytes);
  EXPECT_EQ(unpack_block(block.record, block.stored, into, "x").code(), base::Code::corrupt);
}

TEST(Archive, OfANewerVersion) {
  Small small;
  std::string newer = small.bytes;
  newer[8] = 3;
  const base::Status status = small.read(newer);
  EXPECT_EQ(status.code(), base::Code::unsupported);
  EXPECT_NE(status.message().find("take a newer one"), std::string::npos) << status.message();
  newer[8] = 0;
  EXPECT_EQ(small.read(newer).code(), base::Code::unsupported);
  newer = small.bytes;
  newer[12] = 1;  // a flag
  EXPECT_EQ(small.read(newer).code(), base::Code::unsupported);
}

TEST(Trust, OnlyOfThoseWhoAreTrusted) {
  Small small;
  const Front front = open_archive(small.files, "/x.hwc")->front();
  const auto other = SigningKey::make();
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE(check_trust(front, {{small.key->public_key()}, false}, "x").ok());
  EXPECT_FALSE(check_trust(front, {{other.value().public_key()}, false}, "x").ok());
  EXPECT_FALSE(check_trust(front, {}, "x").ok());
  EXPECT_TRUE(check_trust(front, {{}, true}, "x").ok());
  Front unsigned_one = front;
  unsigned_one.signer.reset();
  EXPECT_FALSE(check_trust(unsigned_one, {{small.key->public_key()}, false}, "x").ok());
  EXPECT_TRUE(check_trust(unsigned_one, {{}, true}, "x").ok());
}

TEST(Trust, ARefusalOffersWhatThereIs) {
  Small small;
  const Front signed_one = open_archive(small.files, "/x.hwc")->front();
  Front unsigned_one = signed_one;
  unsigned_one.signer.reset();
  Trust trust;
  trust.place = "a .pem file in /t";
  EXPECT_TRUE(check_trust(signed_one, trust, "x").message().ends_with(") into a .pem file in /t"));
  EXPECT_EQ(check_trust(unsigned_one, trust, "x").message().find("--unsigned"), std::string::npos);
  trust.offers_unsigned = true;
  for (const Front& front : {signed_one, unsigned_one}) {
    EXPECT_TRUE(check_trust(front, trust, "x").message().ends_with(", or say --unsigned"));
  }
}

TEST(Trust, ASignatureThatWasMovedDoesNotCount) {
  Small small;
  write_tree(small.files, "/d", {{"ab/c.py", "evil"}});
  ASSERT_TRUE(pack_tree(small.files, "/d", "/e.hwc", test_binding()).ok());
  const std::string evil = small.files.contents().at("/e.hwc");
  // Key, digest, signature: the whole seal, and its parts.
  for (const auto& [from, bytes] : {std::pair(128, 128), {128, 32}, {64, 64}, {96, 96}}) {
    std::string moved = evil;
    const auto at = evil.size() - static_cast<std::size_t>(from);
    const auto count = static_cast<std::size_t>(bytes);
    moved.replace(at, count,
                  small.bytes.substr(small.bytes.size() - static_cast<std::size_t>(from), count));
    EXPECT_FALSE(small.read(moved).ok()) << from;
  }
}

TEST(Keys, AsFiles) {
  const auto key = SigningKey::make();
  ASSERT_TRUE(key.ok());
  const auto again = SigningKey::parse(key.value().private_pem(), "p");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value().public_key(), key.value().public_key());
  const std::string pem = public_pem(key.value().public_key());
  const auto keys = parse_public_keys(pem + "a comment\n" + pem, "p");
  ASSERT_TRUE(keys.ok());
  EXPECT_EQ(keys.value().size(), 2U);
  EXPECT_FALSE(parse_public_keys(key.value().private_pem(), "p").ok());
  EXPECT_FALSE(parse_public_keys("", "p").ok());
  EXPECT_FALSE(SigningKey::parse(pem, "p").ok());
}

}  // namespace
}  // namespace headway::cache
