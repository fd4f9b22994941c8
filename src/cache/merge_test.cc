#include "cache/merge.h"

#include "cache/diff.h"
#include "cache/test_cache.h"

namespace headway::cache {
namespace {

using base::SimFileSystem;

struct Stage {
  // Packs a tree as the archive of `name`.
  const Archive* add(const std::string& name, const Tree& tree, std::int64_t created_ns = 1) {
    write_tree(files, "/" + name, tree);
    const std::string path = "/" + name + ".hwc";
    EXPECT_TRUE(pack_tree(files, "/" + name, path, test_binding(created_ns)).ok());
    archives.push_back(open_archive(files, path));
    return archives.back().get();
  }
  std::vector<const Archive*> all() const {
    std::vector<const Archive*> list;
    for (const auto& archive : archives) list.push_back(archive.get());
    return list;
  }
  Merged merge() {
    auto merged = merge_archives(files, all(), "/merged.hwc",
                                 {.key = nullptr, .created_ns = 99, .progress = {}});
    EXPECT_TRUE(merged.ok()) << merged.status().message();
    return merged.ok() ? *merged : Merged{};
  }
  SimFileSystem files;
  std::vector<std::unique_ptr<Archive>> archives;
};

TEST(Merge, KeepsEveryEntry) {
  Stage stage;
  Tree a = {{"ab/c1.py", "one"}, {graph_path("fkey", "g1"), "g1"}};
  Tree b = {{"ab/c2.py", "one"}, {graph_path("fkey", "g2"), "g2"}, {"ab/c1.py", "one"}};
  stage.add("a", a);
  stage.add("b", b);
  const Merged merged = stage.merge();
  EXPECT_EQ(merged.entries, 4U);
  EXPECT_EQ(merged.contents, 3U);
  EXPECT_EQ(merged.same, 1U);
  Tree expected = a;
  expected.merge(b);
  const auto archive = open_archive(stage.files, "/merged.hwc");
  EXPECT_EQ(tree_of(*archive), expected);
  EXPECT_EQ(archive->binding().created_ns, 99);
}

TEST(Merge, TheNewestWinsAndIsTold) {
  Stage stage;
  const std::string state = "dynamo/code_state_j_0_.pkl";
  stage.add("new", {{state, "much"}}, 20);
  stage.add("old", {{state, "little"}}, 10);
  const Merged merged = stage.merge();
  EXPECT_EQ(merged.replaced, 1U);
  EXPECT_EQ(merged.replaced_paths, std::vector<std::string>{state});
  const auto archive = open_archive(stage.files, "/merged.hwc");
  EXPECT_EQ(tree_of(*archive)[state], "much");
  EXPECT_EQ(archive->index().contents.size(), 1U);  // nobody keeps what nobody names
  // As old as it was: a merge makes nothing newer.
  EXPECT_EQ(archive->index().entries[0].time_ns, 20);
}

TEST(Merge, InAnyGroupingTheSame) {
  Stage stage;
  const std::string state = "dynamo/code_state_j_0_.pkl";
  const Archive* a = stage.add("a", {{state, "1"}, {"ab/c1.py", "1"}}, 10);
  const Archive* b = stage.add("b", {{state, "3"}, {"ab/c2.py", "2"}}, 30);
  const Archive* c = stage.add("c", {{state, "2"}, {"ab/c3.py", "3"}}, 20);
  const auto merge = [&](std::vector<const Archive*> list, const std::string& path) {
    EXPECT_TRUE(merge_archives(stage.files, list, path, {}).ok());
    stage.archives.push_back(open_archive(stage.files, path));
    return stage.archives.back().get();
  };
  const Archive* ab = merge({a, b}, "/ab.hwc");
  const Archive* left = merge({ab, c}, "/left.hwc");
  const Archive* ca = merge({c, a}, "/ca.hwc");
  const Archive* right = merge({ca, b}, "/right.hwc");
  EXPECT_EQ(content_identity(left->index()), content_identity(right->index()));
  EXPECT_EQ(tree_of(*left).at(state), "3");
}

TEST(Merge, OfAnotherBindingIsRefused) {
  Stage stage;
  stage.add("a", {{"ab/c1.py", "one"}});
  write_tree(stage.files, "/b", {{"ab/c2.py", "two"}});
  Binding other = test_binding();
  other.torch = "2.12.0";
  ASSERT_TRUE(pack_tree(stage.files, "/b", "/b.hwc", other).ok());
  stage.archives.push_back(open_archive(stage.files, "/b.hwc"));
  const auto merged = merge_archives(stage.files, stage.all(), "/merged.hwc", {});
  EXPECT_NE(merged.status().message().find("2.12.0"), std::string::npos);
  EXPECT_FALSE(stage.files.contents().contains("/merged.hwc"));
}

// Ranks of one job: most of what they have is the same, in another order, and each has its own.
TEST(Merge, OfManyRanksIsNoLargerThanTheUnion) {
  constexpr unsigned ranks = 64;
  Stage stage;
  Tree everything;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    Tree tree;
    for (unsigned i = 0; i < 60; ++i) {
      if ((i * 7 + rank) % 10 == 0) continue;  // not all of it
      tree["ab/c" + std::to_string(i) + ".main.so"] = code_like(50'000 + i * 100, i);
    }
    const std::string graph = code_like(20'000, 1000 + rank);
    tree[graph_path("frank", graph)] = graph;
    tree["dynamo/code_state_j_" + std::to_string(rank) + "_.pkl"] = "state " + std::to_string(rank);
    everything.insert(tree.begin(), tree.end());
    stage.add("r" + std::to_string(rank), tree);
  }
  const Merged merged = stage.merge();
  EXPECT_EQ(tree_of(*open_archive(stage.files, "/merged.hwc")), everything);
  write_tree(stage.files, "/union", everything);
  const auto packed = pack_tree(stage.files, "/union", "/union.hwc", test_binding());
  ASSERT_TRUE(packed.ok());
  EXPECT_LE(merged.file_bytes, packed.value().file_bytes * 11 / 10)
      << merged.file_bytes << " against " << packed.value().file_bytes;
}

TEST(Merge, CopiesBlocksThatAreNeededWhole) {
  Stage stage;
  Tree large;
  for (unsigned i = 0; i < 8; ++i) {
    large["ab/c" + std::to_string(i) + ".so"] = code_like(2'000'000, i);
  }
  stage.add("a", large);
  stage.add("b", {{"cd/d.so", code_like(1000, 77)}});
  const Merged merged = stage.merge();
  EXPECT_GT(merged.copied_bytes, merged.file_bytes * 9 / 10);
}

TEST(Merge, OverOneOfItself) {
  Stage stage;
  stage.add("a", {{"ab/c1.py", "one"}});
  stage.add("b", {{"ab/c2.py", "two"}});
  ASSERT_TRUE(merge_archives(stage.files, stage.all(), "/a.hwc", {}).ok());
  EXPECT_EQ(open_archive(stage.files, "/a.hwc")->index().entries.size(), 2U);
}

TEST(Merge, OverItsBoundTheOldestGoFirst) {
  Stage stage;
  Tree newest;
  for (unsigned age = 0; age < 4; ++age) {
    Tree tree;
    for (unsigned i = 0; i < 5; ++i) {
      tree["ab/c" + std::to_string(age) + std::to_string(i) + ".so"] =
          code_like(40'000, 10 * age + i);
    }
    if (age < 2) newest.insert(tree.begin(), tree.end());
    stage.add("a" + std::to_string(age), tree, 100 - age);
  }
  const std::uint64_t whole_bytes = stage.merge().file_bytes;
  const std::uint64_t bytes_max = whole_bytes * 52 / 100;
  auto merged = merge_archives(stage.files, stage.all(), "/merged.hwc", {.bytes_max = bytes_max});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(merged->left_out, 10U);
  EXPECT_LE(merged->file_bytes, bytes_max * 21 / 20);
  const auto archive = open_archive(stage.files, "/merged.hwc");
  EXPECT_EQ(tree_of(*archive), newest);
  EXPECT_EQ(archive->index().contents.size(), 10U);
  // One alone shrinks, too, and is never left with nothing.
  auto least = merge_archives(stage.files, std::vector<const Archive*>{archive.get()}, "/least.hwc",
                              {.bytes_max = 1});
  ASSERT_TRUE(least.ok()) << least.status().message();
  EXPECT_EQ(least->entries, 1U);
  EXPECT_EQ(open_archive(stage.files, "/least.hwc")->index().entries[0].time_ns, 100);
}

// Nobody is asked for what is left out.
TEST(Merge, WhatIsLeftOutMayBeDamaged) {
  Stage stage;
  stage.add("old", {{"ab/old.so", code_like(40'000, 1)}}, 1);
  const Archive* fresh = stage.add("new", {{"ab/new.so", code_like(40'000, 2)}}, 2);
  stage.files.damage("/old.hwc", sizeof(HeadRecord) + 10, 1);
  auto merged = merge_archives(stage.files, stage.all(), "/merged.hwc",
                               {.bytes_max = fresh->file_bytes() + 100});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(merged->entries, 1U);
  EXPECT_EQ(merged->damaged.size(), 1U);
}

TEST(Merge, WhatIsDamagedInOneIsTakenFromAnother) {
  for (const bool large : {false, true}) {  // a block that is packed again, or copied
    Tree both;
    for (unsigned i = 0; i < (large ? 8U : 1U); ++i) {
      both["ab/c" + std::to_string(i) + ".so"] = code_like(large ? 2'000'000 : 1'000, i);
    }
    for (const bool damaged_first : {false, true}) {
      Stage stage;
      stage.add("bad", both);
      stage.add("good", both);
      stage.files.damage("/bad.hwc", sizeof(HeadRecord) + 10, 1);
      auto list = stage.all();
      if (!damaged_first) std::ranges::reverse(list);
      auto merged = merge_archives(stage.files, list, "/merged.hwc", {});
      ASSERT_TRUE(merged.ok()) << merged.status().message();
      ASSERT_EQ(merged->damaged.size(), 1U);
      EXPECT_TRUE(merged->damaged[0].starts_with("/bad.hwc: ")) << merged->damaged[0];
      EXPECT_EQ(tree_of(*open_archive(stage.files, "/merged.hwc")), both);
    }
  }
}

TEST(Merge, WhatNobodyHasUndamagedIsAnError) {
  for (const bool damaged_first : {false, true}) {
    Stage stage;
    stage.add("bad", {{"ab/c1.py", "one"}, {"ab/c2.py", "two"}});
    stage.add("good", {{"ab/c1.py", "one"}});
    stage.files.damage("/bad.hwc", sizeof(HeadRecord), 1);
    auto list = stage.all();
    if (!damaged_first) std::ranges::reverse(list);
    const auto merged = merge_archives(stage.files, list, "/merged.hwc", {});
    EXPECT_EQ(merged.status().code(), base::Code::corrupt);
    EXPECT_TRUE(merged.status().message().starts_with("/bad.hwc: ")) << merged.status().message();
    EXPECT_FALSE(stage.files.contents().contains("/merged.hwc"));
  }
}

TEST(Diff, WhatIsInOneAndNotInTheOther) {
  Stage stage;
  const Archive* a = stage.add("a", {{"ab/c1.py", "1"}, {"ab/c2.py", "2"}, {"ab/c3.py", "3"}});
  const Archive* b = stage.add("b", {{"ab/c2.py", "2"}, {"ab/c3.py", "x"}, {"ab/c4.so", "44"}});
  const ArchiveDifference found = difference(a->index(), b->index());
  ASSERT_EQ(found.only_a.size(), 1U);
  EXPECT_EQ(found.only_a[0]->path, "ab/c1.py");
  ASSERT_EQ(found.only_b.size(), 1U);
  EXPECT_EQ(found.only_b[0]->path, "ab/c4.so");
  ASSERT_EQ(found.others.size(), 1U);
  EXPECT_EQ(found.others[0].first->path, "ab/c3.py");
  EXPECT_EQ(found.same, 1U);
  const KindSums sums = sums_of(b->index());
  EXPECT_EQ(sums[static_cast<std::size_t>(Kind::library) - 1].bytes, 2U);
  EXPECT_EQ(sums[static_cast<std::size_t>(Kind::source) - 1].entries, 2U);
}

}  // namespace
}  // namespace headway::cache
