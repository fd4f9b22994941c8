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

// Many small ones that came later do not displace the one that they add to.
TEST(Share, OverTheLimitsTheLargestFirstAndStillTheNewestInFront) {
  Stage stage;
  const auto aged = [](const Pushed& pushed, int hours) {
    std::filesystem::last_write_time(
        pushed.place, std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  const Pushed base = stage.push_one("base", {{"ab/cbase.so", code_like(50'000, 1)}});
  aged(base, 100);
  for (int i = 0; i < 5; ++i) {
    const std::string name = "c" + std::to_string(i);
    aged(stage.push_one(name, {{"ab/" + name + ".py", name}}), 50 - i);
  }
  const Pulled pulled = stage.pull_all({.archives_max = 3});
  ASSERT_EQ(pulled.archives.size(), 3U);
  EXPECT_EQ(pulled.beyond, 3U);
  EXPECT_EQ(pulled.archives.back()->index().entries[0].path, "ab/cbase.so");
  EXPECT_EQ(pulled.archives.front()->index().entries[0].path, "ab/c4.py");
  // What does not fit at all keeps nothing else away.
  const std::uint64_t base_bytes = std::filesystem::file_size(base.place);
  EXPECT_EQ(stage.pull_all({.bytes_max = base_bytes - 1}).archives.size(), 5U);
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

// Of a family's archives, `age` days old.
Pushed push_aged(Stage& stage, const std::string& family, const Binding& like, int age,
                 std::size_t bytes) {
  Binding binding = like;
  binding.family = family;
  binding.created_ns = (1000 - age) * kDay;
  const std::string name = family + std::to_string(age);
  auto pushed =
      push(*stage.make(name,
                       {{"ab/c" + name + ".so",
                         code_like(bytes, static_cast<unsigned>(age * 7 + family.front()))}},
                       binding),
           stage.shelf, 1);
  EXPECT_TRUE(pushed.ok()) << pushed.status().message();
  std::filesystem::last_write_time(
      pushed->place, std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * age));
  return *pushed;
}

TEST(Collect, NoFamilyLosesAllThatItHas) {
  Stage stage;
  Binding torch_before = test_binding();
  torch_before.torch = "2.12.0";
  push_aged(stage, "large", torch_before, 90, 100'000);
  push_aged(stage, "large", test_binding(), 30, 200'000);
  push_aged(stage, "large", test_binding(), 20, 100'000);
  push_aged(stage, "small", test_binding(), 80, 2'000);
  std::uint64_t all_bytes = 0;
  for (const Shelved& one : stage.list()) all_bytes += one.bytes;
  CollectOptions options{.bytes_max = all_bytes / 2,
                         .now_ns = 1000 * kDay,
                         .merge_min = 0,
                         .dry_run = true,
                         .trust = {},
                         .key = &stage.key.value()};
  const Collected told = stage.collect_with(options);
  options.dry_run = false;
  const Collected done = stage.collect_with(options);
  expect_same(told, done);
  EXPECT_LE(done.bytes_after, all_bytes / 2);
  std::map<std::string, std::vector<Shelved>> families;
  for (const Shelved& one : stage.list()) {
    families[one.name.substr(0, one.name.find('/'))].push_back(one);
  }
  ASSERT_EQ(families["small"].size(), 1U);
  ASSERT_EQ(families["large"].size(), 1U);
  // The oldest of the large one's, of a torch that it no longer has, went first; then entries.
  auto archive = take(stage.shelf, families["large"][0], stage.trust(), stage.folder.path(), 1);
  ASSERT_TRUE(archive.ok()) << archive.status().message();
  ASSERT_EQ((*archive)->index().entries.size(), 1U);
  EXPECT_EQ((*archive)->index().entries[0].path, "ab/clarge20.so");
}

TEST(Collect, AFamilyThatIsCompiledForTwoKindsOfMachineKeepsBoth) {
  Stage stage;
  Binding other = test_binding();
  other.gpu = "sm_90";
  for (const int age : {3, 2, 1}) {
    push_aged(stage, "one", test_binding(), age + 4, 50'000);
    push_aged(stage, "one", other, age, 50'000);
  }
  std::uint64_t all_bytes = 0;
  for (const Shelved& one : stage.list()) all_bytes += one.bytes;
  const Collected done = stage.collect_with(
      {.bytes_max = all_bytes / 2, .now_ns = 1000 * kDay, .trust = {}, .key = &stage.key.value()});
  EXPECT_LE(done.bytes_after, all_bytes / 2);
  std::set<std::string> folders;
  for (const Shelved& one : stage.list()) folders.insert(one.name.substr(0, one.name.rfind('/')));
  EXPECT_EQ(folders.size(), 2U);
}

TEST(Collect, WithoutAKeyTheLastOfAFamilyStaysAndItIsTold) {
  Stage stage;
  push_aged(stage, "one", test_binding(), 30, 50'000);
  const Pushed last = push_aged(stage, "one", test_binding(), 20, 50'000);
  const Collected done =
      stage.collect_with({.bytes_max = 10'000, .merge_min = 0, .trust = {}, .key = nullptr});
  EXPECT_EQ(done.archives_after, 1U);
  EXPECT_EQ(done.notes.size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(last.place));
}

TEST(Collect, AMergeStaysBelowWhatAnArchiveMayBe) {
  Stage stage;
  for (int age = 1; age <= 4; ++age) push_aged(stage, "one", test_binding(), age, 50'000);
  const std::uint64_t bytes = stage.list()[0].bytes;
  const Collected done = stage.collect_with({.now_ns = 1000 * kDay,
                                             .archive_bytes_max = 2 * bytes,
                                             .trust = {},
                                             .key = &stage.key.value()});
  EXPECT_EQ(done.archives_after, 1U);
  EXPECT_LE(done.bytes_after, 2 * bytes);
  EXPECT_EQ(done.notes.size(), 1U);
  auto archive = take(stage.shelf, stage.list()[0], stage.trust(), stage.folder.path(), 1);
  ASSERT_TRUE(archive.ok());
  ASSERT_FALSE((*archive)->index().entries.empty());
  for (const Entry& entry : (*archive)->index().entries) EXPECT_GE(entry.time_ns, 998 * kDay);
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
