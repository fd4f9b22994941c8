#include "interchange/export_families.h"

#include <fmt/format.h>

#include <iterator>

#include "base/check.h"

namespace headway::interchange {
namespace {

constexpr std::string_view type_name(FamilyType type) {
  switch (type) {
    case FamilyType::counter:
      return "counter";
    case FamilyType::gauge:
      return "gauge";
    case FamilyType::histogram:
      break;
  }
  return "histogram";
}

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

class Writer {
 public:
  explicit Writer(TextFormat format) : format_(format) {}

  void family(const Family& family) {
    if (family.samples.empty()) return;
    // The older format knows a counter by the name of its samples.
    const bool total = family.type == FamilyType::counter;
    const std::string_view suffix = total && format_ == TextFormat::prometheus ? "_total" : "";
    const auto at = std::back_inserter(out_);
    fmt::format_to(at, "# TYPE {}{} {}\n", family.name, suffix, type_name(family.type));
    if (!family.unit.empty() && format_ == TextFormat::openmetrics) {
      fmt::format_to(at, "# UNIT {} {}\n", family.name, family.unit);
    }
    fmt::format_to(at, "# HELP {}{} {}\n", family.name, suffix, family.help);
    for (const Sample& sample : family.samples) {
      if (const auto* histogram = std::get_if<Histogram>(&sample.value)) {
        bins(family, sample.labels, *histogram);
      } else {
        head(family.name, total ? "_total" : "", sample.labels);
        value(sample);
      }
    }
  }

  std::string take() {
    if (format_ == TextFormat::openmetrics) out_ += "# EOF\n";
    return std::move(out_);
  }

 private:
  void head(std::string_view name, std::string_view suffix, const Labels& labels,
            std::string_view le = {}) {
    out_ += name;
    out_ += suffix;
    char before = '{';
    const auto label = [&](std::string_view key, std::string_view text) {
      out_ += before;
      out_ += key;
      out_ += "=\"";
      append_escaped(out_, text);
      out_ += '"';
      before = ',';
    };
    for (const auto& [key, text] : labels) label(key, text);
    if (!le.empty()) label("le", le);
    out_ += before == '{' ? " " : "} ";
  }

  void seconds(const Seconds& time) {
    constexpr base::Int128 kNs = 1'000'000'000;
    base::Int128 ns = time.ns;
    if (ns < 0) {
      out_ += '-';
      ns = -ns;
    }
    fmt::format_to(std::back_inserter(out_), "{}", static_cast<std::uint64_t>(ns / kNs));
    if (ns % kNs != 0) {
      std::string digits = fmt::format(".{:09}", static_cast<std::uint64_t>(ns % kNs));
      digits.erase(digits.find_last_not_of('0') + 1);
      out_ += digits;
    }
    out_ += '\n';
  }

  void value(const Sample& sample) {
    if (const auto* time = std::get_if<Seconds>(&sample.value)) return seconds(*time);
    const auto at = std::back_inserter(out_);
    if (const auto* count = std::get_if<std::uint64_t>(&sample.value)) {
      fmt::format_to(at, "{}\n", *count);
    } else {
      fmt::format_to(at, "{}\n", std::get<double>(sample.value));
    }
  }

  void bins(const Family& family, const Labels& labels, const Histogram& histogram) {
    HW_CHECK(histogram.counts.size() == family.bounds.size() + 1);
    const auto at = std::back_inserter(out_);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
      sum += histogram.counts[i];
      // A bound of OpenMetrics is written as a number with a point.
      const std::string le =
          i == family.bounds.size() ? "+Inf" : fmt::format("{:.1f}", family.bounds[i]);
      head(family.name, "_bucket", labels, le);
      fmt::format_to(at, "{}\n", sum);
    }
    head(family.name, "_count", labels);
    fmt::format_to(at, "{}\n", sum);
    head(family.name, "_sum", labels);
    seconds(histogram.sum);
  }

  const TextFormat format_;
  std::string out_;
};

}  // namespace

std::string to_text(const std::vector<Family>& families, TextFormat format) {
  Writer writer(format);
  for (const Family& family : families) writer.family(family);
  return writer.take();
}

}  // namespace headway::interchange
