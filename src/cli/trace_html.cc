#include "cli/trace_html.h"

#include <fmt/format.h>

#include "cli/report_folder.h"
#include "cli/trace_html_parts.h"
#include "compile/event_copy.h"
#include "compile/payload_copy.h"

namespace headway::cli {
namespace {

using namespace compile;
using base::Result;
using base::Status;

constexpr std::size_t kBreakTextBytes = 8'000;
constexpr std::size_t kMetricsBytesMax = std::size_t{1} << 20;
constexpr std::size_t kConfigsMax = 64;  // logs whose configurations are compared

// JSON in one line is hard to read: a line break behind what is between the outermost commas.
std::string broken_json(std::string_view json) {
  std::string out;
  out.reserve(json.size() + json.size() / 16);
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    out += c;
    if (quoted && c == '\\' && i + 1 < json.size()) {
      out += json[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '{' || c == '[')) {
      ++depth;
    } else if (!quoted && (c == '}' || c == ']')) {
      --depth;
    } else if (!quoted && c == ',' && depth <= 2) {
      out += '\n';
    }
  }
  return out;
}

class Writer {
 public:
  Writer(const TraceView& view, ReportFolder folder,
         const std::function<void(std::uint64_t)>& progress)
      : view_(view), folder_(std::move(folder)), progress_(progress) {}

  Status write() {
    for (std::size_t log = 0; log < view_.job->logs.size(); ++log) {
      if (Status status = write_log(log); !status.ok()) return status;
    }
    const PayloadText text = [this](std::size_t log, const Place& place) {
      auto source = PayloadSource::open(view_.job->logs[log].path);
      return source.ok() ? text_of(*source, place) : std::string();
    };
    file("config.html", config_page(view_, configs_));
    file("stacks.html", stacks_page(view_));
    file("compiles.js", compiles_script(view_));
    file("report.css", report_css());
    file("report.js", report_js());
    file("index.html", index_page(view_, text));
    return status_.ok() ? folder_.commit() : status_;
  }

  HtmlReport report;

 private:
  // The first error stays; nothing is written after it.
  void keep(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  void file(const std::string& name, std::string_view content) {
    if (!status_.ok()) return;
    keep(folder_.write(name, content));
    ++report.files;
  }

  static std::string text_of(PayloadSource& source, const Place& place) {
    auto text = source.text(place, kBreakTextBytes);
    return text.ok() ? std::move(*text) : std::string();
  }

  void write_artifacts(PayloadSource& source, const std::string& folder,
                       const std::vector<Artifact>& artifacts) {
    for (std::size_t i = 0; i < artifacts.size() && status_.ok(); ++i) {
      keep(folder_.open(folder + "/" + payload_name(i, artifacts[i].name)));
      if (!status_.ok()) return;
      keep(source.copy(artifacts[i].place, [this](std::string_view piece) {
        keep(folder_.append(piece));
        return status_.ok();
      }));
      keep(folder_.close());
      ++report.files;
      ++report.payloads;
      report.payload_bytes += artifacts[i].place.bytes;
      if (progress_) progress_(artifacts[i].place.bytes);
    }
  }

  // The JSON of a pass's metrics, and the process's configuration, which is in the first of them.
  void write_metrics(const PayloadSource& source, const std::string& name, const Pass& pass,
                     std::string& config) {
    if (pass.metrics.bytes == 0 || !status_.ok()) return;
    auto json = source.raw(pass.metrics, kMetricsBytesMax);
    if (!json.ok()) return keep(json.status());
    file(name, broken_json(*json));
    if (config.empty() && configs_.size() <= kConfigsMax) config = std::move(*json);
  }

  void write_events(const std::string& path, const std::string& name) {
    if (!status_.ok()) return;
    keep(folder_.open(name));
    if (!status_.ok()) return;
    keep(copy_events(path, [this](std::string_view piece) {
           keep(folder_.append(piece));
           return status_.ok();
         }).status());
    keep(folder_.close());
    ++report.files;
  }

  Status write_log(std::size_t number) {
    const ProcessLog& log = view_.job->logs[number];
    auto source = PayloadSource::open(log.path);
    if (!source.ok()) return source.status();
    const std::string top = fmt::format("log{}", number);
    keep(folder_.make_dir(top));
    std::string& config = configs_.emplace_back();
    const PayloadText text = [&](std::size_t, const Place& place) {
      return text_of(*source, place);
    };
    std::vector<const MissCause*> misses;
    for (std::size_t i = 0; i < log.compiles.size() && status_.ok(); ++i) {
      const Compile& c = log.compiles[i];
      const std::string folder = folder_of(number, c);
      keep(folder_.make_dir(folder));
      // They are in the order of logs and compilations.
      misses.clear();
      for (; next_miss_ < view_.misses.size(); ++next_miss_) {
        const AskRef& at = view_.misses[next_miss_].miss;
        if (at.log != number || at.compile != i) break;
        misses.push_back(&view_.misses[next_miss_]);
      }
      file(folder + "/index.html", compile_page(view_, {number, i}, misses, text));
      write_artifacts(*source, folder, c.artifacts);
      write_metrics(*source, folder + "/metrics.txt", c.forward, config);
      std::string ignored = "-";
      write_metrics(*source, folder + "/metrics-backward.txt", c.backward, ignored);
    }
    write_events(log.path, top + "/events.json");
    if (log.artifacts.empty() || !status_.ok()) return status_;
    keep(folder_.make_dir(top + "/none"));
    write_artifacts(*source, top + "/none", log.artifacts);
    return status_;
  }

  const TraceView& view_;
  ReportFolder folder_;
  const std::function<void(std::uint64_t)>& progress_;
  std::size_t next_miss_ = 0;
  std::vector<std::string> configs_;  // of each log
  Status status_;
};

}  // namespace

std::uint64_t payload_bytes_of(const TraceView& view) {
  std::uint64_t bytes = 0;
  const auto add = [&](const std::vector<Artifact>& artifacts) {
    for (const Artifact& one : artifacts) bytes += one.place.bytes;
  };
  for (const ProcessLog& log : view.job->logs) {
    add(log.artifacts);
    for (const Compile& c : log.compiles) add(c.artifacts);
  }
  return bytes;
}

Result<HtmlReport> write_trace_html(const TraceView& view, const std::string& folder,
                                    const std::function<void(std::uint64_t)>& progress) {
  auto begun = ReportFolder::begin(folder);
  if (!begun.ok()) return begun.status();
  std::string index = begun->path() + "/index.html";
  Writer writer(view, std::move(*begun), progress);
  if (Status status = writer.write(); !status.ok()) return status;
  writer.report.index = std::move(index);
  return writer.report;
}

}  // namespace headway::cli
