#include "compile/log_pieces.h"

#include <gtest/gtest.h>

#include <random>

#include "base/temp_dir.h"
#include "compile/payload_copy.h"
#include "compile/test_log.h"
#include "compile/trace_fold.h"
#include "compile/trace_job.h"
#include "compile/trace_reader.h"

namespace headway::compile {
namespace {

using Paths = std::vector<std::string>;

TEST(LogPieces, NamesOfRotatedFiles) {
  for (const char* name : {"a/x.log.1", "a/x.log.27", "a/x.log-20260101", "a/x.log-20260101-1530",
                           "a/x.log-1767225600"}) {
    EXPECT_EQ(log_of(name), "a/x.log") << name;
  }
  for (const char* name :
       {"a/x.log", "a/x.log.gz", "a/x.log.", "a/x.log-", "a/x.log-7", "a/x.log.1x", "a.log.1/x",
        "a.log.1/x.txt", "x.log.1.gz", "", "x.log.111111111111111111111111"}) {
    EXPECT_EQ(log_of(name), name);
  }
}

TEST(LogPieces, TheOldestIsFirst) {
  const base::TempDir dir;
  const std::string log = dir.path() + "/x.log";
  for (const char* name : {"x.log.2", "x.log.10", "x.log.1", "x.log-20260102", "x.log-20251231",
                           "x.log", "x.log.gz", "y.log.1", "x.logs.1"}) {
    dir.write(name, "");
  }
  const auto pieces = pieces_of(log);
  ASSERT_TRUE(pieces.ok());
  EXPECT_EQ(pieces.value(), (Paths{log + "-20251231", log + "-20260102", log + ".10", log + ".2",
                                   log + ".1", log}));
  EXPECT_TRUE(pieces_of(dir.path() + "/none.log")->empty());
  EXPECT_TRUE(pieces_of(dir.path() + "/none/x.log")->empty());
}

TEST(LogPieces, EachLogOnceWhateverIsNamed) {
  const base::TempDir dir;
  const std::string name = "dedicated_log_torch_trace_rank_1_x.log";
  dir.write("a/" + name + ".1", "");
  dir.write("a/" + name + ".2", "");
  dir.write("a/" + name + "-old.log", "");
  dir.write("b/" + name, "");
  dir.write("b/" + name + ".1", "");
  const std::string here = dir.path() + "/a/" + name, there = dir.path() + "/b/" + name;
  // One whose newest file has gone already is read, too.
  auto found = find_logs({dir.path()});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(*found, (Paths{here, here + "-old.log", there}));
  found = find_logs({there, there + ".1", here + ".2"});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(*found, (Paths{here, there}));
}

std::string all_of(const std::string& log) {
  auto reader = TraceReader::open(log, {});
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  auto source = PayloadSource::open(log);
  EXPECT_TRUE(source.ok());
  std::string told;
  TraceRecord record;
  while (reader->next(record)) {
    told += std::string(record.prefix.json) + "|" + std::string(record.payload) + "|";
    // The same again by its place, as a report takes it.
    const auto again = source->raw({record.payload_at, record.payload_bytes}, SIZE_MAX);
    EXPECT_TRUE(again.ok()) << again.status().message();
    if (again.ok()) told += again.value() + "\n";
  }
  EXPECT_TRUE(reader->status().ok()) << reader->status().message();
  const TraceCounts& counts = reader->counts();
  EXPECT_EQ(counts.foreign_lines + counts.stray_lines + counts.bad_records + counts.torn_records +
                counts.missing_payloads + counts.wrong_payloads,
            0u)
      << counts.first_bad_line;
  return told;
}

TEST(LogPieces, CutAnywhereTheyTellTheSame) {
  TestLog log;
  for (int i = 0; i < 40; ++i) {
    std::string payload = "a graph of " + std::to_string(i);
    for (int line = 0; line < i; ++line) payload += "\nline " + std::to_string(line);
    log.artifact("g", "0/0", payload);
  }
  const std::string& text = log.text();
  const base::TempDir dir;
  const std::string whole = all_of(dir.write("whole/x.log", text));
  EXPECT_GT(whole.size(), text.size());
  for (unsigned seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<std::size_t> cuts{0, text.size()};
    for (unsigned i = 0; i < 1 + seed % 12; ++i) cuts.push_back(random() % (text.size() + 1));
    std::ranges::sort(cuts);
    const std::string folder = std::to_string(seed) + "/";
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const std::size_t age = cuts.size() - 2 - i;
      dir.write(folder + (age == 0 ? "x.log" : "x.log." + std::to_string(age)),
                text.substr(cuts[i], cuts[i + 1] - cuts[i]));
    }
    EXPECT_EQ(all_of(dir.path() + "/" + folder + "x.log"), whole);
  }
}

}  // namespace
}  // namespace headway::compile
