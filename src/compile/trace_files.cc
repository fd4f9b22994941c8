// Which files are logs, and reading them all.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>

#include "base/file.h"
#include "base/plural.h"
#include "compile/log_pieces.h"
#include "compile/trace_fold.h"
#include "compile/trace_job.h"
#include "compile/trace_room.h"

namespace headway::compile {
namespace {

using base::Result;
using base::Status;

constexpr std::string_view kLogPrefix = "dedicated_log_torch_trace_";
constexpr int kDepthMax = 6;

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// "dedicated_log_torch_trace_rank_3_abc.log" → 3. A process that compiled before it had a rank has
// none in its file's name.
std::int32_t rank_in_name(std::string_view path) {
  std::string_view name = base_name(path);
  const std::size_t at = name.find("rank_");
  std::int32_t rank = -1;
  if (at == std::string_view::npos) return -1;
  name.remove_prefix(at + 5);
  const auto [after, error] = std::from_chars(name.data(), name.data() + name.size(), rank);
  return error == std::errc() && rank >= 0 ? rank : -1;
}

std::int64_t begun_us(const ProcessLog& log) {
  for (const Compile& compile : log.compiles) {
    if (compile.forward.start_us > 0) return compile.forward.start_us;
  }
  return 0;
}

}  // namespace

Result<std::vector<std::string>> find_logs(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0) return base::errno_status(path, "cannot open", errno);
    if (!S_ISDIR(facts.st_mode)) {
      out.push_back(log_of(path));
      continue;
    }
    auto files = base::list_files(path, "", kDepthMax, base::list_entries_max);
    if (!files.ok()) return files.status();
    for (std::string& file : *files) file = log_of(file);
    std::erase_if(*files, [](const std::string& file) { return !file.ends_with(".log"); });
    std::sort(files->begin(), files->end());
    files->erase(std::unique(files->begin(), files->end()), files->end());
    if (files->size() > kLogsMax) {
      return Status::invalid(
          fmt::format("{}: holds more than {} logs; name a folder below it", path, kLogsMax));
    }
    std::vector<std::string> dedicated;
    for (const std::string& file : *files) {
      if (base_name(file).starts_with(kLogPrefix)) dedicated.push_back(file);
    }
    // Logs that somebody renamed: all of them, if none has the name that torch gives.
    const std::vector<std::string>& found = dedicated.empty() ? *files : dedicated;
    if (found.empty()) {
      return Status::not_found(
          fmt::format("{}: no TORCH_TRACE log ({}*.log) is in it; run the job with TORCH_TRACE={}",
                      path, kLogPrefix, path));
    }
    out.insert(out.end(), found.begin(), found.end());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Result<std::vector<ProcessLog>> read_logs(const std::vector<std::string>& files,
                                          TraceReadOptions options, ComponentTable& components,
                                          const std::function<void(std::uint64_t)>& progress) {
  std::vector<ProcessLog> logs;
  std::uint64_t records = 0;
  TraceRoom own;
  if (options.room == nullptr) options.room = &own;
  for (const std::string& path : files) {
    const std::size_t held = options.room->held();
    auto log = fold_file(path, options, components, progress);
    if (!log.ok()) return log.status();
    if (log->rank < 0) log->rank = rank_in_name(path);
    records += log->counts.records;
    if (options.rank >= 0 && log->rank != options.rank) {
      ProcessLog other;
      other.path = std::move(log->path);
      other.rank = log->rank;
      *log = std::move(other);
      options.room->give_back_to(held);
    }
    logs.push_back(std::move(*log));
  }
  if (records == 0 && !files.empty()) {
    return Status::invalid(
        fmt::format("{}: no record of TORCH_TRACE is in it ({}); they look like \"V1117 "
                    "12:13:13.262000 11797 torch/…] {{…}}\"",
                    files.front(), base::plural(logs.front().counts.foreign_lines, "other line")));
  }
  std::stable_sort(logs.begin(), logs.end(), [](const ProcessLog& a, const ProcessLog& b) {
    return std::pair(a.rank, begun_us(a)) < std::pair(b.rank, begun_us(b));
  });
  return logs;
}

}  // namespace headway::compile
