#include "cache/index.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/file_system.h"

namespace headway::cache {
namespace {

base::Sha256 digest(int number) {
  return base::sha256(base::bytes_of(std::to_string(number)));
}

// Two contents in one block.
Index good_index() {
  Index index;
  index.blocks.push_back({digest(1), 80, 100});
  index.contents = {{digest(2), 60}, {digest(3), 40}};
  index.entries = {
      {.path = "ab/c1.py", .key = {}, .kind = Kind::source, .time_ns = 5, .content = 0},
      {.path = "ab/c2.so",
       .key = "k",
       .kind = Kind::library,
       .executable = true,
       .time_ns = 6,
       .content = 1}};
  return index;
}

std::string why_not(const Index& index) {
  const auto parsed = parse_index(to_bytes(index), "x");
  return parsed.ok() ? "" : parsed.status().message();
}

TEST(Index, RoundTrip) {
  const auto parsed = parse_index(to_bytes(good_index()), "x");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(to_bytes(parsed.value()), to_bytes(good_index()));
  EXPECT_TRUE(parsed.value().entries[1].executable);
  EXPECT_EQ(parsed.value().entries[1].key, "k");
}

TEST(Index, PathsThatLeadElsewhere) {
  for (const char* path : {"/etc/passwd",
                           "../x",
                           "ab/../../x",
                           "ab/..",
                           "ab//c.py",
                           "ab/",
                           "",
                           ".",
                           "ab/.c.py",
                           "ab/c\n.py",
                           "ab/c\x01.py",
                           "ab/c\x7f.py",
                           "ab/c\xc3\x28.py",
                           "ab/c\\d.py",
                           "locks/c.lock",
                           "ab/c.lock",
                           "ab/c.tmp",
                           "dynamo/code_state_../../x.pkl",
                           "fxgraph/ab/k/h/x",
                           "x.py",
                           "fxgraph/h",
                           "triton/x/KEY/f",
                           "ab/c d.py",
                           ".headway-lock",
                           "ABC/c.py",
                           "dynamo/code_state_\xe2\x80\xae.pkl"}) {
    Index index = good_index();
    index.entries[0].path = path;
    EXPECT_NE(why_not(index), "") << path;
  }
  Index index = good_index();
  index.entries[0].path = "ab/" + std::string(300, 'c');
  EXPECT_NE(why_not(index), "");
}

TEST(Index, PathsThatTorchHas) {
  for (const char* path :
       {"dynamo/code_state_my job_None_.pkl", "dynamo/code_state_größe_0_tag.pkl",
        "dynamo/code_state_mast_job_3_17_.pkl"}) {
    EXPECT_EQ(kind_of_path(path), Kind::pgo) << path;
  }
  EXPECT_EQ(kind_of_path("aotautograd/akey/hash"), Kind::aot_autograd);
  EXPECT_EQ(kind_of_path("2a/c2ax.main.cpp"), Kind::source);
  EXPECT_EQ(kind_of_path("2a/c2ax.main.so"), Kind::library);
  EXPECT_EQ(kind_of_path("triton/0/KEY=/__grp__k.json"), Kind::triton);
  EXPECT_EQ(kind_of_path("dynamo/ab12/entry"), Kind::precompile);
}

TEST(Index, NumbersThatDoNotAgree) {
  const auto expect_bad = [](auto change) {
    Index index = good_index();
    change(index);
    EXPECT_NE(why_not(index), "");
  };
  expect_bad(
      [](Index& i) { i.entries[1].path = i.entries[0].path, i.entries[1].kind = Kind::source; });
  expect_bad([](Index& i) { i.entries[1].kind = Kind::pgo; });
  expect_bad([](Index& i) { i.entries[1].content = 2; });
  expect_bad([](Index& i) { i.entries[1].content = 0; });       // nobody names the other one
  expect_bad([](Index& i) { i.contents[1] = i.contents[0]; });  // twice
  expect_bad([](Index& i) { i.contents[0].bytes = 61; });
  expect_bad([](Index& i) { i.contents[0].bytes = ~std::uint64_t{0} - 39; });  // overflows
  expect_bad([](Index& i) { i.contents[0].bytes = content_bytes_max + 1; });
  expect_bad([](Index& i) { i.blocks[0].raw_bytes = 99; });
  expect_bad([](Index& i) { i.blocks[0].raw_bytes = 0; });
  expect_bad([](Index& i) { i.blocks[0].stored_bytes = 0; });
  expect_bad([](Index& i) { i.blocks[0].stored_bytes = 101; });
  expect_bad([](Index& i) { i.blocks.push_back({digest(4), 10, 10}); });
  expect_bad([](Index& i) { i.blocks.clear(); });
  expect_bad([](Index& i) { i.entries[0].key = "a\nb"; });
}

TEST(Index, Bombs) {
  Index index = good_index();
  index.blocks[0] = {digest(1), 10, block_raw_bytes_max};
  index.contents[0].bytes = block_raw_bytes_max - 40;
  EXPECT_NE(why_not(index).find("grows too much"), std::string::npos);
  index.blocks[0] = {digest(1), 10'000'000, block_raw_bytes_max + 1};
  EXPECT_NE(why_not(index), "");
}

TEST(Index, MoreThanAnArchiveMayHold) {
  Index index;
  const auto add = [&](int number, std::uint64_t bytes) {
    index.contents.push_back({digest(number), bytes});
    index.entries.push_back({.path = "ab/c" + std::to_string(number) + ".py",
                             .key = {},
                             .kind = Kind::source,
                             .content = static_cast<std::uint32_t>(number)});
  };
  for (int i = 0; i < 129; ++i) add(i, content_bytes_max);
  EXPECT_NE(why_not(index).find("the size of its contents"), std::string::npos) << why_not(index);
  index = {};
  add(0, content_bytes_max + 1);
  EXPECT_NE(why_not(index).find("a content's size"), std::string::npos) << why_not(index);
  index = {};
  for (int i = 0; i < 4097; ++i) {
    index.blocks.push_back({digest(i), block_raw_bytes_max, block_raw_bytes_max});
  }
  EXPECT_NE(why_not(index).find("the size of its blocks"), std::string::npos) << why_not(index);
}

TEST(Index, CountsThatAreTooLarge) {
  std::string bytes = to_bytes(good_index());
  for (const std::size_t at : {0U, 4U, 8U, 12U}) {
    std::string bad = bytes;
    const std::uint32_t huge = 0xFFFFFFFF;
    std::memcpy(bad.data() + at, &huge, sizeof huge);
    EXPECT_FALSE(parse_index(bad, "x").ok()) << at;
  }
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_FALSE(parse_index(std::string_view(bytes).substr(0, cut), "x").ok()) << cut;
  }
}

TEST(Index, IdentityIsOfWhatTheEntriesSay) {
  const Index index = good_index();
  Index other = index;
  std::swap(other.entries[0], other.entries[1]);
  other.entries[0].time_ns = 99;
  EXPECT_EQ(content_identity(other), content_identity(index));
  other.entries[0].executable = !other.entries[0].executable;
  EXPECT_NE(content_identity(other), content_identity(index));
}

TEST(Kind, NameThatTorchGivesAContent) {
  // base64.b32encode(hashlib.sha256(b"abc").digest())[:51].decode().lower()
  EXPECT_EQ(content_name(base::sha256(base::bytes_of("abc"))),
            "xj4bnp4pahh6uqkbidpf3lrceoyagyndsylxvhfucd7wd4qacww");
}

}  // namespace
}  // namespace headway::cache
