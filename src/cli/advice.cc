#include "cli/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/check.h"
#include "cli/human.h"
#include "cli/page.h"

namespace headway::cli {
namespace {

using metrics::Report;
using timeline::Bucket;

constexpr std::size_t kCrashLoopMin = 3;

struct Row {
  Bucket bucket;
  const char* text;
};

constexpr Row kRows[] = {
    {Bucket::scheduling,
     "Resources were free but not yet the job's. Loosen placement constraints (node lists, "
     "contiguous or exclusive nodes) and look at what the scheduler waited for."},
    {Bucket::hardware_setup,
     "From the allocation to the launcher's start. Pre-pull the container image, keep the Python "
     "environment on a local disk, and time the scheduler's prolog."},
    {Bucket::init_imports,
     "`python -X importtime train.py` lists the slowest imports. Keep the environment on a local "
     "disk, import heavy modules where they are used, drop those that are not."},
    {Bucket::init_device,
     "Leave the driver loaded between jobs (`nvidia-smi -pm 1`), set "
     "CUDA_MODULE_LOADING=LAZY, and touch only the rank's own device."},
    {Bucket::init_process_group,
     "Every rank waits for the last one. Make ranks reach init_process_group together, and create "
     "fewer groups (new_group with use_local_synchronization=True)."},
    {Bucket::init_preproc,
     "Build dataset indexes and vocabularies once, store them, and only map them at start; list "
     "files from a manifest instead of the file system."},
    {Bucket::init_train_module,
     "Construct under torch.device(\"meta\") and materialise on the device with to_empty(), or "
     "initialise large tables on the device; restored weights need no initialisation."},
    {Bucket::init_plugins,
     "Optimizers, loggers and trackers are made here. torch imports its compiler with the first "
     "optimizer, which takes seconds; trackers that talk to a network can start in a thread and be "
     "late."},
    {Bucket::init_pre_train,
     "The work between set-up and the first batch, often a sanity evaluation or a warm-up. Skip it "
     "on restarts, or name its parts with hw.phase(\"...\") to see which one it is."},
    {Bucket::init_first_batch,
     "Create the loader's iterator before the model, so that its workers start meanwhile; a "
     "smaller "
     "shuffle buffer makes the first batch come sooner."},
    {Bucket::init_restore,
     "Read checkpoints from a local disk, each rank its own shard (torch.distributed.checkpoint); "
     "torch.load(..., mmap=True) reads only what is used."},
    {Bucket::init_other,
     "Start-up that no stage explains. Put hw.phase(\"NAME\") around its parts; the name then "
     "shows up in this report."},
    {Bucket::compile_cold,
     "Share what was compiled with the next start, on any machine: `headway run --cache auto`, or "
     "--cache DIR or s3://BUCKET for a fleet. With --cache this was the first of its kind."},
    {Bucket::compile_warm,
     "The caches answered and it still takes this long: compile the repeated block instead of the "
     "whole model, and remove graph breaks (TORCH_LOGS=graph_breaks)."},
    {Bucket::wasted_data_wait,
     "The loop waits for batches. Raise num_workers and prefetch_factor, set pin_memory=True and "
     "persistent_workers=True, move preprocessing out of the loader, or bring the data closer."},
    {Bucket::wasted_recompile,
     "`headway trace DIR --dynamic-sources` (of TORCH_TRACE=DIR) says which sizes change, and "
     "`headway run --auto-dynamic` compiles for any of them from the next start on. By hand: find "
     "the guard (TORCH_LOGS=recompiles), then mark the dimension (torch._dynamo.mark_dynamic), pad "
     "to a few sizes, or compile with dynamic=True."},
    {Bucket::wasted_replay, "Steps were trained a second time after an interruption."},
    {Bucket::wasted_interrupted_step,
     "The steps that failures cut off. Only fewer failures or shorter steps (less gradient "
     "accumulation) bring it down; see the failures above."},
    {Bucket::wasted_hang,
     "Nothing moved until somebody noticed. Shorten init_process_group(timeout=...), and turn the "
     "collectives' flight recorder on to see which rank did not join."},
    {Bucket::wasted_eval,
     "Evaluate less often or on a sample, or run evaluation from saved checkpoints in a job of its "
     "own."},
    {Bucket::wasted_checkpoint_blocked,
     "Training stands still while state is saved. hw.checkpointer blocks only for a copy in "
     "memory, with staging=\"rows\" only for the rows that changed (docs/saving.md)."},
    {Bucket::wasted_other,
     "Time in the loop that belongs to no step. Put hw.phase(\"NAME\") around what runs between "
     "steps to see it by name."},
    {Bucket::shutdown_final_save,
     "The last save. Skip it when the last periodic one holds the same step, or save by "
     "hw.checkpointer, whose holder writes while the rest shuts down."},
    {Bucket::shutdown_publish,
     "Publishing needs no accelerators. Save, end the job, and publish from the checkpoint "
     "elsewhere."},
    {Bucket::shutdown_other,
     "From the last step to the exit. Usual causes: data-loader workers that are slow to stop, "
     "trackers that upload at exit, destroy_process_group waiting for the slowest rank."},
    {Bucket::down, "From a failure to the next launch."},
};

const char* text_of(Bucket bucket) {
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return r.bucket == bucket; });
  HW_CHECK(row != std::end(kRows));
  return row->text;
}

std::string seconds(double s, const Style& style) {
  return human_duration(std::llround(s * 1e9), style);
}

std::uint64_t interruptions(const Report& r) {
  return r.failures + r.user_errors + r.preemptions;
}

// "Saves came every 60m, 15 s each; by what this job shows one every 15m 30s costs least."
std::string interval_advice(const Report& r, const std::optional<SaveAdvice>& saves,
                            const Style& style) {
  if (!saves) return "";
  if (r.saves == 0) {
    return "No checkpoint was recorded: save one regularly (torch.distributed.checkpoint or "
           "torch.save) and start from the newest.";
  }
  std::string found = r.save_interval_s
                          ? fmt::format("Saves came every {}", seconds(*r.save_interval_s, style))
                      : r.saves == 1 ? std::string("There was 1 save")
                                     : fmt::format("There were {} saves", r.saves);
  if (!saves->too_short.empty()) return fmt::format("{}. {}", found, saves->too_short);
  if (saves->cost_s <= 0) {
    if (r.sums[Bucket::wasted_replay] == 0) return "";
    return fmt::format("{} and blocked training for almost nothing: save more often.", found);
  }
  found += fmt::format(", {}{}; by what this job shows one every {}", seconds(saves->cost_s, style),
                       r.saves == 1 ? "" : " each", seconds(saves->persist_s, style));
  if (saves->stage_s < saves->persist_s) {
    found += fmt::format(", into memory every {},", seconds(saves->stage_s, style));
  }
  return found + " costs least.";
}

// Attempts at the end of the job that failed in one and the same way before finishing a step.
std::size_t crash_loop_length(const Report& r) {
  std::size_t n = 0;
  const auto same = [&](const metrics::FailureRow& a, const metrics::FailureRow& b) {
    return a.exit_code == b.exit_code && a.signal == b.signal && a.reason == b.reason;
  };
  for (auto f = r.failure_rows.rbegin(); f != r.failure_rows.rend(); ++f, ++n) {
    const auto attempt = std::find_if(r.attempts.begin(), r.attempts.end(),
                                      [&](const auto& a) { return a.id == f->attempt; });
    if (attempt == r.attempts.end() || attempt->steps > 0 || !same(*f, r.failure_rows.back()))
      break;
  }
  return n;
}

std::string down_advice(const Report& r) {
  // Nothing was started afterwards: this is the failed processes' own way out.
  const bool only_ending = !r.attempts.empty() && r.attempts.size() == 1 &&
                           r.attempts.front().outcome == "failed" && !r.running;
  const bool interrupted = !r.failure_rows.empty() && r.failure_rows.back().exit_code == 130;
  if (only_ending && interrupted) return "Here somebody stopped it: it is how long that took.";
  if (only_ending && r.user_errors > 0) {
    return "Here there was none: it is how long the ranks took to exit. Mend the error that is "
           "shown "
           "above; a restart would meet it again.";
  }
  if (const std::size_t n = crash_loop_length(r); n >= kCrashLoopMin) {
    return fmt::format(
        "The last {} attempts ended in the same way before their first step: fix "
        "that before you restart again.",
        n);
  }
  return std::string("`headway run --max-restarts N` starts the group again at once") +
         (r.attempts.size() > 1 ? "; --grace bounds how long surviving ranks may take to exit."
                                : " instead of leaving the machines idle.");
}

// Start-up of attempts that came to nothing: it is not the stage that is too slow.
std::string fruitless_advice(Bucket bucket, const Report& r, const Style& style) {
  std::int64_t ns = 0;
  for (const metrics::AttemptRow& a : r.attempts) {
    if (a.steps == 0 && a.outcome == "failed") ns += a.sums[bucket];
  }
  if (ns <= r.sums[bucket] / 2) return "";
  return fmt::format(
      "{} of it was spent by attempts that failed before their first step; see what "
      "ended them, above.",
      human_duration(ns, style));
}

std::string last_rank_advice(const Report& r, const Style& style) {
  const metrics::StageRow* most = nullptr;
  for (const metrics::StageRow& s : r.critical_stages) {
    if (s.stage != "process_group_init") continue;
    if (most == nullptr || s.held_up_ns > most->held_up_ns) most = &s;
  }
  if (most == nullptr || most->held_up_ns < 1'000'000'000) return "";
  return fmt::format("Look at rank {} first: it came {} after the next to last.", most->rank,
                     human_duration(most->held_up_ns, style));
}

std::string user_span_advice(const Report& r, const Style& style) {
  const auto most =
      std::max_element(r.user_spans.begin(), r.user_spans.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == r.user_spans.end() || most->second == 0) return "";
  return fmt::format("The largest span of your own is {} ({}).", clean(most->first, style),
                     human_duration(most->second, style));
}

// Far longer than steps take: it was no step that was cut off.
std::string long_interruption_advice(const Report& r, const Style& style) {
  const auto count = static_cast<std::int64_t>(std::max<std::uint64_t>(1, interruptions(r)));
  const std::int64_t each_ns = r.sums[Bucket::wasted_interrupted_step] / count;
  const std::int64_t usual_ns = r.step_times.quantile_ns(0.99);
  if (usual_ns == 0 || each_ns / 10 < usual_ns) return "";
  return fmt::format(
      "Here it is {} an interruption and steps take {}: after its last step the script did "
      "something else, or hung.",
      human_duration(each_ns, style), human_duration(usual_ns, style));
}

// "torch 1.64s, numpy 0.08s": the packages that took longest.
std::string largest_imports_advice(const Report& r, const Style& style) {
  std::string list;
  for (const char* key : {"import_top1", "import_top2", "import_top3"}) {
    const auto it = r.attrs.find(key);
    if (it != r.attrs.end()) list += (list.empty() ? "" : ", ") + clean(it->second, style);
  }
  return list.empty() ? "" : fmt::format("Here: {}.", list);
}

// A stage that was busy importing most of the time: what it is named after is not to blame.
std::string import_inside_advice(Bucket bucket, const Report& r, const Style& style) {
  const auto it = r.attrs.find(fmt::format("import_in_{}", timeline::bucket_name(bucket)));
  if (it == r.attrs.end() || r.attempts.empty()) return "";
  const std::size_t space = it->second.find(' ');
  if (space == std::string::npos) return "";
  const double each_s = std::strtod(it->second.c_str() + space, nullptr);
  const double bucket_s = static_cast<double>(r.sums[bucket]) / 1e9;
  if (3 * each_s * static_cast<double>(r.attempts.size()) < bucket_s) return "";
  return fmt::format(
      "Much of it is an import: {} takes {} in every start. torch brings its compiler in with the "
      "first DistributedDataParallel, optimizer or torch.compile, used or not.",
      clean(it->second.substr(0, space), style), clean(it->second.substr(space + 1), style));
}

}  // namespace

std::vector<Loss> largest_losses(const Report& report) {
  std::vector<Loss> losses;
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    const auto bucket = static_cast<Bucket>(i);
    const std::int64_t ns = report.sums.ns[i];
    if (bucket == Bucket::effective || ns == 0 || ns < report.wall_ns / loss_floor_divisor)
      continue;
    losses.push_back({bucket, ns});
  }
  std::stable_sort(losses.begin(), losses.end(),
                   [](const Loss& a, const Loss& b) { return a.ns > b.ns; });
  if (losses.size() > losses_max) losses.resize(losses_max);
  return losses;
}

bool is_about_saves(Bucket bucket) {
  return bucket == Bucket::wasted_replay || bucket == Bucket::wasted_checkpoint_blocked;
}

bool wants_save_advice(const Report& report) {
  const std::vector<Loss> losses = largest_losses(report);
  return std::any_of(losses.begin(), losses.end(),
                     [](const Loss& loss) { return is_about_saves(loss.bucket); });
}

std::string advice_for(Bucket bucket, const Report& report, const std::optional<SaveAdvice>& saves,
                       const Style& style) {
  const timeline::Group group = timeline::group_of(bucket);
  if (bucket == Bucket::init_other && report.coverage.ranks_reporting == 0) {
    if (report.attrs.contains("headway")) {
      return "Nothing is known of this time but its length: no process of it imported torch or "
             "called hw.init(). If one did, `headway doctor` says what keeps the hook out.";
    }
    return "Nothing is known of this time but its length. Start the script with `headway run "
           "train.py`, or call hw.init() in it, to see what it is made of.";
  }
  if (group == timeline::Group::launcher_init || group == timeline::Group::compile) {
    if (std::string text = fruitless_advice(bucket, report, style); !text.empty()) return text;
    if (std::string text = import_inside_advice(bucket, report, style); !text.empty()) return text;
  }
  std::string more;
  switch (bucket) {
    case Bucket::wasted_replay:
      more = interval_advice(report, saves, style);
      break;
    case Bucket::wasted_checkpoint_blocked:
      if (report.saves > 0) more = interval_advice(report, saves, style);
      break;
    case Bucket::down:
      more = down_advice(report);
      break;
    case Bucket::wasted_interrupted_step:
      more = long_interruption_advice(report, style);
      break;
    case Bucket::init_imports:
      more = largest_imports_advice(report, style);
      break;
    case Bucket::init_process_group:
      more = last_rank_advice(report, style);
      break;
    case Bucket::init_other:
    case Bucket::wasted_other:
      more = user_span_advice(report, style);
      break;
    default:
      break;
  }
  std::string text = text_of(bucket);
  if (!more.empty()) text += " " + more;
  return text;
}

}  // namespace headway::cli
