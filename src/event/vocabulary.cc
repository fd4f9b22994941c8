#include "event/vocabulary.h"

#include <cstddef>
#include <span>

namespace headway::event {
namespace {

// Index = the number in the ABI. An empty word is a number that means nothing.
constexpr std::array<std::string_view, kBuiltinPhases> kPhases = {"",
                                                                  "imports",
                                                                  "device_init",
                                                                  "process_group_init",
                                                                  "preproc_creation",
                                                                  "train_module_creation",
                                                                  "init_plugins",
                                                                  "pre_train",
                                                                  "get_first_batch_data",
                                                                  "restore",
                                                                  "compile",
                                                                  "checkpoint_blocked",
                                                                  "data_wait",
                                                                  "eval",
                                                                  "publish",
                                                                  "join"};
constexpr std::array<std::string_view, HW_MARK_JOB_END + 1> kMarks = {"",
                                                                      "submitted",
                                                                      "resources_available",
                                                                      "allocated",
                                                                      "launcher_start",
                                                                      "trainer_start",
                                                                      "preempt_notice",
                                                                      "failure",
                                                                      "exit",
                                                                      "job_end"};
constexpr std::array<std::string_view, HW_ORIGIN_UNKNOWN + 1> kOrigins = {"", "infra", "preemption",
                                                                          "user", "unknown"};
constexpr std::array<std::string_view, HW_CHECKPOINT_FAILED + 1> kStates = {"", "staged", "durable",
                                                                            "uploaded", "failed"};

std::string_view word(std::span<const std::string_view> words, std::size_t index) {
  return index < words.size() ? words[index] : std::string_view{};
}

template <typename T>
std::optional<T> number(std::span<const std::string_view> words, std::string_view name) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == name) return static_cast<T>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view phase_name(PhaseId phase) {
  return word(kPhases, phase);
}
std::string_view mark_name(std::uint16_t mark) {
  return word(kMarks, mark);
}
std::string_view origin_name(int origin) {
  return origin < 0 ? std::string_view{} : word(kOrigins, static_cast<std::size_t>(origin));
}
std::string_view checkpoint_state_name(std::uint16_t state) {
  return word(kStates, state);
}

std::optional<PhaseId> phase_from_name(std::string_view name) {
  return number<PhaseId>(kPhases, name);
}
std::optional<std::uint16_t> mark_from_name(std::string_view name) {
  return number<std::uint16_t>(kMarks, name);
}
std::optional<int> origin_from_name(std::string_view name) {
  return number<int>(kOrigins, name);
}
std::optional<std::uint16_t> checkpoint_state_from_name(std::string_view name) {
  return number<std::uint16_t>(kStates, name);
}

}  // namespace headway::event
