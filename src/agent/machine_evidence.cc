#include "agent/machine_evidence.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "agent/kernel_scope.h"

namespace headway::agent {
namespace {

constexpr std::size_t kernel_record_bytes_max = 16 * 1024;  // the kernel's own limit is half of it
constexpr std::size_t small_file_bytes_max = 64 * 1024;

// Calls take(line) for each line, without its end.
template <typename Take>
void each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    take(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

std::optional<std::uint64_t> number_of(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end == digits.data()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> read_oom_kills(const std::string& path) {
  const auto text = base::read_file(path, small_file_bytes_max);
  return text.ok() ? oom_kills_of(text.value()) : std::nullopt;
}

}  // namespace

std::optional<std::string_view> kernel_text(std::string_view record) {
  const std::size_t semicolon = record.find(';');
  if (semicolon == std::string_view::npos || record.starts_with(' ')) return std::nullopt;
  const std::string_view head = record.substr(0, semicolon);
  if (!number_of(head) || head.find(',') == std::string_view::npos) return std::nullopt;
  const std::string_view rest = record.substr(semicolon + 1);
  return rest.substr(0, rest.find('\n'));
}

std::vector<std::string> oom_files(std::string_view proc_cgroup, const std::string& cgroup_root) {
  std::vector<std::string> first, unified;
  each_line(proc_cgroup, [&](std::string_view line) {
    const std::size_t names = line.find(':');
    const std::size_t path_at = names == std::string_view::npos ? names : line.find(':', names + 1);
    if (path_at == std::string_view::npos) return;
    const std::string controllers =
        fmt::format(",{},", line.substr(names + 1, path_at - names - 1));
    std::string path(line.substr(path_at + 1));
    if (path == "/") path.clear();
    if (controllers.find(",memory,") != std::string::npos) {
      // Inside a container the path is the host's, and its own cgroup is mounted as the root.
      for (const std::string& where : {path, std::string()}) {
        first.push_back(fmt::format("{}/memory{}/memory.oom_control", cgroup_root, where));
      }
    } else if (controllers == ",,") {
      for (const std::string& where : {path, std::string()}) {
        unified.push_back(fmt::format("{}{}/memory.events", cgroup_root, where));
      }
    }
  });
  first.insert(first.end(), unified.begin(), unified.end());
  first.erase(std::unique(first.begin(), first.end()), first.end());
  return first;
}

std::optional<std::uint64_t> oom_kills_of(std::string_view text) {
  constexpr std::string_view kName = "oom_kill ";
  std::optional<std::uint64_t> count;
  each_line(text, [&](std::string_view line) {
    if (line.starts_with(kName)) count = number_of(line.substr(kName.size()));
  });
  return count;
}

void MachineEvidence::open_kernel_log() {
  if (!kmsg_.valid()) {
    kmsg_.reset(::open(roots_.kmsg.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  if (kmsg_.valid() && ::lseek(kmsg_.get(), 0, SEEK_END) >= 0) return;
  notes_.push_back(fmt::format("{}: {}", roots_.kmsg, std::strerror(errno)));
  kmsg_.reset();
}

void MachineEvidence::begin() {
  notes_.clear();
  open_kernel_log();
  oom_file_.clear();
  const auto own = base::read_file(roots_.proc + "/self/cgroup", small_file_bytes_max);
  if (!own.ok()) {
    notes_.push_back(own.status().message());
    return;
  }
  for (const std::string& path : oom_files(own.value(), roots_.cgroup)) {
    const auto count = read_oom_kills(path);
    if (!count) continue;
    oom_file_ = path;
    oom_kills_ = *count;
    return;
  }
  notes_.push_back(roots_.cgroup + ": no counter of processes killed for want of memory");
}

void MachineEvidence::read_kernel_log(const failure::Classifier& classifier,
                                      std::vector<std::string>& lines) {
  std::array<char, kernel_record_bytes_max> buffer;
  std::size_t over = 0;
  for (std::size_t records = 0; records < kernel_records_max; ++records) {
    const ssize_t got = ::read(kmsg_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EPIPE) {
      notes_.push_back(roots_.kmsg + ": the kernel overwrote records before they were read");
      continue;
    }
    if (got <= 0) break;
    each_line({buffer.data(), static_cast<std::size_t>(got)}, [&](std::string_view line) {
      const auto text = kernel_text(line);
      if (!text || !classifier.knows_kernel_line(*text)) return;
      if (lines.size() < kernel_lines_max) {
        lines.emplace_back(*text);
      } else {
        ++over;
      }
    });
  }
  if (over != 0) notes_.push_back(fmt::format("{}: {} more lines like these", roots_.kmsg, over));
}

// In the first of all process namespaces; its number is part of the kernel's interface.
bool MachineEvidence::numbers_hold() const {
  std::error_code error;
  const auto space = std::filesystem::read_symlink(roots_.proc + "/self/ns/pid", error);
  return !error && space == "pid:[4026531836]";
}

std::vector<std::string> MachineEvidence::collect(const failure::Classifier& classifier,
                                                  std::vector<pid_t> ranks) {
  notes_.clear();
  std::vector<std::string> lines;
  if (kmsg_.valid()) read_kernel_log(classifier, lines);
  KernelScope scope{std::move(ranks), numbers_hold(), std::nullopt};
  std::string killed;
  if (!oom_file_.empty()) {
    if (const auto count = read_oom_kills(oom_file_)) {
      scope.lost_to_oom = *count > oom_kills_;
      if (*count > oom_kills_) killed = fmt::format("cgroup oom_kill={}", *count - oom_kills_);
      oom_kills_ = *count;
    } else {
      notes_.push_back(oom_file_ + ": cannot be read any more");
    }
  }
  const std::size_t others =
      std::erase_if(lines, [&](const std::string& line) { return !may_be_ours(line, scope); });
  if (others != 0) {
    notes_.push_back(fmt::format("{}: {} lines about other jobs' processes", roots_.kmsg, others));
  }
  if (!killed.empty()) lines.push_back(std::move(killed));
  return lines;
}

}  // namespace headway::agent
