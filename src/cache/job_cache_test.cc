#include "cache/job_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/temp_dir.h"
#include "cache/collect.h"
#include "cache/rekey.h"
#include "cache/test_cache.h"

namespace headway::cache {
namespace {

// A shelf, and jobs with a directory of their own each.
struct Stage {
  std::string path(const std::string& name) const { return folder.path() + "/" + name; }
  void write(const std::string& directory, const Tree& tree) {
    for (const auto& [file, content] : tree) {  // as one that is written again
      (void)base::real_file_system().remove_file(path(directory) + "/" + file);
    }
    write_tree(base::real_file_system(), path(directory), tree);
  }
  std::string read(const std::string& file) {
    auto content = base::read_all(base::real_file_system(), path(file), 1 << 20);
    return content.ok() ? *content : "";
  }
  JobCachePlan plan(const std::string& directory) {
    EXPECT_TRUE(base::real_file_system().make_folder(path("scratch-" + directory)).ok());
    JobCachePlan made;
    made.directory = path(directory);
    made.binding = test_binding();
    made.trust = {{key.value().public_key()}, false};
    made.key = key.value();
    made.scratch = path("scratch-" + directory);
    made.threads = 1;
    return made;
  }
  std::size_t archives() {
    auto found = shelf.list("");
    EXPECT_TRUE(found.ok());
    return found.ok() ? found->size() : 0;
  }

  base::TempDir folder;
  const base::Result<SigningKey> key = SigningKey::make();
  FolderShelf shelf{base::real_file_system(), folder.path() + "/shelf"};
};

JobPulled pull(JobCache& job) {
  auto done = job.pull();
  EXPECT_TRUE(done.ok()) << done.status().message();
  return done.ok() ? *done : JobPulled{};
}

JobPushed push(JobCache& job) {
  auto done = job.push();
  EXPECT_TRUE(done.ok()) << done.status().message();
  return done.ok() ? *done : JobPushed{};
}

TEST(JobCache, WhatOneJobAddsTheNextOneHas) {
  Stage stage;
  JobCache first(stage.shelf, stage.plan("a"));
  EXPECT_EQ(pull(first).archives, 0U);
  EXPECT_EQ(push(first).files, 0U);  // no directory yet
  stage.write("a", {{"ab/c1.py", "1"}, {"ab/c1.main.so", "library"}});
  EXPECT_EQ(push(first).files, 2U);
  EXPECT_EQ(push(first).files, 0U);
  stage.write("a", {{"cd/c2.py", "2"}});
  EXPECT_EQ(push(first).files, 1U);  // the addition alone
  EXPECT_EQ(stage.archives(), 2U);

  JobCache second(stage.shelf, stage.plan("b"));
  const JobPulled pulled = pull(second);
  EXPECT_EQ(pulled.archives, 2U);
  EXPECT_EQ(pulled.written, 3U);
  EXPECT_EQ(stage.read("b/ab/c1.main.so"), "library");
  EXPECT_EQ(push(second).files, 0U);
  EXPECT_EQ(stage.archives(), 2U);
}

TEST(JobCache, DamagedLibrariesAreNeverSharedAndAreReplaced) {
  Stage stage;
  stage.write("a", {{"ab/c1.py", "1"}, {"ab/c1.main.so", "library"}, {"ab/c2.main.so", "other"}});
  JobCache first(stage.shelf, stage.plan("a"));
  EXPECT_EQ(push(first).files, 3U);

  // As after a power failure: one that is on the shelf, and one that is not.
  const std::string zeros(100, '\0');
  stage.write("b", {{"ab/c1.main.so", zeros}, {"ab/c9.main.so", zeros}});
  JobCache second(stage.shelf, stage.plan("b"));
  const JobPulled pulled = pull(second);
  EXPECT_EQ(stage.read("b/ab/c1.main.so"), "library");
  EXPECT_FALSE(std::filesystem::exists(stage.path("b/ab/c9.main.so")));
  ASSERT_EQ(pulled.notes.size(), 1U);
  EXPECT_THAT(pulled.notes[0], testing::HasSubstr("1 library in "));

  // In the middle of the job: what is broken stays where it is.
  stage.write("b", {{"ab/c2.main.so", zeros}, {"ab/c3.main.so", zeros}});
  EXPECT_EQ(push(second).files, 0U);
}

// How often a file is opened from now on.
class Opened {
 public:
  explicit Opened(const std::string& path) : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    // Closing, too: of events that are alike the system would make one.
    EXPECT_GE(::inotify_add_watch(fd_.get(), path.c_str(), IN_OPEN | IN_CLOSE), 0);
  }
  std::size_t times() {
    std::size_t opened = 0;
    std::array<char, 4096> buffer;
    for (ssize_t bytes = 0; (bytes = ::read(fd_.get(), buffer.data(), buffer.size())) > 0;) {
      for (std::size_t at = 0; at < static_cast<std::size_t>(bytes);) {
        inotify_event event;
        std::memcpy(&event, buffer.data() + at, sizeof(event));
        opened += (event.mask & IN_OPEN) != 0 ? 1 : 0;
        at += sizeof(event) + event.len;
      }
    }
    return opened;
  }

 private:
  const base::UniqueFd fd_;
};

TEST(JobCache, APullOpensEachLibraryOnce) {
  for (const bool only_additions : {false, true}) {
    Stage stage;
    stage.write("a", {{"ab/c1.main.so", "library"}});
    JobCachePlan plan = stage.plan("a");
    plan.only_additions = only_additions;
    JobCache job(stage.shelf, std::move(plan));
    Opened library(stage.path("a/ab/c1.main.so"));
    (void)pull(job);
    EXPECT_EQ(library.times(), 1U) << only_additions;
  }
}

TEST(JobCache, ADamagedLibraryThatIsBeingWrittenStays) {
  Stage stage;
  stage.write("a", {{"ab/c1.main.so", ""}, {"ab/c2.main.so", ""}, {"locks/c1.lock", ""}});
  const base::UniqueFd lock(::open(stage.path("a/locks/c1.lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  JobCache job(stage.shelf, stage.plan("a"));
  EXPECT_EQ(pull(job).notes.size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(stage.path("a/ab/c1.main.so")));
  EXPECT_FALSE(std::filesystem::exists(stage.path("a/ab/c2.main.so")));
}

TEST(JobCache, DamagedLibrariesOfAShelfAreLeftOutAndTold) {
  Stage stage;
  const std::string path = stage.path("bad.hwc");
  write_archive(base::real_file_system(), path,
                {{"ab/c1.py", "1"}, {"ab/c1.main.so", std::string(100, '\0')}}, &stage.key.value());
  const auto bad = open_archive(base::real_file_system(), path);
  ASSERT_TRUE(bad && cache::push(*bad, stage.shelf, 1).ok());
  JobCache job(stage.shelf, stage.plan("a"));
  const JobPulled pulled = pull(job);
  EXPECT_EQ(pulled.written, 1U);
  EXPECT_FALSE(std::filesystem::exists(stage.path("a/ab/c1.main.so")));
  ASSERT_EQ(pulled.notes.size(), 1U);
  EXPECT_EQ(pulled.notes[0], "1 library that others have shared was damaged and left out");
}

TEST(JobCache, WhatAnotherFamilyHadIsThereForTheOwn) {
  Stage stage;
  stage.write("a", {{"ab/c1.py", "1"}});
  JobCache first(stage.shelf, stage.plan("a"));
  EXPECT_EQ(push(first).files, 1U);

  JobCachePlan plan = stage.plan("b");
  plan.binding.family = "other";
  JobCache second(stage.shelf, plan);
  EXPECT_EQ(pull(second).written, 1U);
  stage.write("b", {{"cd/c2.py", "2"}});
  const JobPushed pushed = push(second);
  EXPECT_EQ(pushed.files, 2U);  // the next one of this family takes its family's alone
  EXPECT_EQ(pushed.passed_on, 1U) << "c1 is no news";

  JobCachePlan next = stage.plan("c");
  next.binding.family = "other";
  JobCache third(stage.shelf, next);
  EXPECT_EQ(pull(third).written, 2U);
}

TEST(JobCache, WhatWasPulledIsNoNewsHoweverManyArchivesHaveIt) {
  Stage stage;
  JobCache first(stage.shelf, stage.plan("a"));
  for (const char* config : {"{\"XBLOCK\": 4}", "{\"XBLOCK\": 8}"}) {
    stage.write("a", {{"cd/0123.best_config", config}});
    EXPECT_EQ(push(first).files, 1U);
  }
  JobCache second(stage.shelf, stage.plan("b"));
  EXPECT_EQ(pull(second).archives, 2U);
  EXPECT_EQ(stage.read("b/cd/0123.best_config"), "{\"XBLOCK\": 8}");
  EXPECT_EQ(push(second).files, 0U);
}

TEST(JobCache, WhatAnEarlierJobCouldNotPushIsPushed) {
  Stage stage;
  stage.write("a", {{"ab/c1.py", "1"}});
  JobCache job(stage.shelf, stage.plan("a"));
  (void)pull(job);
  EXPECT_EQ(push(job).files, 1U);
}

TEST(JobCache, OfSomebodyElsesDirectoryOnlyAdditions) {
  Stage stage;
  stage.write("a", {{"ab/c1.py", "1"}});
  JobCachePlan plan = stage.plan("a");
  plan.only_additions = true;
  JobCache job(stage.shelf, std::move(plan));
  (void)pull(job);
  EXPECT_EQ(push(job).files, 0U);
  stage.write("a", {{"ab/c2.py", "2"}});
  EXPECT_EQ(push(job).files, 1U);
}

TEST(JobCache, AStateThatWasWrittenAgainIsNew) {
  Stage stage;
  stage.write("a", {{"dynamo/code_state_job_0_.pkl", "one"}});
  JobCache job(stage.shelf, stage.plan("a"));
  EXPECT_EQ(push(job).files, 1U);
  stage.write("a", {{"dynamo/code_state_job_0_.pkl", "two"}});
  EXPECT_EQ(push(job).files, 1U);
  EXPECT_EQ(push(job).files, 0U);
}

TEST(JobCache, StatesOfAnotherJobComeUnderOurNameAndAreNotNews) {
  Stage stage;
  stage.write("a", {{"dynamo/code_state_monday_0_.pkl", "learned"}});
  JobCache monday(stage.shelf, stage.plan("a"));
  EXPECT_EQ(push(monday).files, 1U);
  JobCachePlan plan = stage.plan("b");
  plan.pgo = PgoRule{"*", "tuesday", 2};
  JobCache tuesday(stage.shelf, std::move(plan));
  (void)pull(tuesday);
  EXPECT_EQ(stage.read("b/dynamo/code_state_tuesday_1_.pkl"), "learned");
  EXPECT_EQ(push(tuesday).files, 0U);
}

TEST(JobCache, ManySmallOnesBecomeOneAndNothingIsLost) {
  Stage stage;
  JobCachePlan plan = stage.plan("a");
  plan.merge_min = 4;
  JobCache job(stage.shelf, std::move(plan));
  for (int i = 0; i < 6; ++i) {
    stage.write("a", {{"ab/c" + std::to_string(i) + ".py", std::to_string(i)}});
    EXPECT_EQ(push(job).files, 1U);
  }
  EXPECT_LE(stage.archives(), 3U);
  JobCache next(stage.shelf, stage.plan("b"));
  EXPECT_EQ(pull(next).written, 6U);
}

TEST(JobCache, AnothersArchivesAreNotMerged) {
  Stage stage;
  const auto other = SigningKey::make();
  for (int i = 0; i < 3; ++i) {
    JobCachePlan plan = stage.plan("o" + std::to_string(i));
    plan.key = other.value();
    stage.write("o" + std::to_string(i), {{"ab/o" + std::to_string(i) + ".py", "other"}});
    JobCache job(stage.shelf, std::move(plan));
    EXPECT_EQ(push(job).files, 1U);
  }
  JobCachePlan plan = stage.plan("a");
  plan.merge_min = 2;
  stage.write("a", {{"ab/c1.py", "1"}});
  JobCache job(stage.shelf, std::move(plan));
  EXPECT_EQ(push(job).merged, 0U);
  EXPECT_EQ(stage.archives(), 4U);
}

// Another job makes one archive of all when the first of them is fetched.
class MergedMeanwhile final : public Shelf {
 public:
  MergedMeanwhile(Shelf& shelf, CollectOptions options, std::string scratch)
      : shelf_(shelf), options_(std::move(options)), scratch_(std::move(scratch)) {}
  base::Result<std::vector<Shelved>> list(const std::string& folder) override {
    return shelf_.list(folder);
  }
  base::Result<bool> put(const std::string& path, const std::string& name) override {
    return shelf_.put(path, name);
  }
  base::Result<std::string> fetch(const Shelved& one, const std::string& scratch) override {
    if (!merged_) {
      EXPECT_TRUE(collect(shelf_, options_, scratch_).ok());
    }
    merged_ = true;
    return shelf_.fetch(one, scratch);
  }
  base::Result<Binding> binding_of(const Shelved& one) override { return shelf_.binding_of(one); }
  base::Status remove(const std::string& name) override { return shelf_.remove(name); }
  std::string place(const std::string& name) const override { return shelf_.place(name); }

 private:
  Shelf& shelf_;
  const CollectOptions options_;
  const std::string scratch_;
  bool merged_ = false;
};

TEST(JobCache, WhatIsMergedMeanwhileIsNotMissed) {
  Stage stage;
  JobCache first(stage.shelf, stage.plan("a"));
  for (int i = 0; i < 3; ++i) {
    stage.write("a", {{"ab/c" + std::to_string(i) + ".py", std::to_string(i)}});
    EXPECT_EQ(push(first).files, 1U);
  }
  JobCachePlan plan = stage.plan("b");
  CollectOptions options{.now_ns = 1, .trust = plan.trust, .key = &stage.key.value(), .threads = 1};
  MergedMeanwhile shelf(stage.shelf, std::move(options), stage.path("scratch-a"));
  JobCache second(shelf, std::move(plan));
  const JobPulled pulled = pull(second);
  EXPECT_EQ(pulled.written, 3U);
  EXPECT_TRUE(pulled.notes.empty());
  EXPECT_EQ(stage.archives(), 1U);
}

TEST(JobCache, WithoutAKeyNothingIsPushed) {
  Stage stage;
  stage.write("a", {{"ab/c1.py", "1"}});
  JobCachePlan plan = stage.plan("a");
  plan.key.reset();
  JobCache job(stage.shelf, std::move(plan));
  (void)pull(job);
  EXPECT_FALSE(job.push().ok());
  EXPECT_EQ(stage.archives(), 0U);
}

TEST(JobCache, AForeignSignerCostsANote) {
  Stage stage;
  stage.write("a", {{"ab/c1.py", "1"}});
  JobCache first(stage.shelf, stage.plan("a"));
  (void)push(first);
  JobCachePlan plan = stage.plan("b");
  plan.trust = {};
  JobCache second(stage.shelf, std::move(plan));
  const JobPulled pulled = pull(second);
  EXPECT_EQ(pulled.written, 0U);
  EXPECT_EQ(pulled.notes.size(), 1U);
}

// A library and its C++, named as torch does for that command.
Tree library_of(const std::string& command, const std::string& code) {
  const std::string key = library_key(code, command), stem = key.substr(1, 2) + "/" + key;
  return {{stem + ".main.cpp", code}, {stem + ".main.so", code_like(3000, 3)}};
}

TEST(JobCache, AtAnotherPathLibrariesGetTheNamesThatAreAskedForThere) {
  Stage stage;
  const std::string here = test_binding().environment, there = "/other/site-packages";
  int asked = 0;
  const auto plan = [&](const std::string& directory, const std::string& environment) {
    JobCachePlan made = stage.plan(directory);
    made.binding.environment = environment;
    made.ask_commands = [&asked, environment] {
      ++asked;
      return std::vector<std::string>{"g++ -I" + environment + "/torch/include"};
    };
    return made;
  };
  JobCache first(stage.shelf, plan("a", here));
  (void)pull(first);
  stage.write("a", {{"ab/c1.py", "1"}});
  EXPECT_EQ(push(first).files, 1U);
  EXPECT_EQ(asked, 0) << "it takes seconds, and there is no library yet";
  stage.write("a", library_of("g++ -I" + here + "/torch/include", "int one;"));
  EXPECT_EQ(push(first).files, 2U);
  stage.write("a", library_of("g++ -I" + here + "/torch/include", "int two;"));
  EXPECT_EQ(push(first).files, 2U);
  EXPECT_EQ(asked, 1);

  JobCache second(stage.shelf, plan("b", there));
  const JobPulled pulled = pull(second);
  EXPECT_EQ(pulled.written, 5U);
  EXPECT_TRUE(pulled.notes.empty()) << pulled.notes.front();
  for (const char* code : {"int one;", "int two;"}) {
    for (const auto& [path, content] : library_of("g++ -I" + there + "/torch/include", code)) {
      EXPECT_EQ(stage.read("b/" + path), content) << path;
    }
  }
  // For the next job here they are put beside it, under their new names, and are no news.
  const JobPushed passed = push(second);
  EXPECT_EQ(passed.files, 5U);
  EXPECT_EQ(passed.passed_on, 5U);
  EXPECT_EQ(push(second).files, 0U);
  JobCache third(stage.shelf, plan("c", there));
  EXPECT_EQ(pull(third).written, 5U);
  const int before = asked;
  stage.write("c", library_of("g++ -I" + there + "/torch/include", "int three;"));
  EXPECT_EQ(push(third).files, 2U);
  EXPECT_EQ(asked, before) << "the archive that was pulled has told it";
}

TEST(JobCache, LibrariesThatNobodyFindsAtAnotherPathAreTold) {
  Stage stage;
  JobCache first(stage.shelf, stage.plan("a"));
  (void)pull(first);
  stage.write("a", library_of("g++ -I/venv", "int one;"));
  EXPECT_EQ(push(first).files, 2U);
  JobCachePlan plan = stage.plan("b");
  plan.binding.environment = "/other";
  JobCache second(stage.shelf, plan);
  const JobPulled pulled = pull(second);
  ASSERT_EQ(pulled.notes.size(), 1U);
  EXPECT_THAT(pulled.notes[0], testing::HasSubstr("1 library for torch in /venv/lib"));
}

}  // namespace
}  // namespace headway::cache
