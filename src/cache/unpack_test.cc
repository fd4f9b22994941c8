#include "cache/unpack.h"

#include "base/temp_dir.h"
#include "cache/relocate.h"
#include "cache/test_cache.h"

namespace headway::cache {
namespace {

using base::SimFileSystem;

base::Result<Unpacked> unpack(base::FileSystem& files, const std::string& directory,
                              std::vector<const Archive*> archives,
                              const std::optional<PgoRule>& rule = {}, bool overwrite = false) {
  Unpacker unpacker(files, directory, archives,
                    {.threads = 1, .overwrite = overwrite, .progress = {}});
  const Union all = unite(archives);
  if (auto status = unpacker.plan(targets_of(archives, all, rule)); !status.ok()) return status;
  return unpacker.execute();
}

struct Stage {
  Stage() {
    write_tree(files, "/c", small_tree());
    EXPECT_TRUE(pack_tree(files, "/c", "/x.hwc", test_binding()).ok());
    archive = open_archive(files, "/x.hwc");
    EXPECT_TRUE(files.make_folder("/to").ok());
  }
  Tree expected() const {
    Tree tree = small_tree();
    tree["triton/0/KEY/__grp__kernel.json"] =
        "{\"child_paths\": {\"kernel.cubin\": \"/to/triton/0/KEY/kernel.cubin\"}}";
    return tree;
  }
  SimFileSystem files;
  std::unique_ptr<Archive> archive;
};

TEST(Unpack, RoundTripAndOnlyOnce) {
  Stage stage;
  const auto first = unpack(stage.files, "/to", {stage.archive.get()});
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(first.value().written, small_tree().size());
  EXPECT_EQ(read_tree(stage.files, "/to"), stage.expected());
  const auto again = unpack(stage.files, "/to", {stage.archive.get()});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value().written, 0U);
  EXPECT_EQ(again.value().same, small_tree().size());
}

TEST(Unpack, LibrariesThatWerePackedDamagedAreLeftOut) {
  Stage stage;
  const std::string zeros(100, '\0');
  write_archive(
      stage.files, "/bad.hwc",
      {{"ab/c1.main.so", zeros}, {"ab/c1.py", "1"}, {"cd/c2.main.so", ""}, {"ef/c3.py", zeros}});
  const auto archive = open_archive(stage.files, "/bad.hwc");
  auto done = unpack(stage.files, "/to", {archive.get()});
  ASSERT_TRUE(done.ok()) << done.status().message();
  EXPECT_EQ(done->damaged, 2U);
  EXPECT_EQ(done->written, 2U);
  EXPECT_EQ(read_tree(stage.files, "/to"), (Tree{{"ab/c1.py", "1"}, {"ef/c3.py", zeros}}));
}

TEST(Unpack, WhatIsThereStaysUnlessItIsDamaged) {
  Stage stage;
  const std::string graph = graph_path("fabc", "a graph");
  write_tree(stage.files, "/to2",
             {{graph, "a gr"},
              {"dynamo/code_state_job_0_.pkl", "learned more"},
              {"ab/cabc.main.so", ""},
              {"cd/ccde.py", "mine"}});
  const auto done = unpack(stage.files, "/to2", {stage.archive.get()});
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done.value().kept, 2U);
  Tree tree = read_tree(stage.files, "/to2");
  EXPECT_EQ(tree[graph], "a graph");
  EXPECT_EQ(tree["dynamo/code_state_job_0_.pkl"], "learned more");
  EXPECT_EQ(tree["ab/cabc.main.so"], small_tree()["ab/cabc.main.so"]);
  EXPECT_EQ(tree["cd/ccde.py"], "mine");
  ASSERT_TRUE(unpack(stage.files, "/to2", {stage.archive.get()}, {}, true).ok());
  EXPECT_EQ(read_tree(stage.files, "/to2")["cd/ccde.py"], small_tree()["cd/ccde.py"]);
}

TEST(Unpack, AFailedCallLeavesNothingHalf) {
  for (const bool lasting : {false, true}) {
    for (std::size_t call = 0;; ++call) {
      Stage stage;
      stage.files.fail(SimFileSystem::Fault{.call = call, .lasting = lasting, .torn = true});
      const auto done = unpack(stage.files, "/to", {stage.archive.get()});
      const bool hit = stage.files.calls() > call;
      stage.files.fail(std::nullopt);
      if (!hit) {
        ASSERT_TRUE(done.ok());
        break;
      }
      for (const auto& [path, content] : read_tree(stage.files, "/to")) {
        EXPECT_FALSE(path.starts_with(".headway-unpack") && lasting) << path << " call " << call;
        if (path.starts_with(".headway-unpack")) continue;  // the next one clears it
        EXPECT_EQ(content, stage.expected()[path]) << path << " call " << call;
      }
      if (!done.ok()) {
        EXPECT_EQ(done.status().message().find('\n'), std::string::npos);
      }
      // Whatever it left, the next one makes it whole.
      ASSERT_TRUE(unpack(stage.files, "/to", {stage.archive.get()}).ok());
      EXPECT_EQ(read_tree(stage.files, "/to"), stage.expected()) << call;
      ASSERT_LT(call, 1000U);
    }
  }
}

TEST(Unpack, AFolderThatIsNotThereTakesOneRename) {
  Stage stage;
  ASSERT_TRUE(unpack(stage.files, "/to", {stage.archive.get()}).ok());
  // What is there stays, and what is missing comes beside it.
  ASSERT_TRUE(stage.files.remove_file("/to/ab/cabc.main.so").ok());
  write_tree(stage.files, "/to", {{"ab/cmine.py", "mine"}});
  const auto done = unpack(stage.files, "/to", {stage.archive.get()});
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done.value().written, 1U);
  Tree expected = stage.expected();
  expected["ab/cmine.py"] = "mine";
  EXPECT_EQ(read_tree(stage.files, "/to"), expected);
  EXPECT_FALSE(stage.files.list("/to/.headway-unpack").ok());
}

TEST(Unpack, WhatADeadOneLeftIsCleared) {
  Stage stage;
  write_tree(stage.files, "/to",
             {{".headway-unpack/ab/cabc.main.so", "half"}, {".headway-unpack/zz/old/x", "old"}});
  ASSERT_TRUE(unpack(stage.files, "/to", {stage.archive.get()}).ok());
  EXPECT_EQ(read_tree(stage.files, "/to"), stage.expected());
}

TEST(Unpack, ALinkInPlaceOfTheFolderIsNotFollowed) {
  base::TempDir folder;
  Stage stage;
  folder.write("x.hwc", stage.files.contents().at("/x.hwc"));
  folder.write("precious/file", "stays");
  folder.write("to/.headway-lock", "");
  std::filesystem::create_symlink("../precious", folder.path() + "/to/.headway-unpack");
  base::FileSystem& real = base::real_file_system();
  const auto archive = open_archive(real, folder.path() + "/x.hwc");
  ASSERT_TRUE(unpack(real, folder.path() + "/to", {archive.get()}).ok());
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/precious/file"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/to/ab/cabc.main.so"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/to/.headway-unpack"));
}

TEST(Unpack, AFolderThatLeadsElsewhereIsNotWrittenTo) {
  const std::string graph = graph_path("fabc", "a graph");
  // Of the directory's own, of one below, and where there is nothing at its end.
  const std::pair<std::string, std::string> links[] = {
      {"ab", "precious"}, {base::folder_of(graph), "precious"}, {"triton", "nowhere"}};
  for (const auto& [link, leads_to] : links) {
    base::TempDir folder;
    Stage stage;
    folder.write("x.hwc", stage.files.contents().at("/x.hwc"));
    folder.write("precious/file", "stays");
    const std::string to = folder.path() + "/to";
    std::filesystem::create_directories(base::folder_of(to + "/" + link));
    std::filesystem::create_symlink(folder.path() + "/" + leads_to, to + "/" + link);
    base::FileSystem& real = base::real_file_system();
    const auto archive = open_archive(real, folder.path() + "/x.hwc");
    const auto done = unpack(real, to, {archive.get()});
    EXPECT_TRUE(done.status().message().starts_with(to + "/" + link + ": a link"))
        << done.status().message();
    auto precious = real.list(folder.path() + "/precious");
    ASSERT_TRUE(precious.ok());
    EXPECT_EQ(precious->size(), 1U) << link;
    EXPECT_FALSE(std::filesystem::exists(folder.path() + "/nowhere"));
    // Nor is anything written beside it, and the link itself may be wanted.
    EXPECT_FALSE(std::filesystem::exists(to + "/cd"));
    EXPECT_TRUE(std::filesystem::is_symlink(to + "/" + link));
  }
}

TEST(Unpack, AFileTakesThePlaceOfALink) {
  const std::string library = small_tree()["ab/cabc.main.so"];
  for (const std::string& content : {std::string("stays"), library}) {
    base::TempDir folder;
    Stage stage;
    folder.write("x.hwc", stage.files.contents().at("/x.hwc"));
    folder.write("precious/file", content);
    folder.write("to/ab/cmine.py", "mine");
    const std::string place = folder.path() + "/to/ab/cabc.main.so";
    std::filesystem::create_symlink("../../precious/file", place);
    base::FileSystem& real = base::real_file_system();
    const auto archive = open_archive(real, folder.path() + "/x.hwc");
    ASSERT_TRUE(unpack(real, folder.path() + "/to", {archive.get()}).ok());
    const auto read = [&](const std::string& path) {
      return base::read_all(real, path, 1 << 20).value();
    };
    EXPECT_FALSE(std::filesystem::is_symlink(place));
    EXPECT_EQ(read(place), library);
    EXPECT_EQ(read(folder.path() + "/precious/file"), content);
    EXPECT_EQ(read(folder.path() + "/to/ab/cmine.py"), "mine");
  }
}

TEST(Unpack, NothingIsWrittenOfAnArchiveWithADamagedBlock) {
  Stage stage;
  stage.files.damage("/x.hwc", 100, 1);
  const auto done = unpack(stage.files, "/to", {stage.archive.get()});
  EXPECT_EQ(done.status().code(), base::Code::corrupt);
  EXPECT_TRUE(read_tree(stage.files, "/to").empty());
}

TEST(Unpack, TheNewestOfSeveralArchivesWhateverTheirOrder) {
  SimFileSystem files;
  const std::string state = "dynamo/code_state_job_0_.pkl";
  write_tree(files, "/old", {{state, "little"}, {"ab/c1.py", "one"}});
  write_tree(files, "/new", {{state, "much"}, {"ab/c2.py", "two"}});
  ASSERT_TRUE(pack_tree(files, "/old", "/old.hwc", test_binding(1)).ok());
  ASSERT_TRUE(pack_tree(files, "/new", "/new.hwc", test_binding(2)).ok());
  const auto old_one = open_archive(files, "/old.hwc"), new_one = open_archive(files, "/new.hwc");
  const Tree expected = {{state, "much"}, {"ab/c1.py", "one"}, {"ab/c2.py", "two"}};
  ASSERT_TRUE(files.make_folder("/a").ok() && files.make_folder("/b").ok());
  ASSERT_TRUE(unpack(files, "/a", {old_one.get(), new_one.get()}).ok());
  ASSERT_TRUE(unpack(files, "/b", {new_one.get(), old_one.get()}).ok());
  EXPECT_EQ(read_tree(files, "/a"), expected);
  EXPECT_EQ(read_tree(files, "/b"), expected);
  const std::vector<const Archive*> both = {old_one.get(), new_one.get()};
  EXPECT_EQ(unite(both).replaced, 1U);
  EXPECT_EQ(unite(both).replaced_paths, std::vector<std::string>{state});
}

TEST(Unpack, PgoStatesForMoreRanksOfAnotherJob) {
  SimFileSystem files;
  write_tree(files, "/c",
             {{"dynamo/code_state_a_b_1_.pkl", "one"}, {"dynamo/code_state_a_b_0_.pkl", "zero"}});
  ASSERT_TRUE(pack_tree(files, "/c", "/x.hwc", test_binding()).ok());
  const auto archive = open_archive(files, "/x.hwc");
  ASSERT_TRUE(files.make_folder("/to").ok());
  ASSERT_TRUE(
      unpack(files, "/to", {archive.get()}, PgoRule{.from = "a:b", .to = "new/job", .ranks = 3})
          .ok());
  const Tree expected = {{"dynamo/code_state_a_b_0_.pkl", "zero"},
                         {"dynamo/code_state_a_b_1_.pkl", "one"},
                         {"dynamo/code_state_new_job_0_.pkl", "zero"},
                         {"dynamo/code_state_new_job_1_.pkl", "one"},
                         {"dynamo/code_state_new_job_2_.pkl", "zero"}};
  EXPECT_EQ(read_tree(files, "/to"), expected);
}

TEST(Pgo, NamesOfFiles) {
  const auto parse = [](const char* path, const char* job) {
    const auto state = parse_pgo_path(path, job);
    return state ? state->job + "|" + state->rank + "|" + state->tag : "-";
  };
  EXPECT_EQ(parse("dynamo/code_state_j_None_.pkl", "j"), "j|None|");
  EXPECT_EQ(parse("dynamo/code_state_j_None_.pkl", ""), "j|None|");
  EXPECT_EQ(parse("dynamo/code_state_a_1_b_12_t.pkl", "a_1_b"), "a_1_b|12|t");
  EXPECT_EQ(parse("dynamo/code_state_a_1_b_12_t.pkl", ""), "a_1_b|12|t");
  EXPECT_EQ(parse("dynamo/code_state_j_x_.pkl", "j"), "-");
  EXPECT_EQ(parse("dynamo/code_state_.pkl", ""), "-");
  EXPECT_EQ(parse("dynamo/code_state_jj_0_.pkl", "j"), "-");
  EXPECT_EQ(pgo_path({"a:b/c", "0", "t"}), "dynamo/code_state_a_b_c_0_t.pkl");
  EXPECT_FALSE(parse_pgo_rule("=x").ok());
  EXPECT_FALSE(parse_pgo_rule("x=").ok());
  EXPECT_EQ(parse_pgo_rule("x").value().from, "*");
}

TEST(Relocate, OnlyWhereTritonKeepsPaths) {
  EXPECT_FALSE(without_place("ab/c.py", "\"/x/triton/0/K/f\""));
  EXPECT_FALSE(without_place("triton/0/K/f.json", "\"/x/triton/0/K/f\""));
  const auto content =
      without_place("triton/0/K/__grp__f.json", "{\"f\": \"/x y/K/f\", \"/x y/K/g\"}");
  ASSERT_TRUE(content);
  EXPECT_EQ(*content, "{\"f\": \"[REPLACE]/f\", \"[REPLACE]/g\"}");
  EXPECT_EQ(with_place("/new/K", *content), "{\"f\": \"/new/K/f\", \"/new/K/g\"}");
  EXPECT_FALSE(without_place("triton/0/K/__grp__f.json", "{\"[REPLACE]\": \"/x/K/f\"}"));
}

}  // namespace
}  // namespace headway::cache
