#include <fmt/format.h>

#include <algorithm>

#include "cli/autotune_views.h"
#include "cli/human.h"
#include "cli/page.h"

namespace headway::cli {
namespace {

using namespace autotune;

constexpr std::size_t kRowsShown = 20;  // but for --all
constexpr int kKernelEnd = 38;          // columns
constexpr int kRunsEnd = 46;
constexpr int kSpentEnd = 58;
constexpr int kConfigsEnd = 68;
constexpr int kKeptEnd = 76;
constexpr int kSavesEnd = 88;

// "1-3": of the configurations of a class, over the classes that are pinned.
std::string kept_of(const KernelVerdict& kernel, const Page& page) {
  std::size_t fewest = SIZE_MAX, most = 0;
  for (const ClassVerdict& one : kernel.classes) {
    if (!one.pinned) continue;
    fewest = std::min(fewest, one.kept_measured);
    most = std::max(most, one.kept_measured);
  }
  if (most == 0) return "all";
  return fewest == most ? fmt::format("{}", most)
                        : fmt::format("{}{}{}", fewest, page.dash(), most);
}

// In time where that is known, else in configurations that are not tried.
std::string saves_of(const KernelVerdict& kernel, const Style& style) {
  if (kernel.cost_known) {
    return kernel.saved_ns == 0 ? "-" : human_duration(kernel.saved_ns, style);
  }
  if (kernel.timed == 0 || kernel.would_time == kernel.timed) return "-";
  return human_share(share_of(static_cast<std::int64_t>(kernel.timed - kernel.would_time),
                              static_cast<std::int64_t>(kernel.timed)));
}

void add_classes(Page& page, const KernelVerdict& kernel) {
  for (const ClassVerdict& one : kernel.classes) {
    Line line;
    line.add(fmt::format("      {} of {}  ", one.kept_measured, one.measured),
             one.pinned ? Ink::effective : Ink::dim);
    line.add(plural(one.runs, "tuning"));
    if (one.contradicting) line.add(", contradicting", Ink::wasted);
    line.add("  " + clean(one.hardware, page.style()) + "  ", Ink::dim);
    line.add(clean(one.shape_class, page.style()), Ink::dim);
    page.add_broken(line, 10);
  }
}

void add_kernels(Page& page, const AutotuneView& view) {
  if (view.kernels.empty()) return;
  page.blank();
  Line head;
  head.add("  kernel", Ink::dim)
      .right("runs", kRunsEnd, Ink::dim)
      .right("spent", kSpentEnd, Ink::dim);
  head.right("configs", kConfigsEnd, Ink::dim).right("kept", kKeptEnd, Ink::dim);
  page.add(head.right("saves", kSavesEnd, Ink::dim));
  const std::size_t count = view.kernels.size();
  const std::size_t shown = view.all ? count : std::min(count, kRowsShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const KernelVerdict& kernel = view.kernels[i];
    const Style& style = page.style();
    Line line;
    line.add(kernel.framework == Framework::triton ? "  triton    " : "  inductor  ", Ink::dim);
    line.add(prefix_of(clean(kernel.kernel, style), kKernelEnd - 12), Ink::strong);
    line.right(human_count(kernel.runs), kRunsEnd);
    line.right(kernel.cost_known ? human_duration(kernel.tuning_ns, style) : "-", kSpentEnd);
    line.right(human_count(kernel.configs.size()), kConfigsEnd);
    line.right(kept_of(kernel, page), kKeptEnd);
    line.right(saves_of(kernel, style), kSavesEnd, Ink::effective);
    page.add(line);
    if (view.all) add_classes(page, kernel);
  }
  if (shown < count) page.add(fmt::format("  and {} (--all)", plural(count - shown, "other")));
}

void add_traces(Page& page, const AutotuneView& view) {
  const auto& rows = view.collected->traces;
  if (rows.empty()) return;
  page.blank();
  page.add("Autotuning in the traces: what inductor spent, without times of configurations");
  const std::size_t shown = view.all ? rows.size() : std::min(rows.size(), kRowsShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const compile::AutotuneCost& cost = rows[i];
    Line line;
    line.add("  ").add(prefix_of(clean(cost.kernel, page.style()), kKernelEnd - 2));
    line.right(human_count(cost.runs), kRunsEnd);
    page.add(line.right(human_duration(cost.total_us() * 1000, page.style()), kSpentEnd));
  }
  if (shown < rows.size()) {
    page.add(fmt::format("  and {} (--all)", plural(rows.size() - shown, "other")));
  }
}

// What was not understood, or could not be used, so that nobody takes a part for the whole.
void add_notes(Page& page, const AutotuneView& view) {
  const CollectCounts& c = view.collected->counts;
  if (c.best_config_files > 0) {
    page.blank();
    page.paragraph(
        fmt::format(
            "{} of inductor: {} to find. Inductor uses them again by itself where its cache "
            "directory is kept (headway cache).",
            plural(c.best_config_files, "best_config"),
            human_duration(c.best_config_ns, page.style())),
        0);
  }
  if (c.unknown_hardware > 0) {
    page.blank();
    page.paragraph(fmt::format("{} not known for which hardware: not pinned. --hardware says it.",
                               plural(c.unknown_hardware, "tuning is", "tunings are")),
                   0, Ink::wasted);
  }
  if (c.left_out > 0) {
    page.paragraph(plural(c.left_out, "entry left out: too many, or written twice",
                          "entries left out: too many, or written twice"),
                   0, Ink::wasted);
  }
  if (c.bad > 0) {
    page.blank();
    page.add(plural(c.bad, "file or line", "files or lines") + " passed over:", Ink::wasted);
    for (const std::string& problem : c.problems) {
      page.add_broken(Line().add("  " + clean(problem, page.style())), 4);
    }
    if (c.bad > c.problems.size()) page.add("  and others");
  }
}

void add_pins(Page& page, const AutotuneView& view) {
  if (view.kernels.empty()) return;
  page.blank();
  if (view.pins.classes == 0) {
    page.paragraph(
        "Nothing to pin: no configuration lost clearly in a tuning whose hardware and "
        "shapes are known.",
        0);
  }
  if (!view.pins_file.empty()) {
    page.add_whole(Line().add(fmt::format("wrote {}: {}, {}", clean(view.pins_file, page.style()),
                                          plural(view.pins.kernels, "kernel"),
                                          plural(view.pins.classes, "class", "classes"))));
  } else if (view.pins.classes > 0) {
    page.add_whole(Line().add(fmt::format(
        "{} in {} can be pinned: --pins pins.py, then headway run --autotune-pins pins.py …",
        plural(view.pins.classes, "class of shapes", "classes of shapes"),
        plural(view.pins.kernels, "kernel"))));
  }
}

}  // namespace

std::string autotune_text(const AutotuneView& view, const Style& style) {
  Page page(style);
  std::int64_t tuning_ns = 0, saved_ns = 0;
  for (const KernelVerdict& kernel : view.kernels) {
    tuning_ns += kernel.tuning_ns;
    saved_ns += kernel.saved_ns;
  }
  const std::string dot = fmt::format(" {} ", page.dot());
  Line title;
  title.add(clean(view.title, style), Ink::strong);
  title.add(dot + plural(view.collected->counts.tunings, "tuning"));
  title.add(dot + plural(view.kernels.size(), "kernel"));
  if (tuning_ns > 0) title.add(dot + human_duration(tuning_ns, style) + " spent");
  if (saved_ns > 0)
    title.add(dot + "pins would save " + human_duration(saved_ns, style), Ink::effective);
  page.add_whole(title);
  add_kernels(page, view);
  add_traces(page, view);
  add_notes(page, view);
  add_pins(page, view);
  return page.text();
}

}  // namespace headway::cli
