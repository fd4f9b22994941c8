// headway run: starts a training job, keeps it going and measures it.
#include "agent/run.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/options.h"
#include "base/clock.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Status;

constexpr const char* kFooter =
    "What follows the script is the script's. Ranks get torchrun's environment; a lone command\n"
    "behind -- gets none of it, so that it may be a launcher itself.\n"
    "\n"
    "Exit code: 0, or the first failing rank's own (128 + signal); 2 bad usage; 125 a fault of\n"
    "Headway's own; 126, 127 the command behind -- cannot be executed, was not found; 143, 130\n"
    "(128 + signal) it was asked to stop, and all ranks ended well: it is not done.\n"
    "\n"
    "Examples:\n"
    "  headway run train.py --lr 0.1\n"
    "  headway run --nproc 4 --max-restarts 3 --job ctr-v2 train.py\n"
    "  headway run --nnodes 2 --rdzv node1:29400 --job ctr --nproc 8 train.py   (on both)\n"
    "  headway run -- torchrun --nproc-per-node 4 train.py";

struct Parsed {
  agent::RunOptions options;
  std::string nproc = "1";
  std::string grace = "5";
  std::string restarts = "0";
  std::string hang = "auto";
  std::vector<std::string> attrs;
  std::string requeue = "preempted";
  std::string nnodes;
  std::string node_rank;
  std::string lease = "5";
  bool module = false;
};

// The command of `headway run`, kept away from the parser: it must reach the script byte for byte.
struct Command {
  bool after_dashes = false;
  std::vector<std::string> words;
};
Command& command() {
  static Command kept;
  return kept;
}

// The parser does not know of the command, so it cannot show it.
constexpr const char* kUsage =
    "Usage: headway run [OPTIONS] SCRIPT [ARGS...]\n"
    "       headway run [OPTIONS] -m MODULE [ARGS...]\n"
    "       headway run [OPTIONS] -- COMMAND [ARGS...]\n";

template <typename From, typename To>
Status take(base::Result<From> from, To& to) {
  if (from.ok()) to = std::move(from.value());
  return from.status();
}

// What the options' texts mean; the first that means nothing is refused.
Status read_values(const Parsed& parsed, agent::RunOptions& options) {
  Status status = take(agent::parse_nproc(parsed.nproc), options.nproc);
  if (status.ok()) status = take(agent::parse_budget(parsed.restarts), options.restarts);
  if (status.ok()) status = take(agent::parse_hang_limit(parsed.hang), options.hang);
  if (status.ok()) status = take(agent::parse_grace(parsed.grace), options.grace_ns);
  if (status.ok()) status = take(agent::parse_requeue(parsed.requeue), options.requeue);
  if (status.ok()) status = take(agent::parse_lease(parsed.lease), options.nodes.lease_ns);
  if (status.ok() && !parsed.nnodes.empty()) {
    status = take(agent::parse_node_count(parsed.nnodes), options.nodes.count);
  }
  if (status.ok() && !parsed.node_rank.empty()) {
    status = take(agent::parse_node_rank(parsed.node_rank), options.nodes.index);
  }
  for (const std::string& text : parsed.attrs) {
    if (status.ok()) status = take(agent::parse_attr(text), options.attrs.emplace_back());
  }
  return status;
}

// A script's variable that is not set must not mean "as if nothing was said".
Status refuse_empty(const Verb& run) {
  for (const char* name : {"--job", "--nnodes", "--rdzv", "--node-rank", "--node-name",
                           "--autotune-pins", "--cache", "--collector"}) {
    if (run.find_option(name)->is_empty()) {
      return Status::invalid(fmt::format("run: the value of {} is empty", name));
    }
  }
  return {};
}

int execute(const Verb& run, Parsed& parsed, std::int64_t began_ns) {
  agent::RunOptions& options = parsed.options;
  options.command = command().words;
  options.version = HEADWAY_VERSION;
  options.kind = parsed.module            ? agent::CommandKind::module
                 : command().after_dashes ? agent::CommandKind::program
                                          : agent::CommandKind::script;
  if (parsed.module && command().after_dashes) {
    return fail(Status::invalid("run: -m takes a module's name, not a command behind --"));
  }
  if (const Status status = refuse_empty(run); !status.ok()) return fail(status);
  if (const Status status = read_values(parsed, options); !status.ok()) return fail(status);
  return agent::run_job(options, began_ns);
}

}  // namespace

int split_run_command(const Verb& app, int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "run") return argc;
  const Verb* run = app.find_verb("run");
  int at = 2;
  for (; at < argc; ++at) {
    const std::string word = argv[at];
    if (word == "--" || word.size() < 2 || word[0] != '-') break;
    // --name=value is one word; --name value and -nvalue are as the option's own count says.
    const bool is_long = word[1] == '-';
    const std::string name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
    const Option* option = run->find_option(name);
    const bool has_value = is_long ? word.find('=') != std::string::npos : word.size() > 2;
    if (option != nullptr && option->takes_value() && !has_value) ++at;
  }
  if (at >= argc) return argc;
  command().after_dashes = std::string_view(argv[at]) == "--";
  for (int i = at + (command().after_dashes ? 1 : 0); i < argc; ++i) {
    command().words.emplace_back(argv[i]);
  }
  return at;
}

void add_run(Verb& app, int& exit_code) {
  const std::int64_t began_ns = base::monotonic_ns();
  auto parsed = std::make_shared<Parsed>();
  Verb* run = app.add_verb("run", "Run a training job, restart it, and measure it");
  run->usage(kUsage);
  agent::RunOptions& options = parsed->options;
  run->add_option("--job", options.job,
                  "Name of the job; the same name again continues it (default: script and time)");
  run->add_option("--nproc", parsed->nproc, "Ranks to start on this machine (default: 1)")
      ->type_name("N");
  run->add_option("--max-restarts", parsed->restarts,
                  "Restarts of the group after a failure, or so many within a time: 5/1h "
                  "(default: 0)")
      ->type_name("N[/TIME]");
  run->add_flag("--retry-all", options.retry_all,
                "Restart after user errors too, which are otherwise not tried again");
  run->add_option("--hang-timeout", parsed->hang,
                  "Time without progress after which the job is taken to hang: 600, 90s, 10m; "
                  "auto learns it from its steps (default: auto)")
      ->type_name("auto|off|T");
  run->add_option("--grace", parsed->grace,
                  "From SIGTERM to SIGKILL for the other ranks of a failed one (default: 5s)")
      ->type_name("TIME");
  run->add_option("--requeue", parsed->requeue,
                  "Under Slurm, when to go back into the queue after a notice: never, preempted, "
                  "time-limit (then too) (default: preempted)")
      ->type_name("WHEN");
  run->add_option("--nnodes", parsed->nnodes,
                  "Machines that the job runs on; MIN:MAX goes on with fewer (default: 1; in a "
                  "Slurm step all of its nodes)")
      ->type_name("N|MIN:MAX");
  run->add_option("--rdzv", options.nodes.meeting_place,
                  "Where the agents of several nodes meet: the first one's address (default port: "
                  "29400)")
      ->type_name("HOST[:PORT]");
  run->add_option("--node-rank", parsed->node_rank,
                  "This node's place; 0 is at the address of --rdzv (default: found out)")
      ->type_name("I");
  run->add_option("--node-name", options.nodes.name,
                  "This node's name in the job (default: the machine's)");
  run->add_option("--lease", parsed->lease,
                  "After which a node that cannot be reached has ended its ranks (default: 5s)")
      ->type_name("TIME");
  run->add_option("--python", options.python,
                  "Interpreter of the script (default: $VIRTUAL_ENV/bin/python, else python3)");
  run->add_option("--attr", parsed->attrs, "key=value kept with the job; may be repeated")
      ->one_value_each();
  add_dir_option(*run, options.dir);
  run->add_flag("-m,--module", parsed->module, "SCRIPT is a module's name, as with python -m");
  run->add_flag("--cold", options.cold,
                "Start every rank from nothing: no fork server, nothing imported ahead");
  run->add_flag("--auto-dynamic", options.auto_dynamic,
                "Learn which sizes change from what is compiled again, and compile for any of them "
                "from the next start of the job's family on");
  run->add_option("--preload", options.preload,
                  "Modules that the fork server imports beside those it learns; commas between")
      ->separated_by_commas()
      ->one_value_each()
      ->type_name("MODULE[,MODULE]");
  run->add_option("--autotune-pins", options.autotune_pins,
                  "Pins of `headway autotune --pins`: only these configurations are tuned")
      ->type_name("FILE");
  run->add_option("--cache", options.cache,
                  "Where jobs share compile caches: a folder, s3://bucket/prefix, or a collector "
                  "(http://host:8743); auto is "
                  "~/.cache/headway/compile, local shares nothing, off leaves "
                  "torch's compiler alone (default: $HEADWAY_CACHE, else local)")
      ->type_name("PLACE|auto|local|off");
  run->add_option(
         "--collector", options.collector,
         "Send what is recorded to a `headway serve`, while the job runs; off sends nothing "
         "(default: $HEADWAY_COLLECTOR, else off)")
      ->type_name("URL|off");
  run->add_flag("--learn-shapes", options.learn_shapes,
                "Let torch remember for the next run which sizes change (TORCH_COMPILE_JOB_ID)");
  run->add_flag("-q,--quiet", options.quiet, "Say nothing of our own but warnings");
  run->footer(kFooter);
  run->callback(
      [run, parsed, began_ns, &exit_code] { exit_code = execute(*run, *parsed, began_ns); });
}

}  // namespace headway::cli
