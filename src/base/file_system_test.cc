#include "base/file_system.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "base/aligned_memory.h"
#include "base/sim_file_system.h"
#include "base/temp_dir.h"

namespace headway::base {
namespace {

// The same promises of both.
void check_promises(FileSystem& files, const std::string& root) {
  const std::string folder = root + "/a";
  EXPECT_TRUE(files.make_folder(folder).ok());
  EXPECT_TRUE(files.make_folder(folder).ok()) << "as good";
  EXPECT_EQ(files.make_folder(root + "/b/c").code(), Code::not_found);
  EXPECT_EQ(files.list(root + "/b").status().code(), Code::not_found);
  EXPECT_EQ(read_all(files, folder + "/x", 10).status().code(), Code::not_found);
  {
    auto file = files.create(folder + "/x", {.bytes = 6});
    ASSERT_TRUE(file.ok());
    EXPECT_FALSE(files.create(folder + "/x", {}).ok()) << "it is there";
    EXPECT_TRUE((*file)->write(3, bytes_of("def")).ok());
    EXPECT_TRUE((*file)->write(0, bytes_of("abc")).ok());
    EXPECT_TRUE((*file)->sync().ok());
    EXPECT_TRUE((*file)->close().ok());
  }
  EXPECT_EQ(read_all(files, folder + "/x", 6).value(), "abcdef");
  EXPECT_EQ(read_all(files, folder + "/x", 5).status().code(), Code::corrupt);
  auto input = files.open(folder + "/x");
  ASSERT_TRUE(input.ok());
  std::byte into[4];
  EXPECT_TRUE((*input)->read(2, into).ok());
  EXPECT_EQ((*input)->read(3, into).code(), Code::corrupt) << "it ends too early";
  EXPECT_TRUE(replace_file(files, folder + "/x", bytes_of("new")).ok());
  EXPECT_EQ(read_all(files, folder + "/x", 10).value(), "new");
  EXPECT_TRUE(files.rename(folder, root + "/d").ok());
  const auto entries = files.list(root).value();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].name, "d");
  EXPECT_TRUE(entries[0].is_folder);
  EXPECT_EQ(files.list(root + "/d").value().at(0).bytes, 3U);
  EXPECT_FALSE(files.remove_folder(root + "/d").ok()) << "not empty";
  EXPECT_TRUE(files.remove_file(root + "/d/x").ok());
  EXPECT_TRUE(files.remove_folder(root + "/d").ok());
  EXPECT_TRUE(files.sync_folder(root).ok());
}

TEST(FileSystem, TheRealOne) {
  const TempDir dir;
  check_promises(real_file_system(), dir.path());
}

TEST(FileSystem, LinksAreToldAndPipesHoldNobodyUp) {
  const TempDir dir;
  dir.write("file", "12345");
  ASSERT_EQ(::symlink("file", (dir.path() + "/link").c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", (dir.path() + "/lost").c_str()), 0);
  ASSERT_EQ(::mkfifo((dir.path() + "/pipe").c_str(), 0600), 0);
  const auto entries = real_file_system().list(dir.path()).value();
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_FALSE(entries[0].is_link);
  EXPECT_TRUE(entries[1].is_link);
  EXPECT_EQ(entries[1].bytes, 5U);
  EXPECT_TRUE(entries[2].is_link);
  EXPECT_FALSE(real_file_system().open(dir.path() + "/pipe").ok());
}

TEST(FileSystem, AFolderThatOthersRemoveIsMadeAllTheSame) {
  const TempDir dir;
  const std::string path = dir.path() + "/now and then";
  std::atomic<bool> ends = false;
  std::thread other([&] {
    while (!ends) {
      (void)::mkdir(path.c_str(), 0700);
      (void)::rmdir(path.c_str());
    }
  });
  Status status;
  for (int i = 0; i < 20'000 && status.ok(); ++i) status = real_file_system().make_folder(path);
  ends = true;
  other.join();
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(FileSystem, AFolderIsNotMadeWhereSomethingElseIs) {
  const TempDir dir;
  dir.write("file", "");
  ASSERT_EQ(::symlink("nowhere", (dir.path() + "/lost").c_str()), 0);
  ASSERT_EQ(::symlink(".", (dir.path() + "/link").c_str()), 0);
  EXPECT_EQ(real_file_system().make_folder(dir.path() + "/file").code(), Code::io_error);
  EXPECT_EQ(real_file_system().make_folder(dir.path() + "/lost").code(), Code::io_error);
  EXPECT_TRUE(real_file_system().make_folder(dir.path() + "/link").ok());
}

TEST(FileSystem, TheOneOfTests) {
  SimFileSystem files;
  ASSERT_TRUE(files.make_folder("/r").ok());
  check_promises(files, "/r");
}

TEST(FileSystem, PastTheCacheOrNotTheBytesAreTheSame) {
  const TempDir dir;
  FileSystem& files = real_file_system();
  constexpr std::size_t bytes = 5 * direct_alignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(direct_alignment, bytes));
  ASSERT_NE(memory, nullptr);
  for (std::size_t i = 0; i < bytes; ++i) memory[i] = static_cast<std::byte>(i * 7 + i / 4096);
  const std::string path = dir.path() + "/x";
  auto file = files.create(path, {.direct = true});
  ASSERT_TRUE(file.ok()) << file.status().message();
  const std::span<const std::byte> all(memory, bytes);
  EXPECT_TRUE((*file)->write(0, all.first(3 * direct_alignment)).ok());
  EXPECT_TRUE((*file)->write(3 * direct_alignment, all.subspan(3 * direct_alignment, 5000)).ok());
  EXPECT_TRUE(
      (*file)->write(3 * direct_alignment + 5000, all.subspan(3 * direct_alignment + 5000)).ok());
  EXPECT_TRUE((*file)->sync().ok());
  EXPECT_TRUE((*file)->close().ok());
  const std::string text = read_all(files, path, bytes).value();
  EXPECT_EQ(text, std::string(reinterpret_cast<const char*>(memory), bytes));
  AlignedMemory into;
  auto input = files.open_direct(path);
  ASSERT_TRUE(input.ok());
  for (const std::size_t offset : {std::size_t{0}, std::size_t{7}, direct_alignment}) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{9}, 2 * direct_alignment, bytes - offset}) {
      const auto part = into.take(size);
      EXPECT_TRUE((*input)->read(offset, part).ok()) << offset << " " << size;
      EXPECT_TRUE(std::equal(part.begin(), part.end(), memory + offset)) << offset << " " << size;
    }
  }
  EXPECT_EQ((*input)->read(direct_alignment, into.take(bytes)).code(), Code::corrupt);
  std::free(memory);
}

TEST(SimFileSystem, ACrashKeepsWhatWasSyncedAndAnyPartOfTheRest) {
  SimFileSystem files;
  ASSERT_TRUE(files.make_folder("/f").ok());
  ASSERT_TRUE(files.sync_folder("/").ok());
  auto file = files.create("/f/x", {});
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->write(0, bytes_of("old")).ok());
  ASSERT_TRUE((*file)->sync().ok());
  ASSERT_TRUE(files.sync_folder("/f").ok());
  ASSERT_TRUE((*file)->write(0, bytes_of(std::string(2000, 'n'))).ok());
  ASSERT_TRUE(files.rename("/f/x", "/f/y").ok());
  ASSERT_EQ(files.loose_ends(), 2U);
  const auto contents = [&](double write, double name) {
    // Folders are numbered before the files in them.
    const auto after = files.after_crash([&](std::size_t i) { return i == 0 ? name : write; });
    return after->contents();
  };
  EXPECT_EQ(contents(0, 0).at("/f/x"), "old");
  EXPECT_EQ(contents(1, 0).at("/f/x"), std::string(2000, 'n'));
  EXPECT_EQ(contents(0, 1).at("/f/y"), "old") << "a name without the data";
  const std::string torn = contents(0.5, 1).at("/f/y");
  EXPECT_EQ(torn, std::string(2 * SimFileSystem::sector_bytes, 'n'));
}

TEST(SimFileSystem, FailsOnceAndLosesPowerForGood) {
  SimFileSystem files;
  files.fail_at(1);
  EXPECT_TRUE(files.make_folder("/a").ok());
  EXPECT_FALSE(files.make_folder("/b").ok());
  EXPECT_TRUE(files.make_folder("/b").ok());
  files.lose_power_at(0);
  EXPECT_FALSE(files.make_folder("/c").ok());
  EXPECT_FALSE(files.list("/").ok());
}

}  // namespace
}  // namespace headway::base
