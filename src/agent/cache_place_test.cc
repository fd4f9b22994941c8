#include "agent/cache_place.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temp_dir.h"

namespace headway::agent {
namespace {

RunOptions script(const std::string& path, const std::string& cache = "auto") {
  RunOptions options;
  options.command = {path};
  options.cache = cache;
  return options;
}

const Environment home = {{"HOME", "/home/me"}};

TEST(CachePlace, AShelfOfTheUsersOwnUnlessOneIsNamed) {
  const auto place = cache_place(script("d/train.py"), home, "cpu", 7);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->shelf, "/home/me/.cache/headway/compile");
  EXPECT_TRUE(place->own_shelf && place->own_directory);
  EXPECT_EQ(place->family, "train");
  EXPECT_TRUE(place->directory.starts_with("/tmp/headway-7/compile/train-")) << place->directory;
  EXPECT_TRUE(place->pgo_job.empty());

  Environment named = home;
  named["HEADWAY_CACHE"] = "s3://models/caches";
  EXPECT_EQ(cache_place(script("train.py", ""), named, "cpu", 7)->shelf, "s3://models/caches");
  EXPECT_FALSE(cache_place(script("train.py", ""), named, "cpu", 7)->own_shelf);
  RunOptions options = script("train.py");
  options.cache = "/shared/caches/";
  EXPECT_TRUE(cache_place(options, named, "cpu", 7)->shelf.starts_with("/shared/caches"));
}

TEST(CachePlace, SwitchedOff) {
  RunOptions options = script("train.py");
  options.cache = "off";
  EXPECT_FALSE(cache_place(options, home, "cpu", 7));
  Environment off = home;
  off["HEADWAY_CACHE"] = "off";
  EXPECT_FALSE(cache_place(script("train.py", ""), off, "cpu", 7));
  EXPECT_FALSE(cache_place(script("train.py", ""), home, "cpu", 7));  // nobody asked
  EXPECT_FALSE(cache_place(script("train.py"), {}, "cpu", 7));        // nowhere to keep it
}

TEST(CachePlace, AWarmStartLeavesOutWhatItCanUnlessOffWasSaid) {
  for (const char* word : {"", "local", "auto", "/shared"}) {
    EXPECT_TRUE(may_compile_warm(script("train.py", word), home)) << word;
  }
  EXPECT_FALSE(cache_place(script("train.py", "local"), home, "cpu", 7));
  EXPECT_FALSE(may_compile_warm(script("train.py", "off"), home));
  Environment off = home;
  off["HEADWAY_CACHE"] = "off";
  EXPECT_FALSE(may_compile_warm(script("train.py", ""), off));
  EXPECT_TRUE(may_compile_warm(script("train.py", "local"), off));
  RunOptions launcher = script("torchrun", "");
  launcher.kind = CommandKind::program;
  EXPECT_FALSE(may_compile_warm(launcher, home)) << "only measured";
  launcher.cache = "auto";
  EXPECT_TRUE(may_compile_warm(launcher, home));
}

TEST(CachePlace, KernelsOfAllDevicesShareAFolderUnlessTheUserNamedOne) {
  const auto place = cache_place(script("train.py"), home, "cpu", 7);
  ASSERT_TRUE(place);
  Environment environment = home;
  name_cache_folders(*place, environment);
  EXPECT_EQ(environment["TORCHINDUCTOR_CACHE_DIR"], place->directory);
  EXPECT_EQ(environment["TRITON_CACHE_DIR"], place->directory + "/triton/0");
  environment["TRITON_CACHE_DIR"] = "/scratch/triton";
  name_cache_folders(*place, environment);
  EXPECT_EQ(environment["TRITON_CACHE_DIR"], "/scratch/triton");
}

TEST(CachePlace, TheUsersDirectoryAndJobStay) {
  Environment set = home;
  set["TORCHINDUCTOR_CACHE_DIR"] = "/scratch/inductor";
  set["TORCH_COMPILE_JOB_ID"] = "monday";
  const auto place = cache_place(script("train.py"), set, "cpu", 7);
  EXPECT_EQ(place->directory, "/scratch/inductor");
  EXPECT_FALSE(place->own_directory);
  EXPECT_EQ(place->pgo_job, "monday");
  RunOptions learning = script("train.py");
  learning.learn_shapes = true;
  EXPECT_EQ(cache_place(learning, home, "cpu", 7)->pgo_job, "train");
}

TEST(CachePlace, ProcessorsHaveDirectoriesOfTheirOwn) {
  EXPECT_NE(cache_place(script("train.py"), home, "avx2", 7)->directory,
            cache_place(script("train.py"), home, "avx512", 7)->directory);
}

TEST(CachePlace, AFamilyIsAlwaysAFoldersName) {
  RunOptions options = script("train.py");
  options.attrs = {{"family", "../a b/ü"}};
  const std::string family = cache_family(options);
  EXPECT_EQ(family.find('/'), std::string::npos);
  EXPECT_NE(family.front(), '.');
  options.attrs = {{"family", std::string(500, 'x')}};
  EXPECT_EQ(cache_family(options).size(), 100U);
}

TEST(CachePlace, AFolderThatOthersCanWriteIsRefused) {
  base::TempDir folder;
  Environment set = home;
  set["TMPDIR"] = folder.path();
  const auto place = cache_place(script("train.py"), set, "cpu", ::geteuid());
  EXPECT_TRUE(prepare_cache_directory(*place).ok());
  struct stat info{};
  const std::string ours = folder.path() + "/headway-" + std::to_string(::geteuid());
  ASSERT_EQ(::stat(ours.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
  ASSERT_EQ(::chmod(ours.c_str(), 0777), 0);
  EXPECT_FALSE(prepare_cache_directory(*place).ok());
}

}  // namespace
}  // namespace headway::agent
