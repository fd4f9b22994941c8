#include "cache/share.h"

#include "base/temp_dir.h"
#include "cache/collect.h"
#include "cache/test_cache.h"

namespace headway::cache {
namespace {

constexpr std::int64_t kDay = 24LL * 3600 * 1'000'000'000;

// Real files, since archives of a shelf are.
struct Stage {
  std::unique_ptr<Archive> make(const std::string& name, const Tree& tree,
                                const Binding& binding = test_binding()) {
    base::FileSystem& files = base::real_file_system();
    write_tree(files, folder.path() + "/" + name, tree);
    const std::string path = folder.path() + "/" + name + ".hwc";
    EXPECT_TRUE(pack_tree(files, folder.path() + "/" + name, path, binding, &key.value()).ok());
    return open_archive(files, path);
  }
  Pushed push_one(const std::string& name, const Tree& tree) {
    auto pushed = push(*make(name, tree), shelf, 1);
    EXPECT_TRUE(pushed.ok()) << pushed.status().message();
    return pushed.ok() ? *pushed : Pushed{};
  }
  Pulled pull_all(const PullLimits& limits = {}) {
    auto pulled = pull(shelf, test_binding(), trust(), limits, folder.path(), 1);
    EXPECT_TRUE(pulled.ok()) << pulled.status().message();
    return pulled.ok() ? std::move(*pulled) : Pulled{};
  }
  Trust trust() const { return {{key.value().public_key()}, false}; }
  std::vector<Shelved> list() {
    auto found = shelf.list("");
    EXPECT_TRUE(found.ok());
    return found.ok() ? *found : std::vector<Shelved>{};
  }
  Collected collect_with(CollectOptions options) {
    options.trust = trust();
    auto done = collect(shelf, options, folder.path());
    EXPECT_TRUE(done.ok()) << done.status().message();
    return done.ok() ? *done : Collected{};
  }

  base::TempDir folder;
  const base::Result<SigningKey> key = SigningKey::make();
  FolderShelf shelf{base::real_file_system(), folder.path() + "/shelf"};
};

TEST(Share, PushedTwiceIsThereOnce) {
  Stage stage;
  EXPECT_TRUE(stage.list().empty());
  EXPECT_FALSE(stage.push_one("a", {{"ab/c1.py", "1"}}).was_there);
  EXPECT_TRUE(stage.push_one("b", {{"ab/c1.py", "1"}}).was_there);
  EXPECT_FALSE(stage.push_one("c", {{"ab/c2.py", "2"}}).was_there);
  EXPECT_EQ(stage.list().size(), 2U);
  const Pulled pulled = stage.pull_all();
  EXPECT_EQ(pulled.archives.size(), 2U);
  EXPECT_TRUE(pulled.notes.empty());
}

TEST(Share, ADamagedOneIsReplaced) {
  Stage stage;
  const Pushed bad = stage.push_one("a", {{"ab/c1.py", "1"}});
  std::filesystem::resize_file(bad.place, 100);
  EXPECT_FALSE(stage.push_one("b", {{"ab/c1.py", "1"}}).was_there);
  EXPECT_EQ(stage.pull_all().archives.size(), 1U);
}

// Where the one entry of what was pulled came from.
std::string pulled_entry(const Pulled& pulled) {
  return pulled.archives.size() == 1 ? pulled.archives[0]->index().entries[0].path : "";
}

TEST(Share, WhatMustBeTheSame) {
  for (std::string Binding::* text :
       {&Binding::torch, &Binding::torch_git, &Binding::python, &Binding::arch, &Binding::gpu}) {
    Stage stage;
    Binding other = test_binding();
    other.*text += "x";
    ASSERT_TRUE(push(*stage.make("a", {{"ab/c1.py", "1"}}, other), stage.shelf, 1).ok());
    const Pulled pulled = stage.pull_all();
    EXPECT_TRUE(pulled.archives.empty()) << other.*text;
    EXPECT_EQ(pulled.unfit, 1U);
    EXPECT_NE(pulled.unfit_why.find(other.*text), std::string::npos) << pulled.unfit_why;
  }
}

TEST(Share, FewerInstructionsAreFineMoreAreNot) {
  Stage stage;
  Binding other = test_binding();
  other.cpu_flags = {"avx", "avx2", "avx512f"};
  ASSERT_TRUE(push(*stage.make("a", {{"ab/c3.py", "1"}}, other), stage.shelf, 1).ok());
  EXPECT_TRUE(stage.pull_all().archives.empty());
  EXPECT_NE(stage.pull_all().unfit_why.find("avx512f"), std::string::npos);
  other.cpu_flags = {};
  ASSERT_TRUE(push(*stage.make("b", {{"ab/c0.py", "1"}}, other), stage.shelf, 1).ok());
  EXPECT_EQ(pulled_entry(stage.pull_all()), "ab/c0.py");
  EXPECT_FALSE(stage.pull_all().same_binding);
  // More in common is better, and the very same is best.
  other.cpu_flags = {"avx"};
  ASSERT_TRUE(push(*stage.make("c", {{"ab/c1.py", "1"}}, other), stage.shelf, 1).ok());
  EXPECT_EQ(pulled_entry(stage.pull_all()), "ab/c1.py");
  stage.push_one("d", {{"ab/c2.py", "1"}});
  EXPECT_EQ(pulled_entry(stage.pull_all()), "ab/c2.py");
  EXPECT_TRUE(stage.pull_all().same_binding);
}

TEST(Share, TheOwnFamilyFirst) {
  Stage stage;
  Binding other = test_binding();
  other.family = "others";
  ASSERT_TRUE(push(*stage.make("a", {{"ab/c1.py", "1"}}, other), stage.shelf, 1).ok());
  EXPECT_EQ(pulled_entry(stage.pull_all()), "ab/c1.py");
  EXPECT_EQ(stage.pull_all().family, "others");
  // Even if it fits less well.
  Binding own = test_binding();
  own.cpu_flags = {"avx"};
  ASSERT_TRUE(push(*stage.make("b", {{"ab/c2.py", "1"}}, own), stage.shelf, 1).ok());
  EXPECT_EQ(pulled_entry(stage.pull_all()), "ab/c2.py");
  EXPECT_EQ(stage.pull_all().family, "tests");
}

TEST(Share, AnotherEnvironmentIsTheLastResort) {
  Stage stage;
  Binding other = test_binding();
  other.environment = "/other";
  ASSERT_TRUE(push(*stage.make("a", {{"ab/c1.py", "1"}}, other), stage.shelf, 1).ok());
  EXPECT_EQ(pulled_entry(stage.pull_all()), "ab/c1.py");
  EXPECT_FALSE(stage.pull_all().same_environment);
  other = test_binding();
  other.cpu_flags = {"avx"};
  ASSERT_TRUE(push(*stage.make("b", {{"ab/c2.py", "1"}}, other), stage.shelf, 1).ok());
  EXPECT_EQ(pulled_entry(stage.pull_all()), "ab/c2.py");
  EXPECT_TRUE(stage.pull_all().same_environment);
}

TEST(Share, IfTheBestAreNoGoodTheNextBest) {
  Stage stage;
  const Pushed best = stage.push_one("a", {{"ab/c1.py", "1"}});
  Binding other = test_binding();
  other.cpu_flags = {"avx"};
  ASSERT_TRUE(push(*stage.make("b", {{"ab/c2.py", "1"}}, other), stage.shelf, 1).ok());
  std::filesystem::resize_file(best.place, 100);
  const Pulled pulled = stage.pull_all();
  EXPECT_EQ(pulled_entry(pulled), "ab/c2.py");
  EXPECT_EQ(pulled.notes.size(), 1U);
}

TEST(Share, ABindingUnderTheNameOfAnotherIsANote) {
  Stage stage;
  Binding other = test_binding();
  other.cpu_flags = {"avx"};
  auto pushed = push(*stage.make("a", {{"ab/c1.py", "1"}}, other), stage.shelf, 1);
  ASSERT_TRUE(pushed.ok());
  const std::filesystem::path folder = std::filesystem::path(pushed->place).parent_path();
  std::filesystem::rename(folder, folder.parent_path() / std::string(64, 'a'));
  const Pulled pulled = stage.pull_all();
  EXPECT_TRUE(pulled.archives.empty());
  EXPECT_EQ(pulled.notes.size(), 1U);
}

TEST(Share, ABadOneIsANote) {
  Stage stage;
  stage.push_one("a", {{"ab/c1.py", "1"}});
  const Pushed bad = stage.push_one("b", {{"ab/c2.py", "2"}});
  const Pushed moved = stage.push_one("c", {{"ab/c3.py", "3"}});
  std::filesystem::resize_file(bad.place, std::filesystem::file_size(bad.place) - 1);
  // One under the name of another.
  std::string elsewhere = moved.place;
  elsewhere[elsewhere.size() - 10] = elsewhere[elsewhere.size() - 10] == '0' ? '1' : '0';
  std::filesystem::rename(moved.place, elsewhere);
  const Pulled pulled = stage.pull_all();
  EXPECT_EQ(pulled.archives.size(), 1U);
  EXPECT_EQ(pulled.notes.size(), 2U);
}

TEST(Share, OfStrangersIsANote) {
  Stage stage;
  stage.push_one("a", {{"ab/c1.py", "1"}});
  auto pulled = pull(stage.shelf, test_binding(), {}, {}, stage.folder.path(), 1);
  ASSERT_TRUE(pulled.ok());
  EXPECT_TRUE(pulled->archives.empty());
  EXPECT_EQ(pulled->notes.size(), 1U);
}

TEST(Share, NoMoreThanTheLimits) {
  Stage stage;
  for (int i = 0; i < 5; ++i) stage.push_one(std::to_string(i), {{"ab/c.py", std::to_string(i)}});
  EXPECT_EQ(stage.pull_all({.archives_max = 3}).archives.size(), 3U);
  const Pulled pulled = stage.pull_all({.bytes_max = stage.list()[0].bytes * 2 + 10});
  EXPECT_EQ(pulled.archives.size(), 2U);
  EXPECT_EQ(pulled.beyond, 3U);
}

void expect_same(const Collected& told, const Collected& done) {
  EXPECT_EQ(told.archives_before, done.archives_before);
  EXPECT_EQ(told.archives_after, done.archives_after);
  EXPECT_EQ(told.bytes_before, done.bytes_before);
  EXPECT_EQ(told.bytes_after, done.bytes_after);
  EXPECT_EQ(told.removed, done.removed);
  EXPECT_EQ(told.merged, done.merged);
  EXPECT_EQ(told.notes, done.notes);
}

TEST(Collect, SmallOnesBecomeOne) {
  Stage stage;
  for (int i = 0; i < 5; ++i) {
    stage.push_one(std::to_string(i), {{"ab/c" + std::to_string(i) + ".py", "x"}});
  }
  const auto before = stage.list();
  CollectOptions options{
      .now_ns = 7 * kDay, .dry_run = true, .trust = {}, .key = &stage.key.value()};
  const Collected told = stage.collect_with(options);
  EXPECT_EQ(stage.list().size(), 5U);
  options.dry_run = false;
  const Collected done = stage.collect_with(options);
  expect_same(told, done);
  EXPECT_EQ(done.merged, 5U);
  EXPECT_EQ(done.archives_after, 1U);
  ASSERT_EQ(stage.list().size(), 1U);
  EXPECT_EQ(stage.pull_all().archives[0]->index().entries.size(), 5U);
  EXPECT_EQ(stage.collect_with(options).merged, 0U);
}

TEST(Collect, ADamagedOneGoesAndADryRunSaysSo) {
  Stage stage;
  stage.push_one("a", {{"ab/c1.py", "1"}});
  const Pushed bad = stage.push_one("b", {{"ab/c2.py", code_like(5'000, 1)}});
  std::filesystem::resize_file(bad.place, std::filesystem::file_size(bad.place) - 1);
  CollectOptions options{
      .now_ns = 7 * kDay, .dry_run = true, .trust = {}, .key = &stage.key.value()};
  const Collected told = stage.collect_with(options);
  EXPECT_EQ(stage.list().size(), 2U);
  options.dry_run = false;
  const Collected done = stage.collect_with(options);
  expect_same(told, done);
  EXPECT_EQ(done.notes.size(), 1U);
  EXPECT_EQ(done.merged, 0U);
  ASSERT_EQ(done.removed.size(), 1U);
  EXPECT_EQ(stage.shelf.place(done.removed[0]), bad.place);
  EXPECT_EQ(done.archives_after, 1U);
  EXPECT_EQ(pulled_entry(stage.pull_all()), "ab/c1.py");
}

TEST(Collect, WithoutAKeyNothingIsMerged) {
  Stage stage;
  stage.push_one("a", {{"ab/c1.py", "1"}});
  stage.push_one("b", {{"ab/c2.py", "2"}});
  const Collected done = stage.collect_with({.trust = {}});
  EXPECT_EQ(done.notes.size(), 1U);
  EXPECT_EQ(stage.list().size(), 2U);
}

TEST(Collect, OldOnesAndTooManyGo) {
  Stage stage;
  for (int i = 0; i < 4; ++i) {
    const Pushed pushed = stage.push_one(std::to_string(i), {{"ab/c.py", std::to_string(i)}});
    const auto age = std::chrono::hours(24 * (10 - i));
    std::filesystem::last_write_time(pushed.place,
                                     std::filesystem::file_time_type::clock::now() - age);
  }
  const std::int64_t now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                  std::chrono::system_clock::now().time_since_epoch())
                                  .count();
  CollectOptions options{
      .age_max_ns = 9 * kDay - kDay / 2, .now_ns = now_ns, .merge_min = 0, .trust = {}};
  EXPECT_EQ(stage.collect_with(options).removed.size(), 2U);
  EXPECT_EQ(stage.list().size(), 2U);
  const std::uint64_t bytes = stage.list()[0].bytes;
  options = {.bytes_max = bytes + bytes / 2, .now_ns = now_ns, .merge_min = 0, .trust = {}};
  EXPECT_EQ(stage.collect_with(options).archives_after, 1U);
}

TEST(Collect, WhatAKilledPusherLeft) {
  Stage stage;
  stage.push_one("a", {{"ab/c1.py", "1"}});
  const std::string folder =
      stage.folder.path() + "/shelf/tests/" + base::hex(identity_of(test_binding()));
  stage.folder.write(folder.substr(stage.folder.path().size() + 1) + "/.1-2.tmp", "half");
  stage.collect_with({.now_ns = 0, .merge_min = 0});
  EXPECT_TRUE(std::filesystem::exists(folder + "/.1-2.tmp"));  // it may still be written
  stage.collect_with({.now_ns = std::numeric_limits<std::int64_t>::max(), .merge_min = 0});
  EXPECT_FALSE(std::filesystem::exists(folder + "/.1-2.tmp"));
  EXPECT_EQ(stage.list().size(), 1U);
}

TEST(Shelf, Names) {
  const std::string digits(64, 'a');
  EXPECT_TRUE(is_shelf_name("family/" + digits + "/" + digits + ".hwc"));
  for (const std::string& name :
       {std::string("x.hwc"), "../" + digits + "/" + digits + ".hwc", "family/" + digits + ".hwc",
        "family/" + digits + "/" + digits + ".tmp", "/" + digits + "/" + digits + ".hwc",
        "a/b/" + digits + "/" + digits + ".hwc"}) {
    EXPECT_FALSE(is_shelf_name(name)) << name;
  }
}

}  // namespace
}  // namespace headway::cache
