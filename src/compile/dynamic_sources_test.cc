#include "compile/dynamic_sources.h"

#include <gtest/gtest.h>

#include <map>

#include "base/temp_dir.h"
#include "compile/code_state.h"
#include "compile/guard_sources.h"
#include "compile/recompile_reason.h"
#include "compile/test_log.h"
#include "compile/trace_fold.h"

namespace headway::compile {
namespace {

ProcessLog folded(const std::string& text) {
  const base::TempDir dir;
  ComponentTable components;
  auto log = fold_file(dir.write("t.log", text), {.sources = true}, components);
  EXPECT_TRUE(log.ok());
  return std::move(log.value());
}

// A log in which functions are compiled again.
class Story : public TestLog {
 public:
  Story& change(std::string_view id, std::string_view source, std::string_view dim,
                std::string_view was, std::string_view is,
                std::string_view reason = "size change") {
    add("chromium_event", "{}", id,
        fmt::format(R"({{"name": "automatic_dynamic", "ts": 1, "args": {{"name": "{}", )"
                    R"("dim_changed": {}, "reason": "{}", "cached": "{}", "new": "{}"}}}})",
                    source, dim, reason, was, is));
    return *this;
  }
  Story& number(std::string_view id, std::string_view source, std::string_view was,
                std::string_view is) {
    return change(id, source, "\"scalar\"", was, is, "scalar change");
  }
  Story& because(std::string_view id, std::string_view reason) {
    artifact("recompile_reasons", id, reason);
    return *this;
  }
  Story& takes(std::string_view id, std::string_view source, std::string_view type) {
    add("dynamo_cpp_guards_str", "{}", id,
        fmt::format("| +- GuardManager: source={}, accessed_by=X(key='a'), type=<class '{}'>, "
                    "tag_safe=(False, False)",
                    source, type));
    return *this;
  }
  // A number that is not whole, and what is asked of it: "L['s'] == 1.5".
  Story& asks(std::string_view id, std::string_view condition) {
    add("dynamo_cpp_guards_str", "{}", id,
        fmt::format("TREE_GUARD_MANAGER:\n"
                    "| +- GuardManager: source=L['s'], accessed_by=X(key='s'), type=<class "
                    "'float'>, tag_safe=(False, False)\n"
                    "| | +- TYPE_MATCH: ___check_type_id(L['s'], 1), type=<class 'float'>\n"
                    "+- LAMBDA_GUARD: {}      # y = x * s  # train.py:12 in f\n"
                    "+- LAMBDA_GUARD: not math.isnan(L['s'])  # implicit guard\n"
                    "+- LAMBDA_GUARD: 2 <= L['x'].size()[0]  # y = x * s",
                    condition));
    return *this;
  }
  Story& compiled(std::string_view id, std::string_view name, double seconds) {
    metrics(id, name, 100, seconds);
    return *this;
  }
};

TEST(DynamicSources, WhatSavesACompilationIsNamedWithItsDimension) {
  Story log;
  log.compiled("0/0", "f", 4).takes("0/0", "L['w']", "torch.nn.parameter.Parameter");
  log.because("0/1", "0/0: tensor 'x' size mismatch at index 0. expected 8, actual 9");
  log.change("0/1", "L['x']", "0", "8", "9").number("0/1", "L['n']", "3", "4");
  log.compiled("0/1", "f", 6);
  const DynamicFindings found = find_dynamic_sources({folded(log.text())});
  EXPECT_EQ(found.setting, "L['n'],L['x']:0");
  EXPECT_EQ(found.compiles, 2u);
  EXPECT_EQ(found.saved, 1u);
  EXPECT_EQ(found.saved_us, 6'000'000);
  EXPECT_TRUE(found.known.contains({"L['w']", false}));
  EXPECT_TRUE(found.remaining.empty());
}

TEST(DynamicSources, WhatFailedForAnotherReasonInTheDynamicOneIsNotSaved) {
  Story log;  // if x.shape[0] == 8: …
  log.compiled("0/0", "f", 1);
  log.because("0/1", "0/0: tensor 'x' size mismatch at index 0. expected 5, actual 6");
  log.change("0/1", "L['x']", "0", "5", "6").compiled("0/1", "f", 1);
  log.because("0/2",
              "[\"0/1: x.size()[0] != 8\",\n"
              "\"0/0: tensor 'x' size mismatch at index 0. expected 5, actual 8\"]");
  log.compiled("0/2", "f", 1);
  const DynamicFindings found = find_dynamic_sources({folded(log.text())});
  EXPECT_EQ(found.setting, "L['x']:0");
  EXPECT_EQ(found.saved, 1u);
  ASSERT_EQ(found.remaining.size(), 1u);
  EXPECT_EQ(found.remaining[0].text, "x.size()[0] != 8");
}

TEST(DynamicSources, OneBesideWithAnotherReasonIsInNobodysWay) {
  Story log;
  log.compiled("0/0", "f", 1);
  log.because("0/1", "0/0: mode == 'train'").compiled("0/1", "f", 1);
  log.because("0/2",
              "[\"0/1: mode == 'eval'\",\n"
              "\"0/0: tensor 'x' size mismatch at index 0. expected 5, actual 6\"]");
  log.change("0/2", "L['x']", "0", "5", "6").compiled("0/2", "f", 1);
  const DynamicFindings found = find_dynamic_sources({folded(log.text())});
  EXPECT_EQ(found.setting, "L['x']:0");
  EXPECT_EQ(found.saved, 1u);
}

TEST(DynamicSources, ZeroAndOneAreSpecialForSizesOnly) {
  Story log;
  log.compiled("0/0", "f", 1);
  log.because("0/1", "0/0: tensor 'x' size mismatch at index 0. expected 1, actual 9");
  log.change("0/1", "L['x']", "0", "1", "9").compiled("0/1", "f", 1);
  EXPECT_EQ(find_dynamic_sources({folded(log.text())}).setting, "");
  // From 8 to 1 nothing is saved, but then from 8 to 9.
  Story later;
  later.compiled("0/0", "f", 1);
  later.because("0/1", "0/0: tensor 'x' size mismatch at index 0. expected 8, actual 1");
  later.change("0/1", "L['x']", "0", "8", "1").compiled("0/1", "f", 1);
  later.because("0/2",
                "[\"0/1: tensor 'x' size mismatch at index 0. expected 1, actual 9\",\n"
                "\"0/0: tensor 'x' size mismatch at index 0. expected 8, actual 9\"]");
  later.compiled("0/2", "f", 1);
  const DynamicFindings found = find_dynamic_sources({folded(later.text())});
  EXPECT_EQ(found.setting, "L['x']:0");
  EXPECT_EQ(found.saved, 1u);
  ASSERT_EQ(found.remaining.size(), 1u);
  Story number;
  number.compiled("0/0", "f", 1).because("0/1", "0/0: n == 1     # y = x * n");
  number.number("0/1", "L['n']", "1", "9").compiled("0/1", "f", 1);
  EXPECT_EQ(find_dynamic_sources({folded(number.text())}).setting, "L['n']");
}

TEST(DynamicSources, WhatIsCompiledForEachValueAllTheSameIsLeftOut) {
  Story log;
  log.compiled("0/0", "f", 1);
  log.because("0/1", "0/0: tensor 'x' size mismatch at index 0. expected 8, actual 9");
  log.change("0/1", "L['x']", "0", "8", "9").compiled("0/1", "f", 1);
  log.because("0/2", "0/1: tensor 'x' size mismatch at index 0. expected 9, actual 10");
  log.compiled("0/2", "f", 1);
  const DynamicFindings found = find_dynamic_sources({folded(log.text())});
  EXPECT_EQ(found.setting, "");
  EXPECT_EQ(found.saved, 0u);
  EXPECT_TRUE(found.useless.contains({"L['x']", 0}));
  ASSERT_EQ(found.unnamed.size(), 1u);
  EXPECT_EQ(found.unnamed[0].code, "") << "no mark helps";
  // It was dynamic from the start, and the first of its compilations could not be used.
  Story applied;
  applied.compiled("0/0", "f", 1);
  applied.because("0/1", "0/0: x.size()[0] == 8");
  applied.change("0/1", "L['x']", "0", "8", "9").compiled("0/1", "f", 1);
  EXPECT_TRUE(find_dynamic_sources({folded(applied.text())}, {{"L['x']", 0}})
                  .useless.contains({"L['x']", 0}));
}

TEST(DynamicSources, ANumberOfAModuleIsCompiledForEachValueUntilItIsNamed) {
  Story log;
  log.compiled("0/0", "f", 1).because("0/1", "0/0: self.n == 1");
  log.number("0/1", "L['self'].n", "1", "2").compiled("0/1", "f", 1);
  log.because("0/2", "[\"0/1: self.n == 2\", \"0/0: self.n == 1\"]").compiled("0/2", "f", 1);
  const DynamicFindings found = find_dynamic_sources({folded(log.text())});
  EXPECT_EQ(found.setting, "L['self'].n");
  EXPECT_EQ(found.saved, 2u);
  EXPECT_TRUE(find_dynamic_sources({folded(log.text())}, {{"L['self'].n", -1}})
                  .useless.contains({"L['self'].n", -1}));
}

TEST(DynamicSources, WhatNoNameHelpsHasALineForTheScript) {
  const std::string key(3 * kSourceBytesMax, 'k');
  const std::string named = fmt::format("L['batch']['{}']", key);
  Story log;
  log.compiled("0/0", "f", 1);
  log.because("0/1", "0/0: tensor 'x' size mismatch at index 0. expected 8, actual 9");
  log.change("0/1", "G['_140486068397904_c1']", "0", "8", "9")
      .number("0/1", "L['f']", "1.5", "2.5");
  log.change("0/1", "L['x']", "\"all\"", "(8,)", "(8, 2)", "dimensionality change");
  log.change("0/1", named, "1", "8", "9").number("0/1", named + "[0]", "3", "4");
  log.change("0/1", "L['y']", "0", "3", "4", "stride change");
  log.change("0/1", "L['y']", "1", "4", "3", "stride change").compiled("0/1", "f", 1);
  const DynamicFindings found = find_dynamic_sources({folded(log.text())});
  EXPECT_EQ(found.setting, "");
  EXPECT_EQ(found.saved, 0u);
  std::map<std::string, std::string> lines;  // by what is in the way
  for (const UnnamedSource& one : found.unnamed) {
    EXPECT_EQ(one.function, "f (train.py:12)");
    EXPECT_EQ(one.changes, 1u);
    lines.emplace(fmt::format("{} {}", one.at.dim, one.why.substr(0, 20)), one.code);
  }
  const std::string beginning = "L['batch']['" + key.substr(0, 80 - 12) + "…";
  const decltype(lines) expected = {
      {"0 its name has an addr",
       "torch._dynamo.maybe_mark_dynamic(tensor, 0)"
       "  # tensor: what f (train.py:12) takes as G['_140486068397904_c1']"},
      {"-1 a number that is not", "torch.tensor(f)  # in place of f, for f (train.py:12)"},
      {"-1 its number of dimens", ""},
      {"1 its name is too long",
       "torch._dynamo.maybe_mark_dynamic(tensor, 1)  # tensor: what f (train.py:12) takes as " +
           beginning},
      {"-1 its name is too long",
       "torch.compile(function, dynamic=True)  # function: f (train.py:12), which takes " +
           beginning},
      {"-1 its layout in memory", "y.contiguous()  # in place of y, for f (train.py:12)"}};
  EXPECT_EQ(lines, expected);
}

// A character that does not fit is cut off whole: the rest is shorter than the limit.
TEST(DynamicSources, ANameThatWasCutIsNeverTakenForAWholeOne) {
  for (const char* last : {"k", "ü", "€"}) {
    for (std::size_t size = kSourceBytesMax - 4; size <= kSourceBytesMax + 1; ++size) {
      std::string name = "L['";
      while (name.size() < size) name += "k";
      name += last;
      name += "']";
      Story log;
      log.compiled("0/0", "f", 1);
      log.because("0/1", "0/0: tensor 'x' size mismatch at index 0. expected 8, actual 9");
      log.change("0/1", name, "0", "8", "9").compiled("0/1", "f", 1);
      const DynamicFindings found = find_dynamic_sources({folded(log.text())});
      const bool whole = name.size() <= kSourceBytesMax;
      EXPECT_EQ(found.unnamed.size(), whole ? 0u : 1u) << name.size() << last;
      for (const UnnamedSource& one : found.unnamed) EXPECT_EQ(one.why, "its name is too long");
      EXPECT_EQ(found.setting.empty(), true) << "no compilation is saved: the guard is of x";
    }
  }
}

// Called with (8, 1.5), (8, 2.5) and (9, 3.5), it is compiled three times whatever x is: torch
// tells of the size, which it looks at first, and says nothing of the number.
TEST(DynamicSources, ANumberThatChangesBehindASizeIsCompiledForAllTheSame) {
  const auto found_with = [](const char* third) {
    Story log;
    log.asks("0/0", "L['s'] == 1.5").compiled("0/0", "f", 1).because("0/1", "0/0: s == 1.5");
    log.number("0/1", "L['s']", "1.5", "2.5").asks("0/1", "L['s'] == 2.5").compiled("0/1", "f", 1);
    log.because("0/2",
                "[\"0/1: tensor 'x' size mismatch at index 0. expected 8, actual 9\",\n"
                "\"0/0: s == 1.5\"]");
    log.change("0/2", "L['x']", "0", "8", "9").asks("0/2", third).compiled("0/2", "f", 1);
    return find_dynamic_sources({folded(log.text())});
  };
  const DynamicFindings another = found_with("L['s'] == 3.5");
  EXPECT_EQ(another.compiles - another.saved, 3u);
  EXPECT_EQ(another.setting, "");
  ASSERT_EQ(another.remaining.size(), 1u);
  EXPECT_EQ(another.remaining[0].text, "s == 1.5");
  EXPECT_EQ(another.remaining[0].count, 2u);
  const DynamicFindings same = found_with("L['s'] == 2.5");
  EXPECT_EQ(same.compiles - same.saved, 2u);
  EXPECT_EQ(same.setting, "L['x']:0");
  Story untold;
  untold.asks("0/0", "L['s'] == 1.5").compiled("0/0", "f", 1);
  untold.because("0/1", "0/0: tensor 'x' size mismatch at index 0. expected 8, actual 9");
  untold.change("0/1", "L['x']", "0", "8", "9").asks("0/1", "L['s'] == 2.5");
  const DynamicFindings found =
      find_dynamic_sources({folded(untold.compiled("0/1", "f", 1).text())});
  ASSERT_EQ(found.remaining.size(), 1u);
  EXPECT_EQ(found.remaining[0].text, "a number that is not whole is another one, too");
}

TEST(GuardSources, WhatIsAskedOfNumbersThatAreNotWhole) {
  const std::string tree =
      "| +- GuardManager: source=L['s'], accessed_by=X(key='s'), type=<class 'float'>\n"
      "| +- GuardManager: source=L['n'], accessed_by=X(key='n'), type=<class 'int'>\n";
  EXPECT_EQ(float_guards(""), 0u);
  EXPECT_EQ(float_guards(tree + "+- LAMBDA_GUARD: L['n'] > 2  # if s > 1.0"), 0u);
  EXPECT_EQ(float_guards(tree + "+- LAMBDA_GUARD: not math.isnan(L['s'])  # why"), 0u);
  const auto equal = float_guards(tree + "| | +- EQUALS_MATCH: L['s'] == 1.5       # x * s");
  EXPECT_NE(equal, 0u);
  EXPECT_EQ(equal, float_guards("+- LAMBDA_GUARD: L['s'] == 1.5  # elsewhere\n" + tree));
  EXPECT_EQ(equal, float_guards(tree + "+- LAMBDA_GUARD: L['s'] == 1.5\n"
                                       "+- LAMBDA_GUARD: L['s'] == 1.5"));
  EXPECT_NE(equal, float_guards(tree + "| | +- EQUALS_MATCH: L['s'] == 2.5"));
  EXPECT_NE(float_guards(tree + "+- LAMBDA_GUARD: L['n']*L['s'] > 2.0"), 0u);
}

TEST(DynamicSources, RanksAndRunsTogether) {
  std::vector<ProcessLog> logs;
  for (int rank = 0; rank < 4; ++rank) {
    Story log;
    log.rank(rank);
    const std::string source = fmt::format("L['args'][{}]", rank);
    log.compiled("0/0", "f", 1).takes("0/0", "L['args'][9]", rank == 3 ? "int" : "str");
    log.because("0/1", fmt::format("0/0: tensor 'args[{}]' size mismatch at index 1. expected 8, "
                                   "actual 9",
                                   rank));
    log.change("0/1", source, "1", "8", "9").compiled("0/1", "f", 1 + rank);
    logs.push_back(folded(log.text()));
  }
  const DynamicFindings found = find_dynamic_sources(logs);
  // The number that rank 3 takes must stay one.
  EXPECT_EQ(found.setting, "L\\['args'\\]\\[(?:0|1|2|3)\\]\\Z:1");
  EXPECT_EQ(found.saved, 4u);
  EXPECT_EQ(found.saved_us, 10'000'000);
  EXPECT_EQ(found.saved_longest_us, 4'000'000);
}

TEST(DynamicSources, AFunctionInWhichANameDoesNotChangeIsTold) {
  Story log;
  log.compiled("0/0", "f", 1).compiled("1/0", "g", 1).takes("1/0", "L['x']", "torch.Tensor");
  log.because("0/1", "0/0: tensor 'x' size mismatch at index 0. expected 8, actual 9");
  log.change("0/1", "L['x']", "0", "8", "9").compiled("0/1", "f", 1);
  const DynamicFindings found = find_dynamic_sources({folded(log.text())});
  ASSERT_EQ(found.sources.size(), 1u);
  EXPECT_EQ(found.sources[0].also_in, std::vector<std::string>{"g (train.py:12)"});
  EXPECT_EQ(found.sources[0].code, "torch._dynamo.maybe_mark_dynamic(x, 0)");
}

TEST(DynamicSources, TorchsOwnProfile) {
  Story log;
  log.compiled("0/0", "f", 1);
  log.artifact("get_local_code_state", "0/0",
               "hash(4094f28d)/a/train.py:3:f:\n"
               "  L['x']: tensor size=[?, 4, ?] stride=[S(1), 1]\n"
               "  L['w']: tensor size=[4, 4] stride=[4, 1]\n"
               "  L['n']: fully dynamic scalar or tensor\n"
               "  L['m']: scalar 5\n\nPGO detected a recompilation …");
  const DynamicFindings found = find_dynamic_sources({folded(log.text())});
  EXPECT_EQ(found.setting, "L['n'],L['x']:0,L['x']:2");
  EXPECT_EQ(found.saved, 0u);
  EXPECT_TRUE(found.known.contains({"L['m']", true}));
  EXPECT_EQ(found.sources[0].functions, std::vector<std::string>{"f (train.py:3)"});
}

TEST(CodeState, ReadsWhatIsThereAndCountsTheRest) {
  const CodeStates states = parse_code_state(
      "odd\nhash(1)/t.py:3:f:\n  L['a: scalar b']: scalar 4\n  L['x']: tensor size=[] stride=[]\n"
      "  L['y']: tensor size=[?\n  nothing\n  L['z']: unusual Entry(…)\n  L['v']: tensor size=[?]");
  EXPECT_EQ(states.bad_lines, 3u);
  ASSERT_EQ(states.sources.size(), 3u);
  EXPECT_EQ(states.sources[0].source, "L['a: scalar b']");
  EXPECT_EQ(states.sources[0].kind, StateKind::number);
  EXPECT_TRUE(states.sources[1].dynamic_dims.empty());
  EXPECT_EQ(states.sources[2].dynamic_dims, std::vector<std::int32_t>{0});
}

TEST(RecompileReason, Kinds) {
  const auto size = parse_recompile_reason(
      "0/1: tensor 'd['a b']' size mismatch at index 2. expected 8, actual 19");
  ASSERT_TRUE(size);
  EXPECT_EQ(size->kind, ReasonKind::size);
  EXPECT_EQ(size->name, "d['a b']");
  EXPECT_EQ(size->dim, 2);
  EXPECT_EQ(size->entry.compile, 1);
  EXPECT_EQ(*size->actual, 19);
  const auto number = parse_recompile_reason("3/0: self.n == -11      # y = x * n  # t.py:5 in f");
  ASSERT_TRUE(number);
  EXPECT_EQ(number->kind, ReasonKind::number);
  EXPECT_EQ(number->name, "self.n");
  EXPECT_EQ(number->expected, -11);
  for (const char* other :
       {"0/0: 2 <= x.size()[0]", "0/0: s == 'b'", "0/0: len(d) == 2", "0/0: 2*n == 8",
        "0/0: tensor 'x' rank mismatch. expected 3, actual 2", "0/0: f == 1.5"}) {
    const auto reason = parse_recompile_reason(other);
    ASSERT_TRUE(reason) << other;
    EXPECT_EQ(reason->kind, ReasonKind::other) << other;
  }
  EXPECT_FALSE(parse_recompile_reason("User stack trace:"));
  EXPECT_FALSE(parse_recompile_reason("  File \"a.py\", line 5: x"));
  EXPECT_EQ(short_source("L['d']['k'][0]"), "d['k'][0]");
  EXPECT_EQ(short_source("G['x']"), "G['x']");
}

TEST(RecompileReason, EachKeepsTheLinesBelowIt) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(split_recompile_reasons(""), Parts{});
  EXPECT_EQ(split_recompile_reasons("why\n"), Parts{"why"});
  EXPECT_EQ(split_recompile_reasons("0/1: a\nUser stack trace:\n  0/0: x\n\n0/0: b"),
            (Parts{"0/1: a\nUser stack trace:\n  0/0: x", "0/0: b"}));
}

}  // namespace
}  // namespace headway::compile
