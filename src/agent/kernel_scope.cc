#include "agent/kernel_scope.h"

#include <algorithm>
#include <charconv>

namespace headway::agent {
namespace {

std::optional<pid_t> number_after(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(at + words.size());
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), pid);
  if (error != std::errc() || end == rest.data() || pid <= 0) return std::nullopt;
  return pid;
}

}  // namespace

bool may_be_ours(std::string_view line, const KernelScope& scope) {
  const std::optional<pid_t> killed = number_after(line, "Killed process ");
  const std::optional<pid_t> named = killed ? killed : number_after(line, "pid=");
  if (named && std::find(scope.ranks.begin(), scope.ranks.end(), *named) != scope.ranks.end()) {
    return true;
  }
  // "oom-kill:constraint=…", "python invoked oom-killer: …"
  if (killed || line.find("oom-kill") != std::string_view::npos) {
    return scope.lost_to_oom.value_or(true);
  }
  return !named || !scope.numbers_hold;
}

}  // namespace headway::agent
