// What other programs make of these bytes is tested by tests/deploy/test_otlp.py, with the
// protocol's own classes. Here: the bytes of the wire format, and JSON.
#include "otlp/encode.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "otlp/proto_writer.h"

namespace headway::otlp {
namespace {

using interchange::FamilyType;
using nlohmann::json;

TEST(ProtoWriter, WritesTheWireFormat) {
  ProtoWriter out;
  out.number(1, 150);  // the example of protocol buffers' own description
  EXPECT_EQ(out.out(), "\x08\x96\x01");
  out.number(2, 0);
  out.text(3, "");
  EXPECT_EQ(out.out().size(), 3u) << "what is zero is left out";
  out.present_number(2, 0);
  EXPECT_EQ(out.take(), std::string("\x08\x96\x01\x10\x00", 5));
  ProtoWriter nested;
  nested.message(3, [](ProtoWriter& inner) { inner.number(1, 150); });
  nested.text(2, "testing");
  EXPECT_EQ(nested.take(), "\x1a\x03\x08\x96\x01\x12\x07testing");
  ProtoWriter fixed;
  fixed.fixed(1, 1);
  fixed.present_real(16, 1.0);
  EXPECT_EQ(fixed.take(), std::string("\x09\x01\0\0\0\0\0\0\0\x81\x01\0\0\0\0\0\0\xf0\x3f", 19));
}

Span some_span() {
  Span span;
  span.trace.fill(0xab);
  span.id.fill(0xcd);
  span.name = "attempt \"1\"";
  span.begin_ns = 1'763'242'444'123'456'789;
  span.end_ns = -5;
  span.attributes = {{"a", "x\xff"}, {"b", std::int64_t{-3}}, {"c", 0.5}, {"d", true}};
  span.attributes.push_back({"e", std::vector<std::string>{"p", "q"}});
  span.events.push_back({7, "headway.failure", {{"error.type", "oom"}}});
  span.failed = true;
  span.failure = "oom";
  return span;
}

TEST(OtlpJson, IsALineOfTheProtocolsJson) {
  std::string text;
  const std::vector<Span> spans = {some_span(), some_span()};
  append_traces_json(text, {{{"service.name", "headway"}}, "1.0"}, spans);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const json request = json::parse(text);
  const json& resource = request["resourceSpans"][0];
  EXPECT_EQ(resource["resource"]["attributes"][0]["value"]["stringValue"], "headway");
  EXPECT_EQ(resource["scopeSpans"][0]["scope"]["name"], "headway");
  ASSERT_EQ(resource["scopeSpans"][0]["spans"].size(), 2u);
  const json& span = resource["scopeSpans"][0]["spans"][0];
  EXPECT_EQ(span["traceId"], "abababababababababababababababab");
  EXPECT_EQ(span["spanId"], "cdcdcdcdcdcdcdcd");
  EXPECT_FALSE(span.contains("parentSpanId"));
  EXPECT_EQ(span["startTimeUnixNano"], "1763242444123456789");
  EXPECT_EQ(span["endTimeUnixNano"], "0") << "there is no time before 1970";
  EXPECT_EQ(span["kind"], 1);
  EXPECT_EQ(span["attributes"][0]["value"]["stringValue"], "x\xEF\xBF\xBD");
  EXPECT_EQ(span["attributes"][1]["value"]["intValue"], "-3");
  EXPECT_EQ(span["attributes"][2]["value"]["doubleValue"], 0.5);
  EXPECT_EQ(span["attributes"][3]["value"]["boolValue"], true);
  EXPECT_EQ(span["attributes"][4]["value"]["arrayValue"]["values"][1]["stringValue"], "q");
  EXPECT_EQ(span["events"][0]["timeUnixNano"], "7");
  EXPECT_EQ(span["status"]["code"], 2);
}

TEST(OtlpMetrics, ANameComesBackFromPrometheusAsItWas) {
  const auto name = [](std::string text, std::string_view unit) {
    interchange::Family family;
    family.name = std::move(text);
    family.unit = unit;
    return metric_name(family);
  };
  EXPECT_EQ(name("headway_fleet_device_seconds", "seconds"), "headway.fleet.device");
  EXPECT_EQ(name("headway_fleet_share_ratio", "ratio"), "headway.fleet.share");
  EXPECT_EQ(name("headway_collector_store_errors", ""), "headway.collector.store_errors");
}

TEST(OtlpMetrics, AFamilyWithoutSamplesIsNotSent) {
  const std::vector<interchange::Family> none = {
      {"headway_fleet_x", FamilyType::gauge, "", "Nothing."}};
  EXPECT_EQ(encode_metrics({}, none, 1, 2), encode_metrics({}, {}, 1, 2));
}

}  // namespace
}  // namespace headway::otlp
