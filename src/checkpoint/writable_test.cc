#include "checkpoint/writable.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temp_dir.h"

namespace headway::checkpoint {
namespace {

TEST(Unwritable, NothingIsSaidOfWhatCanBeWritten) {
  const base::TempDir dir;
  EXPECT_EQ(unwritable_advice(dir.path()), "");
  EXPECT_EQ(unwritable_advice(dir.path() + "/not/yet/there"), "");
}

TEST(Unwritable, AFileInTheWayIsNamed) {
  const base::TempDir dir;
  const std::string file = dir.write("file", "x");
  EXPECT_EQ(unwritable_advice(file), "; " + file + " is a file: remove it, or name another folder");
}

TEST(Unwritable, WhoOwnsItIsTold) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const base::TempDir dir;
  ASSERT_EQ(::chmod(dir.path().c_str(), 0555), 0);
  const std::string said = unwritable_advice(dir.path() + "/below");
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  EXPECT_TRUE(said.starts_with("; " + dir.path() + " belongs to ")) << said;
  EXPECT_NE(said.find("(mode 555)"), std::string::npos) << said;
  EXPECT_TRUE(said.ends_with("or name another folder")) << said;
}

TEST(Unwritable, TheErrorStaysWhatItIs) {
  const base::TempDir dir;
  const std::string file = dir.write("file", "x");
  const base::Status said = with_unwritable_advice(base::Status::io("cannot"), file);
  EXPECT_EQ(said.code(), base::Code::io_error);
  EXPECT_TRUE(said.message().starts_with("cannot; " + file)) << said.message();
  EXPECT_TRUE(with_unwritable_advice({}, file).ok());
}

}  // namespace
}  // namespace headway::checkpoint
