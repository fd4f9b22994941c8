// What the machine says of a failure: the kernel's log and the counter of processes that this
// cgroup lost for want of memory. begin() when an attempt starts, collect() when it has failed; the
// lines go into failure::Evidence::kernel. What may not be read is left out and noted: a container
// often has neither. One thread; never blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "failure/classify.h"

namespace headway::agent {

// Where the machine keeps these things; other places in tests.
struct MachineRoots {
  std::string kmsg = "/dev/kmsg";
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

class MachineEvidence {
 public:
  static constexpr std::size_t kernel_lines_max = 256;
  static constexpr std::size_t kernel_records_max = 100'000;  // that one collect() looks at

  explicit MachineEvidence(MachineRoots roots = {}) : roots_(std::move(roots)) {}

  void begin();
  // Since begin(): lines of the kernel's log that a rule of `classifier` knows and that are not
  // surely about another job's processes (kernel_scope.h), oldest first, and "cgroup oom_kill=N". A
  // second call returns what has come since the first.
  std::vector<std::string> collect(const failure::Classifier& classifier,
                                   std::vector<pid_t> ranks = {});

  // What could not be read or was too much, one line each, of the last begin() and collect().
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  void open_kernel_log();
  [[nodiscard]] bool numbers_hold() const;
  void read_kernel_log(const failure::Classifier& classifier, std::vector<std::string>& lines);

  MachineRoots roots_;
  base::UniqueFd kmsg_;
  std::string oom_file_;
  std::uint64_t oom_kills_ = 0;  // when last looked
  std::vector<std::string> notes_;
};

// The text of a record of /dev/kmsg: "6,1234,98765,-;usb 1-1: new device". Nothing for what is no
// record, such as the lines of details behind one.
[[nodiscard]] std::optional<std::string_view> kernel_text(std::string_view record);

// The files that may hold this process's counter, the likeliest first, from /proc/self/cgroup.
[[nodiscard]] std::vector<std::string> oom_files(std::string_view proc_cgroup,
                                                 const std::string& cgroup_root);

// The count in the text of memory.events (v2) or memory.oom_control (v1).
[[nodiscard]] std::optional<std::uint64_t> oom_kills_of(std::string_view text);

}  // namespace headway::agent
