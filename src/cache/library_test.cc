#include "cache/library.h"

#include <gtest/gtest.h>

#include "base/file_system.h"

namespace headway::cache {
namespace {

bool damaged(std::string_view content) {
  return is_damaged_library(std::as_bytes(std::span(content)));
}

// This very program is one that a linker made.
std::string whole() {
  auto content = base::read_all(base::real_file_system(), "/proc/self/exe", 1ULL << 30);
  EXPECT_TRUE(content.ok());
  return content.ok() ? *content : "";
}

TEST(Library, OneThatIsCutShortAnywhereIsDamaged) {
  const std::string program = whole();
  EXPECT_FALSE(damaged(program));
  const std::size_t in_its_last_table = program.size() - 64;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{4}, std::size_t{63}, std::size_t{64},
                                  std::size_t{3000}, program.size() / 2, in_its_last_table}) {
    EXPECT_TRUE(damaged(std::string_view(program).substr(0, bytes))) << bytes;
  }
}

TEST(Library, ZerosAreDamagedAndWhatIsNoLibraryIsNotJudged) {
  EXPECT_TRUE(damaged(std::string(1'000, '\0')));
  EXPECT_FALSE(damaged("some text"));
}

TEST(Library, HeadersThatOverflowAreDamaged) {
  std::string program = whole();
  program.replace(0x28, 8, 8, '\xff');  // where its sections are
  EXPECT_TRUE(damaged(program));
}

}  // namespace
}  // namespace headway::cache
