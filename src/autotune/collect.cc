#include "autotune/collect.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "autotune/best_config.h"
#include "autotune/feedback_line.h"
#include "autotune/triton_file.h"
#include "base/file.h"
#include "base/hash.h"
#include "compile/trace_fold.h"

namespace headway::autotune {
namespace {

using base::Result;
using base::Status;

constexpr int kDepthMax = 8;
constexpr std::string_view kFeedbackPrefix = "autotune-";
constexpr std::string_view kFeedbackSuffix = ".jsonl";
constexpr std::string_view kTracePrefix = "dedicated_log_torch_trace_";

using Kind = TuningKind;

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos
             ? "."
             : std::string(path.substr(0, std::max<std::size_t>(slash, 1)));
}

Kind kind_of(std::string_view path, bool given) {
  const std::string_view name = base_name(path);
  if (name.ends_with(kTritonSuffix)) return Kind::triton;
  if (name.ends_with(kBestConfigSuffix)) return Kind::best_config;
  if (name.ends_with(kFeedbackSuffix) && (given || name.starts_with(kFeedbackPrefix))) {
    return Kind::feedback;
  }
  if (name.ends_with(".log") && (given || name.starts_with(kTracePrefix))) return Kind::trace;
  return Kind::unknown;
}

// For which hardware, and by what, the kernels of a Triton cache directory were compiled.
class Targets {
 public:
  // `file` is <root>/<key>/<fn>.autotune.json. Empty where none is known, or several are.
  TritonTarget of(const std::string& file) {
    std::string_view name = base_name(file);
    name.remove_suffix(kTritonSuffix.size());
    const std::string root = folder_of(folder_of(file));
    const auto [at, fresh] = known_.try_emplace({root, std::string(name)});
    if (fresh) at->second = find(root, std::string(name) + ".json");
    return at->second;
  }

 private:
  TritonTarget find(const std::string& root, const std::string& metadata) {
    const auto [files, fresh] = files_.try_emplace(root);
    if (fresh) {
      auto found = base::list_files(root, ".json", 1, base::list_entries_max);
      if (found.ok()) files->second = std::move(*found);
    }
    std::set<TritonTarget> targets;
    for (const std::string& file : files->second) {
      if (base_name(file) != metadata) continue;
      const auto text = base::read_file(file, kFileBytesMax);
      if (!text.ok()) continue;
      TritonTarget target = target_of(text.value());
      if (!target.hardware.empty()) targets.insert(std::move(target));
    }
    return targets.size() == 1 ? *targets.begin() : TritonTarget();
  }

  std::map<std::string, std::vector<std::string>> files_;  // of a cache directory
  std::map<std::pair<std::string, std::string>, TritonTarget> known_;
};

class Collector {
 public:
  Collector(const CollectOptions& options, const std::function<void(std::uint64_t)>& progress)
      : options_(options), progress_(progress) {
    out_.pruner = Pruner(options.prune);
  }

  void read(const std::string& path, Kind kind) {
    if (kind == Kind::trace) return read_trace(path);
    const std::size_t bytes_max = kind == Kind::feedback ? kFeedbackBytesMax : kFileBytesMax;
    const auto text = base::read_file(path, bytes_max);
    if (!text.ok()) return note(text.status().message());
    if (progress_) progress_(text.value().size());
    if (kind == Kind::triton) read_triton(path, text.value());
    if (kind == Kind::feedback) read_feedback(path, text.value());
    if (kind == Kind::best_config) read_best_config(path, text.value());
  }

  Collected take() {
    out_.counts.left_out += out_.pruner.left_out();
    return std::move(out_);
  }
  [[nodiscard]] const CollectCounts& counts() const { return out_.counts; }

 private:
  void note(std::string what) {
    CollectCounts& counts = out_.counts;
    ++counts.bad;
    if (counts.problems.size() < kProblemsMax) counts.problems.push_back(std::move(what));
  }

  // A cache directory that was copied to every rank must not count as so many tunings.
  bool seen_before(std::string_view name, std::string_view text) {
    base::Sha256Stream digest;
    digest.add(std::as_bytes(std::span(name)));
    digest.add(std::as_bytes(std::span("\n", 1)));
    digest.add(std::as_bytes(std::span(text)));
    if (seen_.insert(digest.finish()).second) return false;
    ++out_.counts.repeated;
    return true;
  }

  void add(Observation one) {
    ++out_.counts.tunings;
    if (one.hardware.empty()) one.hardware = options_.hardware;
    if (one.hardware.empty()) ++out_.counts.unknown_hardware;
    out_.pruner.add(one);
  }

  void read_triton(const std::string& path, const std::string& text) {
    auto tuning = parse_triton_tuning(base_name(path), text);
    if (!tuning.ok()) return note(fmt::format("{}: {}", path, tuning.status().message()));
    ++out_.counts.triton_files;
    out_.counts.left_out += tuning->left_out;
    if (seen_before(base_name(path), text)) return;
    const TritonTarget target = targets_.of(path);
    tuning->observation.hardware = target.hardware;
    tuning->observation.software = target.software;
    add(std::move(tuning->observation));
  }

  void read_feedback(const std::string& path, const std::string& text) {
    ++out_.counts.feedback_files;
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = std::string_view(text).substr(at, end - at);
      at = end + 1;
      ++number;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      auto feedback = parse_feedback(line);
      if (!feedback.ok()) {
        note(fmt::format("{}:{}: {}", path, number, feedback.status().message()));
        continue;
      }
      out_.counts.left_out += feedback->left_out;
      if (!seen_before("", line)) add(std::move(feedback->observation));
    }
  }

  void read_best_config(const std::string& path, const std::string& text) {
    const auto best = parse_best_config(text);
    if (!best.ok()) return note(fmt::format("{}: {}", path, best.status().message()));
    ++out_.counts.best_config_files;
    if (seen_before(base_name(path), text)) return;
    out_.counts.best_config_ns += best.value().tuning_ns;
  }

  void read_trace(const std::string& path) {
    compile::ComponentTable components;
    auto log = compile::fold_file(path, {}, components, progress_);
    if (!log.ok()) return note(log.status().message());
    if (log->counts.records == 0) {
      return note(fmt::format("{}: no record of TORCH_TRACE is in it", path));
    }
    ++out_.counts.trace_files;
    out_.counts.left_out += log->left_out;
    std::erase_if(log->autotune, [](const auto& cost) { return cost.total_us() == 0; });
    out_.traces = compile::merge_costs({&out_.traces, &log->autotune});
  }

  const CollectOptions& options_;
  const std::function<void(std::uint64_t)>& progress_;
  Collected out_;
  Targets targets_;
  std::set<base::Sha256> seen_;
};

Status find(const std::string& path, std::vector<TuningFile>& out) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return base::errno_status(path, "cannot open", errno);
  if (!S_ISDIR(facts.st_mode)) {
    const Kind kind = kind_of(path, true);
    if (kind == Kind::unknown) {
      return Status::invalid(fmt::format(
          "{}: not a file that tells of autotuning; they are named *.autotune.json (Triton), "
          "autotune-*.jsonl (headway run), *.best_config (inductor), *.log (TORCH_TRACE)",
          path));
    }
    out.push_back({path, kind, static_cast<std::uint64_t>(facts.st_size)});
    return {};
  }
  for (const std::string_view suffix :
       {kTritonSuffix, kFeedbackSuffix, kBestConfigSuffix, std::string_view(".log")}) {
    auto files = base::list_files(path, suffix, kDepthMax, kFilesMax);
    if (!files.ok()) return files.status();
    for (std::string& file : *files) {
      const Kind kind = kind_of(file, false);
      if (kind == Kind::unknown) continue;
      const bool there = ::stat(file.c_str(), &facts) == 0;
      const auto bytes = static_cast<std::uint64_t>(there ? facts.st_size : 0);
      out.push_back({std::move(file), kind, bytes});
    }
  }
  return {};
}

}  // namespace

Result<std::vector<TuningFile>> find_tunings(const std::vector<std::string>& paths) {
  std::vector<TuningFile> files;
  for (const std::string& path : paths) {
    if (const Status status = find(path, files); !status.ok()) return status;
  }
  if (files.empty()) {
    return Status::not_found(fmt::format(
        "{}: nothing of autotuning is in it; `headway run` records it, Triton does with "
        "TRITON_CACHE_AUTOTUNING=1 into TRITON_CACHE_DIR",
        paths.empty() ? "no path" : paths.front()));
  }
  std::sort(files.begin(), files.end(),
            [](const TuningFile& a, const TuningFile& b) { return a.path < b.path; });
  files.erase(
      std::unique(files.begin(), files.end(),
                  [](const TuningFile& a, const TuningFile& b) { return a.path == b.path; }),
      files.end());
  return files;
}

Result<Collected> read_tunings(const std::vector<TuningFile>& files, const CollectOptions& options,
                               const std::function<void(std::uint64_t)>& progress) {
  Collector collector(options, progress);
  for (const TuningFile& file : files) collector.read(file.path, file.kind);
  const CollectCounts& counts = collector.counts();
  if (counts.tunings + counts.best_config_files + counts.trace_files == 0 && counts.bad > 0) {
    return Status::invalid(counts.problems.front());
  }
  return collector.take();
}

}  // namespace headway::autotune
