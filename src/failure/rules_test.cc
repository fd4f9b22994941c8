#include "failure/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headway::failure {
namespace {

using testing::HasSubstr;

constexpr std::string_view kGood = R"([[rule]]
id = "mine.disk"
category = "disk_full"
role = "cause"
origin = "infra"
retryable = true
confidence = 0.9
priority = 90
where = ["log", "kernel"]
pattern = 'volume \d+ is full'
next = "Free some space."
)";

std::string changed(const std::string& from, const std::string& to) {
  std::string text(kGood);
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(Rules, AUsersOwnRule) {
  auto rules = parse_rules(kGood, "mine.toml");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  ASSERT_EQ(rules->rules.size(), 1u);
  const Rule& rule = rules->rules.front();
  EXPECT_EQ(rule.category, "disk_full");
  EXPECT_EQ(rule.role, Role::cause);
  EXPECT_EQ(rule.where, where_log | where_kernel);
  EXPECT_EQ(rule.priority, 90);
  EXPECT_FALSE(rule.elsewhere);
}

TEST(Rules, WhatIsWrongIsSaidWithItsPlace) {
  const std::pair<std::string, const char*> cases[] = {
      {changed("role = \"cause\"", "role = \"reason\""), "role must be"},
      {changed("origin = \"infra\"", "origin = \"me\""), "origin must be"},
      {changed("\\d+ is", "(?=x) is"), "no RE2"},
      {changed("\"kernel\"", "\"dmesg\""), "where must be"},
      {changed("id = \"mine.disk\"", ""), "id is missing"},
      {changed("0.9", "9"), "confidence must"},
      {std::string(kGood) + std::string(kGood), "taken already"},
      {"[[exit]]\nid = \"x\"\ncategory = \"y\"\nrole = \"cause\"\norigin = \"user\"\n",
       "neither code nor signal"},
      {"[[progress]]\nid = \"x\"\npattern = 'step'\n", "no group"},
      {"[[rule]\n", "mine.toml:1"}};
  for (const auto& [text, what] : cases) {
    const auto rules = parse_rules(text, "mine.toml");
    ASSERT_FALSE(rules.ok()) << text;
    EXPECT_THAT(rules.status().message(), HasSubstr(what));
    EXPECT_THAT(rules.status().message(), testing::StartsWith("mine.toml:"));
  }
}

TEST(Rules, TheBuiltInOnesAreWhole) {
  auto rules = parse_rules(builtin_rules_text(), "rules.toml");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  EXPECT_GT(rules->rules.size(), 100u);
  for (const Rule& rule : rules->rules) EXPECT_FALSE(rule.next.empty()) << rule.id;
}

}  // namespace
}  // namespace headway::failure
