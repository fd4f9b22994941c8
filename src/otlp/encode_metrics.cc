#include <variant>

#include "base/check.h"
#include "interchange/json_text.h"
#include "otlp/encode.h"
#include "otlp/encode_parts.h"

namespace headway::otlp {
namespace {

using interchange::Family;
using interchange::FamilyType;
using interchange::Sample;

constexpr std::uint64_t kCumulative = 2;

struct Times {
  std::uint64_t since, now;
};

double seconds(const interchange::Seconds& time) {
  return static_cast<double>(time.ns) / 1e9;
}

void write_labels(ProtoWriter& out, std::uint32_t field, const interchange::Labels& labels) {
  for (const auto& [key, text] : labels) {
    out.message(field, [&](ProtoWriter& pair) {
      pair.text(1, key);
      pair.message(
          2, [&](ProtoWriter& value) { value.present_text(1, interchange::valid_utf8(text)); });
    });
  }
}

// NumberDataPoint
void write_number(ProtoWriter& out, const Sample& sample, const Times& times, bool counter) {
  if (counter) out.fixed(2, times.since);
  out.fixed(3, times.now);
  if (const auto* count = std::get_if<std::uint64_t>(&sample.value)) {
    out.present_fixed(6, *count);
  } else if (const auto* time = std::get_if<interchange::Seconds>(&sample.value)) {
    out.present_real(4, seconds(*time));
  } else {
    out.present_real(4, std::get<double>(sample.value));
  }
  write_labels(out, 7, sample.labels);
}

// HistogramDataPoint
void write_histogram(ProtoWriter& out, const Family& family, const Sample& sample,
                     const Times& times) {
  const auto& histogram = std::get<interchange::Histogram>(sample.value);
  HW_CHECK(histogram.counts.size() == family.bounds.size() + 1);
  std::uint64_t count = 0;
  for (const std::uint64_t each : histogram.counts) count += each;
  out.fixed(2, times.since);
  out.fixed(3, times.now);
  out.fixed(4, count);
  out.present_real(5, seconds(histogram.sum));
  out.packed<std::uint64_t>(6, histogram.counts);
  out.packed<double>(7, family.bounds);
  write_labels(out, 9, sample.labels);
}

std::string_view unit_of(const Family& family) {
  if (family.unit == "seconds") return "s";
  return family.unit == "ratio" ? "1" : "";
}

void write_metric(ProtoWriter& out, const Family& family, const Times& times) {
  out.text(1, metric_name(family));
  out.text(2, family.help);
  out.text(3, unit_of(family));
  const bool counter = family.type == FamilyType::counter;
  const std::uint32_t field = family.type == FamilyType::gauge ? 5 : counter ? 7 : 9;
  out.message(field, [&](ProtoWriter& data) {
    for (const Sample& sample : family.samples) {
      data.message(1, [&](ProtoWriter& point) {
        if (family.type == FamilyType::histogram) {
          write_histogram(point, family, sample, times);
        } else {
          write_number(point, sample, times, counter);
        }
      });
    }
    if (family.type != FamilyType::gauge) data.number(2, kCumulative);
    if (counter) data.number(3, 1);  // never goes down
  });
}

}  // namespace

std::string metric_name(const Family& family) {
  std::string name = family.name;
  if (!family.unit.empty() && name.size() > family.unit.size() + 1 && name.ends_with(family.unit)) {
    name.resize(name.size() - family.unit.size() - 1);
  }
  std::size_t at = 0;
  for (int i = 0; i < 2 && (at = name.find('_', at)) != std::string::npos; ++i) name[at] = '.';
  return name;
}

std::string encode_metrics(const Source& source, std::span<const Family> families,
                           std::int64_t since_ns, std::int64_t now_ns) {
  const Times times{unix_ns(since_ns), unix_ns(now_ns)};
  ProtoWriter out;
  out.message(1, [&](ProtoWriter& resource_metrics) {
    write_resource(resource_metrics, source);
    resource_metrics.message(2, [&](ProtoWriter& scope_metrics) {
      write_scope(scope_metrics, source);
      for (const Family& family : families) {
        if (family.samples.empty()) continue;
        scope_metrics.message(2, [&](ProtoWriter& inner) { write_metric(inner, family, times); });
      }
    });
  });
  return out.take();
}

}  // namespace headway::otlp
