#include "compile/trace_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/temp_dir.h"

namespace headway::compile {
namespace {

constexpr std::string_view kPrefix = "V1117 12:13:13.262000 11797 torch/x.py:1] ";
// md5 of "one\n\ntwo"
constexpr std::string_view kMd5 = "3c2dfd19f9892c3b9ddb3ba633d9363d";

std::string record(std::string_view json, std::string_view payload = {}) {
  return fmt::format("{}{}\n{}", kPrefix, json, payload);
}

struct Told {
  std::vector<std::string> types;
  std::vector<std::string> payloads;
  std::vector<std::uint64_t> lines;
  TraceCounts counts;
};

Told read(const std::string& content, bool verify = false) {
  const base::TempDir dir;
  const std::string path = dir.write("t.log", content);
  auto reader = TraceReader::open(path, {.verify = verify});
  EXPECT_TRUE(reader.ok());
  Told out;
  TraceRecord one;
  while (reader->next(one)) {
    out.types.emplace_back(one.envelope.type);
    out.payloads.push_back(payload_text(one.payload));
    out.lines.push_back(one.line);
    if (one.payload_bytes > 0 && one.payload_bytes <= kPayloadBytesMax) {
      EXPECT_EQ(content.substr(one.payload_at, one.payload.size()), one.payload);
    }
  }
  EXPECT_TRUE(reader->status().ok());
  out.counts = reader->counts();
  EXPECT_EQ(out.counts.bytes, content.size());
  return out;
}

TEST(TraceReader, RecordsAndPayloads) {
  const Told told = read(record(R"({"a": {}})") +
                         record(R"({"b": {}, "has_payload": "x"})", "\tone\n\t\n\ttwo\n") +
                         record(R"({"c": {}})"));
  EXPECT_EQ(told.types, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(told.payloads, (std::vector<std::string>{"", "one\n\ntwo", ""}));
  EXPECT_EQ(told.lines, (std::vector<std::uint64_t>{1, 2, 6}));
  EXPECT_EQ(told.counts.records, 3u);
  EXPECT_EQ(told.counts.lines, 6u);
  EXPECT_EQ(told.counts.first_bad_line, 0u);
}

TEST(TraceReader, PayloadsAreComparedWhenAsked) {
  const auto text = [](std::string_view md5) {
    return record(fmt::format(R"({{"b": {{}}, "has_payload": "{}"}})", md5), "\tone\n\t\n\ttwo\n");
  };
  EXPECT_EQ(read(text(kMd5), true).counts.wrong_payloads, 0u);
  EXPECT_EQ(read(text("00000000000000000000000000000000"), true).counts.wrong_payloads, 1u);
  EXPECT_EQ(read(text("short"), true).counts.wrong_payloads, 1u);
  EXPECT_EQ(read(text("short")).counts.wrong_payloads, 0u);
  EXPECT_EQ(read(text(kMd5) + text(kMd5) + text("short"), true).counts.verified_payloads, 2u);
  EXPECT_EQ(read(text(kMd5)).counts.verified_payloads, 0u);
  // Cut off in its payload, or announced and not there: nothing was compared.
  const std::string whole = text(kMd5);
  EXPECT_EQ(read(whole.substr(0, whole.size() - 2), true).counts.verified_payloads, 0u);
  EXPECT_EQ(read(whole.substr(0, whole.find('\n') + 1), true).counts.verified_payloads, 0u);
}

TEST(TraceReader, ForeignStrayAndBadLinesAreCounted) {
  const Told told = read("\tstray\n\tstray\nhello\n\n" + record(R"({"a": {}})") +
                         record(R"({"a": )", "\tits payload\n") +
                         record(R"({"p": {}, "has_payload": "x"})") + record(R"({"b": {}})"));
  EXPECT_EQ(told.types, (std::vector<std::string>{"a", "p", "b"}));
  EXPECT_EQ(told.counts.stray_lines, 2u);
  EXPECT_EQ(told.counts.foreign_lines, 2u);
  EXPECT_EQ(told.counts.bad_records, 1u);
  EXPECT_EQ(told.counts.missing_payloads, 1u);
  EXPECT_EQ(told.counts.first_bad_line, 1u);
}

TEST(TraceReader, CutAnywhere) {
  const std::string whole = record(R"({"a": {}})") +
                            record(R"({"b": {}, "has_payload": "x"})", "\tone\n\ttwo\n") +
                            record(R"({"c": {"d": [1, 2]}})");
  for (std::size_t n = 0; n <= whole.size(); ++n) {
    const Told told = read(whole.substr(0, n));
    EXPECT_LE(told.counts.records, 3u);
    EXPECT_EQ(told.counts.foreign_lines + told.counts.bad_records, 0u) << n;
    EXPECT_LE(told.counts.torn_records, 1u) << n;
    EXPECT_EQ(read(whole.substr(n)).counts.torn_records, 0u) << n;
  }
}

TEST(TraceReader, PayloadsLongerThanAreKept) {
  std::string lines;
  while (lines.size() <= kPayloadBytesMax) lines += "\t" + std::string(1000, 'x') + "\n";
  for (const std::string& payload : {lines, "\t" + std::string(kPayloadBytesMax + 7, 'y') + "\n"}) {
    const std::string content =
        record(R"({"a": {}, "has_payload": "x"})", payload) + record(R"({"b": {}})", "\tz\n");
    const Told told = read(content);
    EXPECT_EQ(told.types, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(told.counts.cut_payloads, 1u);
    EXPECT_EQ(told.payloads[1], "z");
    EXPECT_LE(told.payloads[0].size(), kPayloadBytesMax);
  }
}

TEST(TraceReader, AnEndlessFirstLineIsPassedOver) {
  const Told told = read(record(R"({"a": ")" + std::string(kHeadBytesMax, 'x') + "\"}", "\tp\n") +
                         record(R"({"b": {}})"));
  EXPECT_EQ(told.types, (std::vector<std::string>{"b"}));
  EXPECT_EQ(told.counts.bad_records, 1u);
}

TEST(TraceReader, AFileThatIsNotThere) {
  const auto reader = TraceReader::open("/nowhere/t.log");
  ASSERT_FALSE(reader.ok());
  EXPECT_NE(reader.status().message().find("/nowhere/t.log"), std::string::npos);
}

}  // namespace
}  // namespace headway::compile
