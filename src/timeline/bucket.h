// The buckets of the partition: every nanosecond of a job's wall time is in exactly one of them.
// Pure data; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headway::timeline {

enum class Bucket : std::uint8_t {
  scheduling,
  hardware_setup,
  init_imports,  // the L3 stages keep the order of event::kInitStages
  init_device,
  init_process_group,
  init_preproc,
  init_train_module,
  init_plugins,
  init_pre_train,
  init_first_batch,
  init_restore,
  init_other,
  compile_cold,
  compile_warm,
  wasted_data_wait,
  wasted_recompile,
  effective,
  wasted_replay,
  wasted_interrupted_step,
  wasted_hang,
  wasted_eval,
  wasted_checkpoint_blocked,
  wasted_other,
  shutdown_final_save,
  shutdown_publish,
  shutdown_other,
  down,
};
inline constexpr std::size_t kBuckets = static_cast<std::size_t>(Bucket::down) + 1;

enum class Group : std::uint8_t {  // the L2 breakdown
  scheduling,
  hardware_setup,
  launcher_init,
  compile,
  effective,
  wasted,
  shutdown,
  down,
};
inline constexpr std::size_t kGroups = static_cast<std::size_t>(Group::down) + 1;

[[nodiscard]] constexpr std::size_t index(Bucket b) {
  return static_cast<std::size_t>(b);
}
[[nodiscard]] Group group_of(Bucket bucket);
// "replay", "imports", "cold": the word inside its group. For a group of one, the group's name.
[[nodiscard]] std::string_view bucket_name(Bucket bucket);
[[nodiscard]] std::string_view group_name(Group group);

// Nanoseconds per bucket. Plain integers, so that sums telescope and merges are exact.
struct Sums {
  std::array<std::int64_t, kBuckets> ns{};

  std::int64_t& operator[](Bucket b) { return ns[index(b)]; }
  std::int64_t operator[](Bucket b) const { return ns[index(b)]; }
  Sums& operator+=(const Sums& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) ns[i] += other.ns[i];
    return *this;
  }
  Sums& operator-=(const Sums& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) ns[i] -= other.ns[i];
    return *this;
  }
  [[nodiscard]] std::int64_t total() const {
    std::int64_t sum = 0;
    for (const std::int64_t v : ns) sum += v;
    return sum;
  }
  [[nodiscard]] std::int64_t group(Group group) const;
  // What counts as failure wherever it stands: down, replay, interrupted_step, hang.
  [[nodiscard]] std::int64_t always_failure() const {
    return (*this)[Bucket::down] + (*this)[Bucket::wasted_replay] +
           (*this)[Bucket::wasted_interrupted_step] + (*this)[Bucket::wasted_hang];
  }
  bool operator==(const Sums&) const = default;
};

}  // namespace headway::timeline
