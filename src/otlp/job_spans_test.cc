#include "otlp/job_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/hash.h"
#include "fleet/facts_of.h"
#include "timeline/test_stream.h"

namespace headway::otlp {
namespace {

using ::testing::ElementsAre;
using timeline::test::sec;
using timeline::test::Story;

struct Told {
  explicit Told(Story& story)
      : names(story.names()), job(story.tell()), facts(fleet::facts_of(job, names)) {}
  [[nodiscard]] JobAccount account() const { return {job, names, facts}; }
  [[nodiscard]] std::vector<Span> attempt(std::size_t at, const SpanOptions& options = {}) const {
    return attempt_spans(account(), at, options);
  }
  event::NameTable& names;
  timeline::JobResult job;
  std::vector<fleet::AttemptFacts> facts;
};

std::vector<std::string> names_of(const std::vector<Span>& spans) {
  std::vector<std::string> out;
  for (const Span& span : spans) out.push_back(span.name);
  return out;
}

const Value* find(const Attributes& attributes, std::string_view key) {
  for (const Attribute& each : attributes) {
    if (each.key == key) return &each.value;
  }
  return nullptr;
}

std::int64_t number(const Attributes& attributes, std::string_view key) {
  const Value* value = find(attributes, key);
  return value == nullptr ? INT64_MIN : std::get<std::int64_t>(*value);
}

// Stages fill their attempt and attempts their job, without a gap or an overlap.
void expect_filled(const Told& told) {
  const Span job = job_span(told.account(), metrics::JobState::clean, {});
  std::set<SpanId> ids{job.id};
  std::int64_t end_ns = job.begin_ns;
  for (std::size_t at = 0; at < told.facts.size(); ++at) {
    const std::vector<Span> spans = told.attempt(at);
    EXPECT_EQ(spans[0].begin_ns, end_ns);
    EXPECT_EQ(spans[0].parent, job.id);
    std::int64_t stage_ns = spans[0].begin_ns;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      EXPECT_EQ(spans[i].trace, job.trace);
      EXPECT_TRUE(ids.insert(spans[i].id).second) << spans[i].name;
      if (i == 0) continue;
      EXPECT_EQ(spans[i].parent, spans[0].id);
      EXPECT_EQ(spans[i].begin_ns, stage_ns) << spans[i].name;
      stage_ns = spans[i].end_ns;
    }
    EXPECT_EQ(stage_ns, spans[0].end_ns);
    end_ns = spans[0].end_ns;
  }
  EXPECT_EQ(end_ns, job.end_ns);
}

void tell_crash(Story& story) {
  story.as(1)
      .mark(100, HW_MARK_SUBMITTED)
      .mark(130, HW_MARK_RESOURCES_AVAILABLE)
      .mark(132, HW_MARK_ALLOCATED)
      .mark(140, HW_MARK_LAUNCHER_START)
      .span(140, 150, HW_PHASE_IMPORTS)
      .steps(160, 10, 1, 5)
      .fail(215.5, {.signal = 9, .origin = HW_ORIGIN_INFRA, .rank = 0})
      .exit(216);
  story.as(2).mark(225, HW_MARK_LAUNCHER_START).restore(230, 3).steps(240, 10, 4, 6).exit(305);
}

TEST(JobSpans, StagesFollowOneAnother) {
  Story story;
  tell_crash(story);
  const Told told(story);
  expect_filled(told);
  EXPECT_THAT(names_of(told.attempt(0)),
              ElementsAre("attempt 1", "queued", "scheduling", "hardware_setup", "imports",
                          "init_other", "training", "down"));
  EXPECT_THAT(names_of(told.attempt(1)), testing::Contains("training"));
  const std::vector<Span> first = told.attempt(0);
  EXPECT_EQ(first[1].begin_ns, sec(100));
  EXPECT_EQ(first[1].end_ns, sec(130));
  EXPECT_EQ(first[6].begin_ns, sec(160));
  EXPECT_EQ(number(first[6].attributes, "headway.time.effective_ns"), sec(50));
  EXPECT_EQ(number(first[6].attributes, "headway.time.interrupted_step_ns"), sec(5.5));
}

TEST(JobSpans, AFailureIsAnEventOfItsAttempt) {
  Story story;
  tell_crash(story);
  story.as(1).put(141, event::EventType::attr, story.names().intern("failure_category"),
                  story.names().intern("gpu_lost"));
  const Told told(story);
  const Span attempt = told.attempt(0)[0];
  EXPECT_TRUE(attempt.failed);
  EXPECT_EQ(attempt.failure, "gpu_lost");
  ASSERT_EQ(attempt.events.size(), 1u);
  const SpanEvent& event = attempt.events[0];
  EXPECT_EQ(event.t_ns, sec(215.5));
  EXPECT_EQ(std::get<std::string>(*find(event.attributes, "error.type")), "gpu_lost");
  EXPECT_EQ(std::get<std::string>(*find(event.attributes, "headway.failure.origin")), "infra");
  EXPECT_EQ(number(event.attributes, "headway.failure.signal"), 9);
  EXPECT_EQ(number(event.attributes, "headway.failure.rank"), 0);
  const Span second = told.attempt(1)[0];
  EXPECT_FALSE(second.failed);
  EXPECT_TRUE(second.events.empty());
  EXPECT_EQ(number(second.attributes, "headway.time_to_recover_ns"), sec(240 - 215.5));
}

// Others keep these: a change of them would tear every trace apart.
TEST(JobSpans, IdentifiersAreMadeFromTenantJobAndAttempt) {
  Story story;
  tell_crash(story);
  const Told told(story);
  EXPECT_EQ(base::hex(trace_of("default", "j")), "8d7d14f6e54f3116fce8df60d100f331");
  const std::vector<Span> spans = told.attempt(0);
  EXPECT_EQ(base::hex(spans[0].id), "bdbb5e3ebd934de9");
  EXPECT_EQ(base::hex(spans[6].id), "fafebfaec6706732");
  EXPECT_NE(told.attempt(0, {.tenant = "other"})[0].id, spans[0].id);
  EXPECT_NE(trace_of("a", "bc"), trace_of("ab", "c"));
}

TEST(JobSpans, TextsGoThroughTheRule) {
  Story story;
  story.as(1).put(0, event::EventType::attr, story.names().intern("team"),
                  story.names().intern("secret"));
  event::EndInfo info{.exit_code = 1, .origin = HW_ORIGIN_USER};
  info.reason = story.names().intern("password=secret");
  story.mark(0, HW_MARK_LAUNCHER_START).steps(1, 1, 1, 3).fail(5, info).exit(5);
  const Told told(story);
  SpanOptions options;
  options.rule = [](std::string_view key, std::string_view) {
    return key.empty() ? std::string("[text]") : "[" + std::string(key) + "]";
  };
  const Span attempt = told.attempt(0, options)[0];
  EXPECT_EQ(std::get<std::string>(*find(attempt.attributes, "headway.team")), "[team]");
  EXPECT_EQ(std::get<std::string>(*find(attempt.events[0].attributes, "exception.message")),
            "[text]");
  EXPECT_EQ(number(attempt.events[0].attributes, "process.exit.code"), 1);
}

TEST(JobSpans, AnyJobIsFilled) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto upto = [&](int n) { return static_cast<double>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 100; ++round) {
    Story story;
    double t = 1000;
    std::int64_t step = 1;
    const int attempts = 1 + static_cast<int>(upto(4));
    for (int i = 1; i <= attempts; ++i) {
      story.as(i * (random() % 2 == 0 ? 65536 : 1) + i);
      if (random() % 2 == 0) {
        story.mark(t, HW_MARK_SUBMITTED).mark(t + upto(50), HW_MARK_RESOURCES_AVAILABLE);
        t += 50;
        story.mark(t, HW_MARK_ALLOCATED);
      }
      story.mark(t += upto(9), HW_MARK_LAUNCHER_START);
      story.span(t, t + 3, HW_PHASE_IMPORTS);
      t += 3 + upto(5);
      for (int n = static_cast<int>(upto(40)); n > 0; --n) {
        if (random() % 4 == 0) {
          story.span(t, t + 0.5, HW_PHASE_CHECKPOINT_BLOCKED);
          t += 0.5;
        }
        story.step(t, t + 2, step++);
        t += 2 + (random() % 5 == 0 ? 1 : 0);
      }
      if (random() % 2 == 0) story.fail(t += upto(3), {.origin = HW_ORIGIN_INFRA});
      if (random() % 4 != 0) story.exit(t += upto(3));
      t += upto(20);
    }
    const Told told(story);
    expect_filled(told);
  }
}

}  // namespace
}  // namespace headway::otlp
