#include "agent/notice.h"

#include <fmt/format.h>

#include <charconv>
#include <csignal>

#include "base/file.h"

namespace headway::agent {
namespace {

constexpr std::size_t status_bytes_max = 16 * 1024;

bool has(SignalSet set, int signal) {
  return (set >> (signal - 1) & 1) != 0;
}

}  // namespace

std::optional<SignalSet> parse_caught(std::string_view status_text) {
  constexpr std::string_view key = "\nSigCgt:\t";
  const std::size_t at = status_text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = status_text.substr(at + key.size());
  SignalSet set = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), set, 16);
  if (error != std::errc() || end == digits.data()) return std::nullopt;
  return set;
}

std::optional<SignalSet> caught_signals(pid_t pid) {
  const auto text = base::read_file(fmt::format("/proc/{}/status", pid), status_bytes_max);
  return text.ok() ? parse_caught(text.value()) : std::nullopt;
}

int user_signal_for(std::optional<SignalSet> caught, int user_signal, bool ending) {
  if (!caught) return user_signal;
  if (has(*caught, user_signal)) return user_signal;
  return ending && has(*caught, SIGTERM) ? SIGTERM : 0;
}

}  // namespace headway::agent
