#include "fleet/bucket_words.h"

#include <array>

#include "base/check.h"

namespace headway::fleet {
namespace {

using timeline::Bucket;
using timeline::kBuckets;

struct Row {
  std::string_view word, label, advice;
};
constexpr std::array<Row, kBuckets> kRows = {{
    {"scheduling", "scheduling",
     "Resources stand ready while the scheduler decides: shorten its cycle, or keep allocations "
     "across restarts."},
    {"hardware_setup", "hardware set-up",
     "Keep images and binaries on the machines; restart inside the allocation instead of a new "
     "one."},
    {"imports", "imports",
     "`python -X importtime` lists the slowest: drop them or import them where they are used, from "
     "a local disk. headway run restarts ranks from a process that has imported torch."},
    {"device_init", "device initialisation",
     "Create contexts once, in parallel with other stages; leave out libraries that probe "
     "devices."},
    {"process_group_init", "process groups",
     "Create only the groups that are used, and each once; see which rank holds the others up."},
    {"preproc_creation", "data pipeline creation",
     "Build loaders while the model is built; list files once, not on every rank."},
    {"train_module_creation", "model creation",
     "Create modules on the device, build shard metadata from the broadcast plan."},
    {"init_plugins", "plugins",
     "Create loggers and schedulers while other stages run, or after the first step."},
    {"pre_train", "before training", "Look at what runs here: it can often overlap or wait."},
    {"get_first_batch_data", "first batch",
     "Let compilation start with a fast batch while the data pipeline warms up."},
    {"restore", "restore",
     "Restore from the replica in memory, or from local disk before the shared store."},
    {"init_other", "other initialisation", "Name the stages (hw.phase) to see what this is."},
    {"compile_cold", "compilation, cold cache",
     "Share compile caches between jobs (headway cache), and pin autotuned kernels."},
    {"compile_warm", "compilation, warm cache",
     "Compile fewer regions, and start from a warm process: the cache already answers."},
    {"data_wait", "waiting for data",
     "More or faster loader workers, prefetching, data nearer to the trainers."},
    {"recompile", "recompilation",
     "Make the sizes that vary dynamic (headway trace --dynamic-sources)."},
    {"effective", "effective training", ""},
    {"replay", "replayed steps",
     "Save more often where jobs fail (headway interval), and restore the newest state."},
    {"interrupted_step", "interrupted steps",
     "Fewer failures: look at their categories and hosts."},
    {"hang", "hangs", "Set a shorter hang limit; find the rank and the host that stops first."},
    {"eval", "evaluation", "Evaluate in a job of its own from a checkpoint, or less often."},
    {"checkpoint_blocked", "blocked by checkpoints",
     "Save asynchronously (hw.checkpointer), rows instead of whole tables, at a tuned interval."},
    {"wasted_other", "other time in the loop", "Name the phases in the loop to see what this is."},
    {"final_save", "final save", "Upload in the background and let the machines go."},
    {"publish", "publishing",
     "Publish from the anchor checkpoint in a job of its own, without accelerators."},
    {"shutdown_other", "other shutdown", "End helpers and loggers in parallel, with a limit."},
    {"down", "down between attempts",
     "Restart at once inside the allocation (headway run), and keep spare machines."},
}};

const Row& row_of(Bucket bucket) {
  HW_CHECK(timeline::index(bucket) < kBuckets);
  return kRows[timeline::index(bucket)];
}

}  // namespace

std::string_view bucket_word(Bucket bucket) {
  return row_of(bucket).word;
}

std::optional<Bucket> bucket_of(std::string_view word) {
  for (std::size_t i = 0; i < kBuckets; ++i) {
    if (kRows[i].word == word) return static_cast<Bucket>(i);
  }
  return std::nullopt;
}

std::string_view bucket_label(Bucket bucket) {
  return row_of(bucket).label;
}

std::string_view bucket_advice(Bucket bucket) {
  return row_of(bucket).advice;
}

}  // namespace headway::fleet
