#include "compile/payload_copy.h"

#include <gtest/gtest.h>

#include "base/temp_dir.h"
#include "compile/test_log.h"
#include "compile/trace_fold.h"

namespace headway::compile {
namespace {

std::string copied(PayloadSource& source, const Place& place) {
  std::string out;
  EXPECT_TRUE(source
                  .copy(place,
                        [&](std::string_view piece) {
                          out += piece;
                          return true;
                        })
                  .ok());
  return out;
}

// Line breaks, tabs and ends of all kinds, also where one piece ends and the next begins.
TEST(PayloadCopy, IsWhatTorchDumped) {
  std::string long_text;
  while (long_text.size() < (std::size_t{3} << 20)) {
    long_text += std::string(long_text.size() % 97, 'x') + "\n\ty\n";
  }
  std::string tabs(std::size_t{2} << 20, '\t');
  for (std::size_t i = 0; i < tabs.size(); i += 3) tabs[i] = '\n';
  const std::vector<std::string> payloads = {
      "a", "a\n", "\ta", "\n\n", "\ta\n\t\tb\n", "é\n", "a\nb\n", long_text, tabs + "end"};
  TestLog log;
  for (const std::string& payload : payloads) log.add("some_graph", "{}", "0/0", payload);
  const base::TempDir dir;
  const std::string path = dir.write("t.log", log.text());
  ComponentTable components;
  auto folded = fold_file(path, {}, components);
  ASSERT_TRUE(folded.ok());
  const auto& artifacts = folded->compiles.at(0).artifacts;
  ASSERT_EQ(artifacts.size(), payloads.size());
  auto source = PayloadSource::open(path);
  ASSERT_TRUE(source.ok());
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    EXPECT_TRUE(copied(*source, artifacts[i].place) == payloads[i]) << "payload " << i;
    EXPECT_EQ(source->text(artifacts[i].place, 4).value(), payloads[i].substr(0, 4));
  }
}

TEST(PayloadCopy, AFileThatBecameShorterIsAnError) {
  const base::TempDir dir;
  auto source = PayloadSource::open(dir.write("t.log", "abc"));
  ASSERT_TRUE(source.ok());
  const auto status = source->copy({1, 10}, [](std::string_view) { return true; });
  EXPECT_NE(status.message().find("t.log: has become shorter"), std::string::npos);
  EXPECT_FALSE(PayloadSource::open(dir.path() + "/none").ok());
}

}  // namespace
}  // namespace headway::compile
