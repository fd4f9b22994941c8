#include "autotune/pins.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "compile/dom.h"

namespace headway::autotune {
namespace {

// What stands in the run-time half before the code, and is replaced here.
constexpr std::string_view kCodeBegins = "# --- The code: the same in every file of pins. ---\n";

constexpr std::string_view kHead = R"(# ruff: noqa
"""Pins for autotuning: the configurations that are worth trying. Written by `headway autotune --pins`.

Keep it with your code; it needs nothing of Headway. Either

    import pins; pins.install()      # every @triton.autotune and inductor's choices
    @triton.autotune(..., prune_configs_by={"early_config_prune": pins.prune("kernel")})

or `headway run --autotune-pins pins.py train.py`. A kernel, a class of shapes, a device or a version
that is not listed here is tuned in full. See docs/autotune.md of Headway.
"""

import functools
import hashlib
import re
import struct
import sys

)";

bool is_pinned(const KernelVerdict& kernel) {
  return std::any_of(kernel.classes.begin(), kernel.classes.end(),
                     [](const ClassVerdict& one) { return one.pinned; });
}

std::string name_of(Framework framework) {
  return framework == Framework::triton ? "triton" : "inductor";
}

void add_list(std::string& out, std::string_view indent, std::string_view name,
              const std::vector<std::string>& texts) {
  out += fmt::format("{}\"{}\": [\n", indent, name);
  for (const std::string& text : texts) {
    out += fmt::format("{}    {},\n", indent, python_literal(text));
  }
  out += fmt::format("{}],\n", indent);
}

void add_class(std::string& out, const ClassVerdict& one) {
  out += fmt::format("            {{  # {} of {}, {} tuning{}{}\n", one.kept_measured, one.measured,
                     one.runs, one.runs == 1 ? "" : "s",
                     one.contradicting ? " that contradict each other" : "");
  out += fmt::format("                \"hardware\": {},\n", python_literal(one.hardware));
  out += fmt::format("                \"shape\": {},\n", python_literal(one.shape_class));
  add_list(out, "                ", "keep", one.keep);
  out += "            },\n";
}

void add_kernel(std::string& out, const KernelVerdict& kernel) {
  out += "    {\n";
  out += fmt::format("        \"framework\": \"{}\",\n", name_of(kernel.framework));
  out += fmt::format("        \"kernel\": {},\n", python_literal(kernel.kernel));
  out += fmt::format("        \"source\": {},\n", python_literal(kernel.source));
  out += fmt::format("        \"software\": {},\n", python_literal(kernel.software));
  add_list(out, "        ", "key_names", kernel.key_names);
  add_list(out, "        ", "measured", kernel.configs);
  out += "        \"classes\": [\n";
  for (const ClassVerdict& one : kernel.classes) {
    if (one.pinned) add_class(out, one);
  }
  out += "        ],\n    },\n";
}

}  // namespace

PinsCount count_pins(const std::vector<KernelVerdict>& verdicts) {
  PinsCount out;
  for (const KernelVerdict& kernel : verdicts) {
    if (is_pinned(kernel)) ++out.kernels;
    out.classes +=
        static_cast<std::size_t>(std::count_if(kernel.classes.begin(), kernel.classes.end(),
                                               [](const ClassVerdict& one) { return one.pinned; }));
  }
  return out;
}

std::string python_literal(std::string_view text) {
  const bool utf8 = simdjson::validate_utf8(text.data(), text.size());
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += byte >= 0x80 && !utf8 ? '?' : c;
    }
  }
  return out + "\"";
}

std::string pins_module(const std::vector<KernelVerdict>& verdicts, double epsilon) {
  std::vector<const KernelVerdict*> pinned;
  for (const KernelVerdict& kernel : verdicts) {
    if (is_pinned(kernel)) pinned.push_back(&kernel);
  }
  // By name: a file that is checked in must not change its order with what tuning cost.
  std::sort(pinned.begin(), pinned.end(), [](const KernelVerdict* a, const KernelVerdict* b) {
    return std::tie(a->framework, a->kernel, a->source, a->software) <
           std::tie(b->framework, b->kernel, b->source, b->software);
  });
  std::string out(kHead);
  out += fmt::format("FORMAT = {}\nEPSILON = {:.6g}\nKERNELS = [\n", kPinsVersion, epsilon);
  for (const KernelVerdict* kernel : pinned) add_kernel(out, *kernel);
  out += "]\n\n";
  const std::string_view runtime = pins_runtime_text();
  const std::size_t code = runtime.find(kCodeBegins);
  HW_CHECK(code != std::string_view::npos);
  out += runtime.substr(code);
  return out;
}

}  // namespace headway::autotune
