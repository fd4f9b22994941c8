#include "compile/dynamic_remedy.h"

#include <gtest/gtest.h>

#include "compile/python_name.h"

namespace headway::compile {
namespace {

DynamicChange change_of(std::string_view source, std::int32_t dim, std::string_view reason,
                        bool whole = true) {
  DynamicChange out;
  out.source = source;
  out.dim = dim;
  out.was = "8";
  out.is = "9";
  out.reason = reason;
  out.whole = whole;
  return out;
}

std::string line_of(const DynamicChange& change, std::string_view function = "f (t.py:3)") {
  return remedy_line(obstacle_of(change), change, function);
}

TEST(PythonName, WhatTheScriptCallsIt) {
  EXPECT_EQ(python_name("L['x']"), "x");
  EXPECT_EQ(python_name("L['self']._modules['layers']._modules['3']._parameters['weight']"),
            "self.layers[3].weight");
  EXPECT_EQ(python_name("L['d']['k']"), "d['k']");
  EXPECT_EQ(python_name("L['d'][\"it's\"][-1][True].size"), "d[\"it's\"][-1][True].size");
  EXPECT_EQ(python_name("L['d']['a]b\\'c']"), "d['a]b\\'c']");
  EXPECT_EQ(python_name("L['d'][\"L['x']\"]"), "d[\"L['x']\"]");
  EXPECT_EQ(python_name("G['table']"), "table");
  EXPECT_EQ(python_name("L['größe']"), "größe");
  // A child whose name is no attribute's.
  EXPECT_EQ(python_name("L['self']._modules['a-b'].weight"), "self._modules['a-b'].weight");
  EXPECT_EQ(python_name("L['self']._modules['class']"), "self._modules['class']");
  EXPECT_EQ(python_name("L['self']._buffers['€']"), "self._buffers['€']");
  EXPECT_EQ(python_name("L['self']._modules"), "self._modules");
  EXPECT_EQ(python_name("L['self']._modules._parameters[0]"), "self._modules._parameters[0]");
}

TEST(PythonName, WhatIsNoExpressionOfTheScripts) {
  for (const char* source : {"",
                             "x",
                             "L['___stack0']",
                             "G['__import_torch']",
                             "G['_1_c1']()",
                             "L['.0']",
                             "L[x]",
                             "L['x'",
                             "L['class']",
                             "list(L['d'].keys())[0]",
                             "getattr(L['x'], 'a b')",
                             "L['d'][",
                             "L['d']['a",
                             "L['d'][(1, 2)]",
                             "L['d'][01]",
                             "L['d'][x]",
                             "L['x'].",
                             "L['x'].a-b",
                             "L['x'].import",
                             "L['x'] y",
                             "L['d']['a\nb']",
                             "L['d']['a\\"}) {
    EXPECT_EQ(python_name(source), "") << source;
  }
}

TEST(DynamicRemedy, TheScriptsOwnExpressionWhereItHasOne) {
  EXPECT_EQ(line_of(change_of("L['d']['k']", 1, "size change")),
            "torch._dynamo.maybe_mark_dynamic(d['k'], 1)");
  EXPECT_EQ(line_of(change_of("L['n']", -1, "scalar change")), "");
  EXPECT_EQ(line_of(change_of("L['self'].t", 0, "stride change")),
            "self.t.contiguous()  # in place of self.t, for f (t.py:3)");
  DynamicChange factor = change_of("L['s']", -1, "scalar change");
  factor.is = "2.5";
  EXPECT_EQ(line_of(factor), "torch.tensor(s)  # in place of s, for f (t.py:3)");
}

TEST(DynamicRemedy, AWordForItWhereItHasNone) {
  EXPECT_EQ(line_of(change_of("list(L['d'].keys())[0]", 0, "size change")),
            "torch._dynamo.maybe_mark_dynamic(tensor, 0)"
            "  # tensor: what f (t.py:3) takes as list(L['d'].keys())[0]");
  EXPECT_EQ(line_of(change_of("G['_140486068397904_c1']", 0, "stride change")),
            "tensor.contiguous()  # tensor: what f (t.py:3) takes as G['_140486068397904_c1']");
  // Cut at a place where what is left looks whole.
  EXPECT_EQ(line_of(change_of("L['d']['k']", 0, "stride change", false)),
            "tensor.contiguous()  # tensor: what f (t.py:3) takes as L['d']['k']");
  DynamicChange factor = change_of("f(L['s'])", -1, "scalar change");
  factor.was = "1.5";
  EXPECT_EQ(line_of(factor), "torch.tensor(number)  # number: what f (t.py:3) takes as f(L['s'])");
  EXPECT_EQ(line_of(change_of("G['_140486068397904_c1'].n", -1, "scalar change")),
            "torch.compile(function, dynamic=True)"
            "  # function: f (t.py:3), which takes G['_140486068397904_c1'].n");
}

TEST(DynamicRemedy, NoLineWhereNoneHelps) {
  EXPECT_EQ(line_of(change_of("L['x']", -1, "dimensionality change")), "");
  EXPECT_EQ(line_of(change_of("L['x']", -1, "other")), "");
  EXPECT_EQ(remedy_line(Obstacle::one_value, change_of("L['x']", 0, "size change"), "f"), "");
}

// Whatever a log says: what begins as a comment stays one.
TEST(DynamicRemedy, OneLineWhateverTheNamesAre) {
  const DynamicChange odd = change_of("L['d']['a\nimport os\r']", 0, "size change");
  for (const std::string& line : {line_of(odd, "f\nevil()"), line_of(odd, "")}) {
    EXPECT_EQ(line.find_first_of("\r\n"), std::string::npos) << line;
    EXPECT_TRUE(line.starts_with("torch._dynamo.maybe_mark_dynamic(tensor, 0)  # ")) << line;
  }
}

}  // namespace
}  // namespace headway::compile
