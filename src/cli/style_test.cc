#include "cli/style.h"

#include <gtest/gtest.h>

#include <set>

namespace headway::cli {
namespace {

OutputFacts terminal() {
  OutputFacts facts;
  facts.terminal = true;
  facts.columns = 120;
  facts.locale = "en_US.UTF-8";
  return facts;
}

TEST(ChooseStyle, TerminalGetsColourAndItsWidth) {
  const Style style = choose_style(terminal(), ColorWhen::automatic, std::nullopt);
  EXPECT_TRUE(style.color);
  EXPECT_TRUE(style.unicode);
  EXPECT_EQ(style.width, 120);
}

TEST(ChooseStyle, PipeGetsNeither) {
  OutputFacts facts;
  facts.locale = "C.utf8";
  const Style style = choose_style(facts, ColorWhen::automatic, std::nullopt);
  EXPECT_FALSE(style.color);
  EXPECT_TRUE(style.unicode);
  EXPECT_EQ(style.width, width_default);
}

TEST(ChooseStyle, WhatAPersonSaysWins) {
  OutputFacts facts = terminal();
  facts.no_color = true;
  EXPECT_FALSE(choose_style(facts, ColorWhen::automatic, {}).color);
  EXPECT_TRUE(choose_style(facts, ColorWhen::always, {}).color);
  EXPECT_FALSE(choose_style(terminal(), ColorWhen::never, {}).color);
  EXPECT_EQ(choose_style(terminal(), ColorWhen::never, 80).width, 80);
  facts = terminal();
  facts.dumb = true;
  EXPECT_FALSE(choose_style(facts, ColorWhen::automatic, {}).color);
}

TEST(ChooseStyle, PlainLocaleGetsAscii) {
  OutputFacts facts = terminal();
  for (const char* locale : {"C", "POSIX", "", "de_DE.ISO-8859-1"}) {
    facts.locale = locale;
    EXPECT_FALSE(choose_style(facts, ColorWhen::automatic, {}).unicode) << locale;
  }
}

TEST(ChooseStyle, WidthIsBounded) {
  OutputFacts facts = terminal();
  facts.columns = 10;
  EXPECT_EQ(choose_style(facts, ColorWhen::automatic, {}).width, width_min);
  facts.columns = 10'000;
  EXPECT_EQ(choose_style(facts, ColorWhen::automatic, {}).width, width_max);
}

// Without colours the letters alone must tell the kinds apart.
TEST(Cells, LettersAreDistinct) {
  std::set<std::string_view> letters, names;
  std::set<Ink> inks;
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    const Cell& cell = cell_of(static_cast<timeline::Bucket>(i));
    letters.insert(cell.letter);
    names.insert(cell.name);
    inks.insert(cell.ink);
  }
  EXPECT_EQ(letters.size(), inks.size());
  EXPECT_EQ(names.size(), inks.size());
}

}  // namespace
}  // namespace headway::cli
