#include "cache/cpu.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>

#include "base/check.h"
#include "base/file.h"
#include "cache/runtime.h"

namespace headway::cache {
namespace {

constexpr std::size_t kCpuinfoBytesMax = 64 << 20;  // some kB a processor

// Of x86. What else the kernel lists (virtualisation, power, bugs) changes no code.
bool is_instruction_set(std::string_view flag) {
  constexpr std::string_view families[] = {"avx", "amx", "sse", "ssse",
                                           "bmi", "fma", "xop", "3dnow"};
  constexpr std::string_view names[] = {
      "abm",     "adx",       "aes",        "cldemote", "clflushopt", "clwb",  "clzero",
      "cx16",    "f16c",      "gfni",       "lahf_lm",  "mmx",        "movbe", "movdir64b",
      "movdiri", "pclmulqdq", "popcnt",     "pni",      "ptwrite",    "rdpid", "rdrand",
      "rdseed",  "rtm",       "serialize",  "sha_ni",   "sha512",     "sm3",   "sm4",
      "tbm",     "vaes",      "vpclmulqdq", "waitpkg"};
  return std::ranges::any_of(families, [&](auto each) { return flag.starts_with(each); }) ||
         std::ranges::find(names, flag) != std::end(names);
}

std::set<std::string> words_of(std::string_view text, bool all) {
  std::set<std::string> words;
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(" \t"));
    text.remove_prefix(word.size());
    if (all || is_instruction_set(word)) words.emplace(word);
  }
  return words;
}

}  // namespace

std::vector<std::string> cpu_flags_of(std::string_view cpuinfo) {
  std::optional<std::set<std::string>> common;
  while (!cpuinfo.empty()) {
    const std::string_view line = cpuinfo.substr(0, cpuinfo.find('\n'));
    cpuinfo.remove_prefix(std::min(line.size() + 1, cpuinfo.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, line.find_first_of(" \t:"));
    // "Features" and "isa" are of other architectures: short, and all of it matters.
    if (name != "flags" && name != "Features" && name != "isa") continue;
    const std::set<std::string> words = words_of(line.substr(colon + 1), name != "flags");
    if (!common) {
      common = words;
    } else if (*common != words) {
      std::erase_if(*common, [&](const std::string& word) { return !words.contains(word); });
    }
  }
  if (!common) return {};
  std::vector<std::string> flags(common->begin(), common->end());
  flags.resize(std::min(flags.size(), cpu_flags_max));
  return flags;
}

base::Status add_this_cpu(Binding& binding) {
  utsname system{};
  if (::uname(&system) != 0) return base::errno_status("uname", "ask", errno);
  auto text = base::read_file("/proc/cpuinfo", kCpuinfoBytesMax);
  if (!text.ok()) return text.status();
  binding.arch = system.machine;
  std::vector<std::string> runtime = runtime_flags_here();
  HW_CHECK(runtime.size() < cpu_flags_max / 2);
  binding.cpu_flags = cpu_flags_of(*text);
  binding.cpu_flags.resize(std::min(binding.cpu_flags.size(), cpu_flags_max - runtime.size()));
  std::ranges::move(runtime, std::back_inserter(binding.cpu_flags));
  std::ranges::sort(binding.cpu_flags);
  return {};
}

}  // namespace headway::cache
