#include "compile/dynamic_remedy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/cut_text.h"
#include "compile/python_name.h"
#include "compile/source_pattern.h"

namespace headway::compile {
namespace {

constexpr std::size_t kSourceShownMax = 80;  // of a name that is no expression of the script's

// For a comment: a line break would end it, and what follows would be code.
std::string one_line(std::string_view text) {
  std::string out(text);
  std::ranges::replace_if(
      out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return out;
}

std::string shown_source(std::string_view source) {
  const std::string_view shown = base::cut_text(source, kSourceShownMax);
  return one_line(shown) + (shown.size() < source.size() ? "…" : "");
}

// What the script calls it, in every run.
std::string expression_of(const DynamicChange& change) {
  return change.whole && is_lasting_name(change.source) ? python_name(change.source)
                                                        : std::string();
}

}  // namespace

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

Obstacle obstacle_of(const DynamicChange& change) {
  const bool size = change.reason == "size change" && change.dim >= 0;
  const bool number = change.reason == "scalar change";
  if (change.reason == "dimensionality change") return Obstacle::dimensions;
  if (change.reason == "stride change") return Obstacle::strides;
  if (!size && !number) return Obstacle::untold;
  if (number && !(whole_number(change.was) && whole_number(change.is))) {
    return Obstacle::fraction;
  }
  if (!change.whole) return Obstacle::too_long;
  return is_lasting_name(change.source) ? Obstacle::none : Obstacle::address;
}

std::string_view why(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::none:
      break;
    case Obstacle::dimensions:
      return "its number of dimensions changes: one function for each helps";
    case Obstacle::strides:
      return "its layout in memory changes: .contiguous() helps";
    case Obstacle::untold:
      return "torch does not say what changes";
    case Obstacle::fraction:
      return "a number that is not whole: torch takes no name for it, a tensor in its place helps";
    case Obstacle::too_long:
      return "its name is too long";
    case Obstacle::address:
      return "its name has an address in it, another in every run";
    case Obstacle::one_value:
      return "the code holds for one value of it: torch compiles for each";
  }
  return {};
}

std::string remedy_line(Obstacle obstacle, const DynamicChange& change, std::string_view function) {
  const std::string known = expression_of(change);
  const std::string of = one_line(function.empty() ? "the function" : function);
  const auto stands_for = [&](std::string_view word) {
    return fmt::format("  # {}: what {} takes as {}", word, of, shown_source(change.source));
  };
  const std::string in_place = fmt::format("  # in place of {}, for {}", known, of);
  const bool is_known = !known.empty();
  switch (obstacle) {
    case Obstacle::none:
    case Obstacle::too_long:
    case Obstacle::address:
      if (change.dim >= 0) {
        return fmt::format("torch._dynamo.maybe_mark_dynamic({}, {}){}",
                           is_known ? known : "tensor", change.dim,
                           is_known ? "" : stands_for("tensor"));
      }
      // No mark is for numbers; where one can be named that is the better way.
      if (obstacle == Obstacle::none) return {};
      return fmt::format("torch.compile(function, dynamic=True)  # function: {}, which takes {}",
                         of, shown_source(change.source));
    case Obstacle::strides:
      return is_known ? known + ".contiguous()" + in_place
                      : "tensor.contiguous()" + stands_for("tensor");
    case Obstacle::fraction:
      return is_known ? fmt::format("torch.tensor({}){}", known, in_place)
                      : "torch.tensor(number)" + stands_for("number");
    case Obstacle::dimensions:
    case Obstacle::untold:
    case Obstacle::one_value:
      break;
  }
  return {};
}

}  // namespace headway::compile
