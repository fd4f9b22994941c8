#include "timeline/bucket.h"

#include "base/check.h"

namespace headway::timeline {
namespace {

struct Row {
  Group group;
  std::string_view name;
};
constexpr std::array<Row, kBuckets> kRows = {{
    {Group::scheduling, "scheduling"},
    {Group::hardware_setup, "hardware_setup"},
    {Group::launcher_init, "imports"},
    {Group::launcher_init, "device_init"},
    {Group::launcher_init, "process_group_init"},
    {Group::launcher_init, "preproc_creation"},
    {Group::launcher_init, "train_module_creation"},
    {Group::launcher_init, "init_plugins"},
    {Group::launcher_init, "pre_train"},
    {Group::launcher_init, "get_first_batch_data"},
    {Group::launcher_init, "restore"},
    {Group::launcher_init, "other"},
    {Group::compile, "cold"},
    {Group::compile, "warm"},
    {Group::wasted, "data_wait"},
    {Group::wasted, "recompile"},
    {Group::effective, "effective"},
    {Group::wasted, "replay"},
    {Group::wasted, "interrupted_step"},
    {Group::wasted, "hang"},
    {Group::wasted, "eval"},
    {Group::wasted, "checkpoint_blocked"},
    {Group::wasted, "other"},
    {Group::shutdown, "final_save"},
    {Group::shutdown, "publish"},
    {Group::shutdown, "other"},
    {Group::down, "down"},
}};
constexpr std::array<std::string_view, kGroups> kGroupNames = {
    "scheduling", "hardware_setup", "launcher_init", "compile",
    "effective",  "wasted",         "shutdown",      "down"};

}  // namespace

Group group_of(Bucket bucket) {
  HW_CHECK(index(bucket) < kBuckets);
  return kRows[index(bucket)].group;
}

std::string_view bucket_name(Bucket bucket) {
  HW_CHECK(index(bucket) < kBuckets);
  return kRows[index(bucket)].name;
}

std::string_view group_name(Group group) {
  HW_CHECK(static_cast<std::size_t>(group) < kGroups);
  return kGroupNames[static_cast<std::size_t>(group)];
}

std::int64_t Sums::group(Group group) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    if (kRows[i].group == group) sum += ns[i];
  }
  return sum;
}

}  // namespace headway::timeline
