#include "compile/source_pattern.h"

#include <gtest/gtest.h>

#include <random>
#include <regex>

namespace headway::compile {
namespace {

std::vector<std::string> texts(const std::set<SourceDim>& wanted,
                               const std::set<KnownSource>& known = {}, bool join = true) {
  std::vector<std::string> out;
  for (const SourceEntry& entry : merge_sources(wanted, known, join)) out.push_back(entry.text);
  return out;
}
using Texts = std::vector<std::string>;

TEST(SourcePattern, FewAreNamedOneByOne) {
  EXPECT_EQ(texts({{"L['x']", 0}, {"L['x']", 2}, {"L['n']", -1}}),
            (Texts{"L['n']", "L['x']:0", "L['x']:2"}));
}

TEST(SourcePattern, NumbersThatDifferBecomeOne) {
  EXPECT_EQ(texts({{"L['args'][0]", 0}, {"L['args'][1]", 0}, {"L['args'][12]", 0}}),
            Texts{"L\\['args'\\]\\[\\d+\\]\\Z:0"});
  // Only the number that differs, and only those of one dimension.
  EXPECT_EQ(texts({{"L['h2'][0]", 1}, {"L['h2'][1]", 1}, {"L['h2'][2]", 1}, {"L['h2'][3]", 0}}),
            (Texts{"L\\['h2'\\]\\[\\d+\\]\\Z:1", "L['h2'][3]:0"}));
}

TEST(SourcePattern, WhatMustStayStaticIsNotTouched) {
  const std::set<SourceDim> wanted = {{"L['a'][0]", 0}, {"L['a'][1]", 0}, {"L['a'][3]", 0}};
  EXPECT_EQ(texts(wanted, {{"L['a'][2]", false}}), Texts{"L\\['a'\\]\\[(?:0|1|3)\\]\\Z:0"});
  // A number has no dimension: torch would take the entry for it.
  EXPECT_EQ(texts(wanted, {{"L['a'][7]", true}}), Texts{"L\\['a'\\]\\[(?:0|1|3)\\]\\Z:0"});
  EXPECT_EQ(texts(wanted, {{"L['a'][0]", false}, {"L['b'][2]", false}, {"L['a'][2].x", false}}),
            Texts{"L\\['a'\\]\\[\\d+\\]\\Z:0"});
  // Both numbers differ: the choices together would match [1][1].
  EXPECT_EQ(texts({{"L['a'][0][1]", 0}, {"L['a'][1][0]", 0}, {"L['a'][0][0]", 0}},
                  {{"L['a'][1][1]", false}})
                .size(),
            3u);
  // What was not all kept cannot be asked.
  EXPECT_EQ(texts(wanted, {}, false).size(), 3u);
  // Without a dimension an entry would make all of a tensor's dynamic.
  EXPECT_EQ(
      texts({{"L['a'][0]", -1}, {"L['a'][1]", -1}, {"L['a'][3]", -1}}, {{"L['a'][2]", false}}),
      Texts{"L\\['a'\\]\\[(?:0|1|3)\\]\\Z"});
}

TEST(SourcePattern, KeysThatDifferBecomeOne) {
  const std::set<SourceDim> wanted = {
      {"L['batch']['user']", 0}, {"L['batch']['item']", 0}, {"L['batch']['country']", 0}};
  EXPECT_EQ(texts(wanted), Texts{"L\\['batch'\\]\\['[^']+'\\]\\Z:0"});
  EXPECT_EQ(texts(wanted, {{"L['batch']['weights']", false}}),
            Texts{"L\\['batch'\\]\\['(?:country|item|user)'\\]\\Z:0"});
  // Variables are not keys: x, y and z have nothing in common.
  EXPECT_EQ(texts({{"L['x']", 0}, {"L['y']", 0}, {"L['z']", 0}}),
            (Texts{"L['x']:0", "L['y']:0", "L['z']:0"}));
}

TEST(SourcePattern, WhatTorchWouldMisreadIsWrittenAsAnExpression) {
  EXPECT_EQ(texts({{"L['d']['a b']", 0}}), Texts{"L\\['d'\\]\\['a\\x20b'\\]\\Z:0"});
  EXPECT_EQ(texts({{"L['d']['k,l']", 1}}), Texts{"L\\['d'\\]\\['k\\x2cl'\\]\\Z:1"});
  EXPECT_EQ(texts({{"L['d']['max-len']", -1}}), Texts{"L\\['d'\\]\\['max\\x2dlen'\\]\\Z"});
  EXPECT_EQ(texts({{"L['self']._modules['lin'].weight", 0}}),
            Texts{"L['self']._modules['lin'].weight:0"});
  for (const char* odd : {"x", "L['x'][]", "L['d']['[']", "f(L['x'])"}) {
    EXPECT_TRUE(texts({{odd, 0}}).front().ends_with("\\Z:0")) << odd;
  }
}

TEST(SourcePattern, EntriesMatchWhatIsWantedAndNothingElse) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  const char* kKeys[] = {"a", "b", "a b", "k,l", "m-a", "x0", "x1", "c.d", "e$"};
  for (int round = 0; round < 300; ++round) {
    std::set<SourceDim> wanted;
    std::set<KnownSource> known;
    for (int i = 0; i < 24; ++i) {
      std::string name = pick(2) == 0 ? "L['v']" : "L['w']";
      if (pick(2) == 0) name += std::string("['") + kKeys[pick(9)] + "']";
      if (pick(2) == 0) name += "[" + std::to_string(pick(12)) + "]";
      const bool number = pick(4) == 0;
      if (known.contains({name, !number})) continue;  // a name is one or the other here
      known.insert({name, number});
      if (pick(2) == 0) wanted.insert({name, number ? -1 : pick(2)});
    }
    const auto entries = merge_sources(wanted, known);
    for (const KnownSource& one : known) {
      for (std::int32_t dim = one.number ? -1 : 0; dim < (one.number ? 0 : 2); ++dim) {
        bool hit = false;
        for (const SourceEntry& entry : entries) {
          const std::int32_t of = entry.covers.front().dim;
          std::string text = entry.text;
          if (of >= 0) text.resize(text.rfind(':'));
          const bool plain = !text.ends_with("\\Z");
          if (!plain) text.resize(text.size() - 2);
          EXPECT_EQ(text.find_first_of(", "), std::string::npos) << text;
          const bool same =
              plain ? text == one.source : std::regex_match(one.source, std::regex(text));
          hit |= same && (one.number || of < 0 || of == dim);
        }
        EXPECT_EQ(hit, wanted.contains({one.source, dim})) << one.source << ":" << dim;
      }
    }
  }
}

TEST(SourcePattern, NamesThatLast) {
  EXPECT_TRUE(is_lasting_name("L['args'][12]"));
  EXPECT_FALSE(is_lasting_name("G['_140486068397904_c1']"));
  EXPECT_FALSE(is_lasting_name("G['__compiled_fn_1_0f8fad5b_d9cb_469f_a165_70867728950e']"));
}

}  // namespace
}  // namespace headway::compile
