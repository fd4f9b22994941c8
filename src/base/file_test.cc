#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/temp_dir.h"

namespace headway::base {
namespace {

TEST(File, WritesAtomicallyAndReadsBack) {
  const TempDir dir;
  const std::string path = dir.path() + "/f";
  ASSERT_TRUE(write_file_atomic(path, "one").ok());
  ASSERT_TRUE(write_file_atomic(path, std::string(200000, 'x')).ok());
  EXPECT_EQ(read_file(path, 1 << 20).value().size(), 200000u);
  EXPECT_EQ(read_file(path, 1000).status().code(), Code::invalid_input);
  EXPECT_EQ(read_file(dir.path() + "/none", 10).status().code(), Code::not_found);
  EXPECT_EQ(list_files(dir.path(), "", 0, 10).value().size(), 1u);  // no temporary is left behind
  EXPECT_FALSE(write_file_atomic(dir.path() + "/none/f", "x").ok());
}

TEST(File, MakesFolders) {
  const TempDir dir;
  EXPECT_TRUE(make_dirs(dir.path() + "/a/b/c").ok());
  EXPECT_TRUE(make_dirs(dir.path() + "/a/b/c/").ok());
  ASSERT_TRUE(write_file_atomic(dir.path() + "/file", "").ok());
  EXPECT_EQ(make_dirs_errno(dir.path() + "/file/x"), ENOTDIR);
  EXPECT_EQ(make_dirs_errno(dir.path() + "/file"), ENOTDIR);
  EXPECT_EQ(make_dirs_errno(""), ENOENT);
}

TEST(File, ListsSortedAndBounded) {
  const TempDir dir;
  ASSERT_TRUE(make_dirs(dir.path() + "/2/x").ok());
  for (const char* name : {"/b.hwj", "/a.hwj", "/2/c.hwj", "/2/x/d.hwj", "/no.txt"}) {
    ASSERT_TRUE(write_file_atomic(dir.path() + name, "").ok());
  }
  const auto all = list_files(dir.path(), ".hwj", 2, 10).value();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0], dir.path() + "/2/c.hwj");
  EXPECT_EQ(all[3], dir.path() + "/b.hwj");
  EXPECT_EQ(list_files(dir.path(), ".hwj", 0, 10).value().size(), 2u);
  EXPECT_EQ(list_files(dir.path(), ".hwj", 2, 3).status().code(), Code::invalid_input);
  EXPECT_EQ(list_files(dir.path() + "/none", ".hwj", 2, 3).status().code(), Code::not_found);
}

TEST(File, UniqueFdClosesOnce) {
  int raw = -1;
  {
    UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(fd.valid());
    raw = fd.get();
    UniqueFd moved(std::move(fd));
    EXPECT_EQ(moved.get(), raw);
  }
  EXPECT_EQ(::fcntl(raw, F_GETFD), -1);
}

}  // namespace
}  // namespace headway::base
