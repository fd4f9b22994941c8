// headway fleet: journals of many jobs, attributed again: on this machine, or by a Spark cluster
// that writes what it finds as Parquet.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "base/job_path.h"
#include "base/parallel.h"
#include "cli/cache_shelf.h"
#include "cli/fleet_fetch.h"
#include "cli/fleet_local.h"
#include "cli/fleet_spark.h"
#include "cli/fleet_summary.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "object_store/place.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;

struct Options {
  std::string journals, stage;
  SparkOptions spark;
  std::uint32_t threads = 0;
  bool json = false;
};

Status check(const Options& options) {
  const bool on_spark = !options.spark.master.empty();
  const bool in_store = object_store::is_place(options.journals);
  if (on_spark && options.spark.out.empty()) {
    return Status::invalid("fleet --spark: where to? give --out DIR");
  }
  if (!on_spark && !options.spark.out.empty()) {
    return Status::invalid(
        "fleet --out: Parquet is written by Spark; give --spark MASTER, on one machine "
        "--spark 'local[*]'");
  }
  if (!options.stage.empty() && !in_store) {
    return Status::invalid("fleet --stage: is for journals in a store (--journals s3://…)");
  }
  if (on_spark && in_store && options.stage.empty() && !options.spark.master.starts_with("local")) {
    return Status::invalid(
        "fleet --journals s3://…: workers read files; give --stage DIR, a folder that all of them "
        "see, to bring the journals to");
  }
  return {};
}

// Where the journals are as files; `scratch` holds what was fetched only for this run.
Result<std::string> find_journals(const Options& options, std::unique_ptr<ScratchFolder>& scratch) {
  if (!object_store::is_place(options.journals)) {
    auto root = base::jobs_root(options.journals);
    if (!root.ok()) return root.status();
    while (root->size() > 1 && root->ends_with('/')) root->pop_back();
    return std::move(*root);
  }
  std::string folder = options.stage;
  if (folder.empty()) {
    auto made = ScratchFolder::make();
    if (!made.ok()) return made.status();
    scratch = std::move(*made);
    folder = scratch->path();
  }
  auto fetched = fetch_journals(options.journals, folder);
  if (!fetched.ok()) return fetched.status();
  return folder;
}

int show(FleetSummary summary, const Options& options) {
  if (object_store::is_place(options.journals)) summary.journals = options.journals;
  return options.json ? print_json(to_json(summary)) : print_out(to_text(summary, out_style()));
}

int execute(const Options& options) {
  if (Status status = check(options); !status.ok()) return fail(status);
  std::unique_ptr<ScratchFolder> scratch;
  auto journals = find_journals(options, scratch);
  if (!journals.ok()) return fail_cleanly(journals.status());
  if (options.spark.master.empty()) {
    const auto by = fleet::dimension_of(options.spark.by);
    const std::uint32_t cores = std::max(1u, std::thread::hardware_concurrency());
    const std::size_t threads = options.threads > 0 ? options.threads : cores;
    auto summary = attribute_fleet(*journals, by.value(), std::min(threads, base::workers_max));
    return summary.ok() ? show(std::move(*summary), options) : fail_cleanly(summary.status());
  }
  SparkOptions spark = options.spark;
  spark.journals = *journals;
  auto end = run_on_spark(spark);
  if (!end.ok()) return fail_cleanly(end.status());
  return end->summary ? show(std::move(*end->summary), options) : end->exit_code;
}

}  // namespace

void add_fleet(Verb& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = app.add_verb("fleet", "Attribute the journals of many jobs again, here or on Spark");
  verb->add_option("--journals", options->journals,
                   "Folder of all jobs, or s3://bucket/prefix (default: $HEADWAY_DIR, else "
                   "~/.local/state/headway)")
      ->type_name("DIR");
  verb->add_option("--by", options->spark.by,
                   "Sum up by family, team, cluster, hardware, size, torch or priority (family)")
      ->one_of({"family", "team", "cluster", "hardware", "size", "torch", "priority"})
      ->type_name("DIMENSION");
  verb->add_flag("--json", options->json, "What came out, for programs");
  verb->add_option("--threads", options->threads, "Without Spark: so many (default: one a core)")
      ->positive()
      ->type_name("N");
  verb->add_option("--spark", options->spark.master,
                   "Spark's master: spark://HOST:PORT, 'local[*]', …; needs --out")
      ->type_name("MASTER");
  verb->add_option("--out", options->spark.out, "Where Spark writes Parquet; must not be there yet")
      ->type_name("DIR");
  verb->add_flag("--replace", options->spark.replace,
                 "Put the results in the place of those of an earlier run");
  verb->add_option("--tenant", options->spark.tenant, "Tenant to write into the rows (default)")
      ->type_name("NAME");
  verb->add_option("--partitions", options->spark.partitions,
                   "Tasks that read journals (default: as suits their sizes)")
      ->positive()
      ->type_name("N");
  verb->add_option("--conf", options->spark.settings, "A setting of Spark's; may be repeated")
      ->one_value_each()
      ->type_name("NAME=VALUE");
  verb->add_option("--python", options->spark.python,
                   "A Python with pyspark (default: as `headway run` finds one)")
      ->type_name("PATH");
  verb->add_option("--stage", options->stage,
                   "Bring journals from s3://… to this folder, which every worker sees")
      ->type_name("DIR");
  verb->footer(
      "Jobs lie below the folder as the agent leaves them: JOB/ATTEMPT/*.hwj. What cannot be\n"
      "read is told in the end and does not stop the rest.\n"
      "\n"
      "Examples:\n"
      "  headway fleet --journals /shared/headway --by team\n"
      "  headway fleet --spark spark://head:7077 --journals /shared/headway --out /shared/history");
  verb->callback([options, &exit_code] {
    if (options->spark.tenant.empty()) options->spark.tenant = "default";
    exit_code = execute(*options);
  });
}

}  // namespace headway::cli
