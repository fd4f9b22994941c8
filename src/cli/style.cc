#include "cli/style.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "base/check.h"

namespace headway::cli {
namespace {

using timeline::Bucket;
using timeline::Group;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool is_utf8(std::string locale) {
  std::transform(locale.begin(), locale.end(), locale.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

// Only the sixteen colours that a terminal's own theme defines: readable on light and dark.
constexpr std::array<std::string_view, 12> kCodes = {
    "",          // plain
    "\x1b[1m",   // strong
    "\x1b[90m",  // dim
    "\x1b[90m",  // scheduling
    "\x1b[94m",  // hardware_setup
    "\x1b[34m",  // launcher_init
    "\x1b[35m",  // compile
    "\x1b[32m",  // effective
    "\x1b[91m",  // repeated
    "\x1b[33m",  // wasted
    "\x1b[36m",  // shutdown
    "\x1b[31m",  // down
};
static_assert(kCodes.size() == static_cast<std::size_t>(Ink::down) + 1);

// Heights differ as well as colours, so that red and green need not be told apart.
constexpr Cell kCells[] = {
    {Ink::scheduling, "scheduling", ".", "▁"},
    {Ink::hardware_setup, "set-up", ":", "▁"},
    {Ink::launcher_init, "init", "i", "▃"},
    {Ink::compile, "compile", "c", "▅"},
    {Ink::effective, "new data", "#", "█"},
    {Ink::repeated, "redone or cut off", "r", "▓"},
    {Ink::wasted, "wasted", "w", "▆"},
    {Ink::shutdown, "shutdown", "s", "▂"},
    {Ink::down, "down", "x", "▒"},
};

}  // namespace

OutputFacts probe_output(int fd) {
  OutputFacts facts;
  facts.terminal = ::isatty(fd) == 1;
  winsize size{};
  if (facts.terminal && ::ioctl(fd, TIOCGWINSZ, &size) == 0) facts.columns = size.ws_col;
  facts.no_color = !variable("NO_COLOR").empty();
  facts.dumb = variable("TERM") == "dumb";
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    facts.locale = variable(name);
    if (!facts.locale.empty()) break;
  }
  return facts;
}

Style choose_style(const OutputFacts& facts, ColorWhen when, std::optional<int> width) {
  Style style;
  style.unicode = is_utf8(facts.locale);
  style.color = when == ColorWhen::always ||
                (when == ColorWhen::automatic && facts.terminal && !facts.no_color && !facts.dumb);
  const int found = facts.columns > 0 ? facts.columns : width_default;
  style.width = std::clamp(width.value_or(found), width_min, width_max);
  return style;
}

std::string_view ink_code(Ink ink) {
  HW_CHECK(static_cast<std::size_t>(ink) < kCodes.size());
  return kCodes[static_cast<std::size_t>(ink)];
}

Ink ink_of(Group group) {
  switch (group) {
    case Group::scheduling:
      return Ink::scheduling;
    case Group::hardware_setup:
      return Ink::hardware_setup;
    case Group::launcher_init:
      return Ink::launcher_init;
    case Group::compile:
      return Ink::compile;
    case Group::effective:
      return Ink::effective;
    case Group::wasted:
      return Ink::wasted;
    case Group::shutdown:
      return Ink::shutdown;
    case Group::down:
      return Ink::down;
  }
  return Ink::plain;
}

const Cell& cell_of(Bucket bucket) {
  const bool by_failure = bucket == Bucket::wasted_replay ||
                          bucket == Bucket::wasted_interrupted_step ||
                          bucket == Bucket::wasted_hang;
  const Ink ink = by_failure ? Ink::repeated : ink_of(timeline::group_of(bucket));
  const Cell* found = std::find_if(std::begin(kCells), std::end(kCells),
                                   [&](const Cell& cell) { return cell.ink == ink; });
  HW_CHECK(found != std::end(kCells));
  return *found;
}

std::span<const Cell> all_cells() {
  return kCells;
}

std::string_view cell_text(const Cell& cell, const Style& style) {
  return style.color && style.unicode ? cell.block : cell.letter;
}

}  // namespace headway::cli
