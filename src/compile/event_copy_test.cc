#include "compile/event_copy.h"

#include <gtest/gtest.h>

#include "base/temp_dir.h"
#include "compile/test_log.h"

namespace headway::compile {
namespace {

TEST(EventCopy, AListOfWhatIsWhole) {
  TestLog log;
  log.add("chromium_event", "{}", "0/0",
          "{\n\"name\": \"a\tb\",\n\"ts\": 1\n}");  // a raw tab: no JSON
  log.add("chromium_event", "{}", "0/0", "{\n\"name\": \"x y\\n\",\n\"ts\": 1.5\n}");
  log.add("some_graph", "{}", "0/0", "{}");
  log.add("chromium_event", "{}", "", "{\"name\": \"z\"");
  log.add("chromium_event", "{}", "", "[1]");
  log.add("chromium_event", "{}", "", "{\"name\": \"z\"}");
  const base::TempDir dir;
  std::string out;
  const auto count = copy_events(dir.write("t.log", log.text()), [&](std::string_view piece) {
    out += piece;
    return true;
  });
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(count.value(), 2u);
  EXPECT_EQ(out, "[\n{\"name\": \"x y\\n\",\"ts\": 1.5},\n{\"name\": \"z\"}\n]\n");
  EXPECT_FALSE(copy_events(dir.path() + "/none", [](std::string_view) { return true; }).ok());
}

}  // namespace
}  // namespace headway::compile
