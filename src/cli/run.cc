// headway run: starts a training job, keeps it going and measures it.
#include "agent/run.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/options.h"
#include "base/clock.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

constexpr const char* kFooter =
    "What follows the script is the script's. Ranks get torchrun's environment; a lone command\n"
    "behind -- gets none of it, so that it may be a launcher itself.\n"
    "\n"
    "Exit code: 0, or the first failing rank's own (128 + signal); 2 bad usage; 125 a fault of\n"
    "Headway's own; 126, 127 the command behind -- cannot be executed, was not found; 143 a\n"
    "scheduler asked it to stop, and all ranks ended well.\n"
    "\n"
    "Examples:\n"
    "  headway run train.py --lr 0.1\n"
    "  headway run --nproc 4 --max-restarts 3 --job ctr-v2 train.py\n"
    "  headway run --nnodes 2 --rdzv node1:29400 --job ctr --nproc 8 train.py   (on both)\n"
    "  headway run -- torchrun --nproc-per-node 4 train.py";

struct Parsed {
  agent::RunOptions options;
  double grace_s = 5;
  std::string restarts = "0";
  std::string hang = "auto";
  std::vector<std::string> attrs;
  std::string requeue = "preempted";
  std::string nnodes;
  double lease_s = 5;
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
class RunFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return "Usage: headway run [OPTIONS] SCRIPT [ARGS...]\n"
           "       headway run [OPTIONS] -m MODULE [ARGS...]\n"
           "       headway run [OPTIONS] -- COMMAND [ARGS...]\n";
  }
};

int execute(Parsed& parsed, std::int64_t began_ns) {
  agent::RunOptions& options = parsed.options;
  options.command = command().words;
  options.version = HEADWAY_VERSION;
  options.kind = parsed.module            ? agent::CommandKind::module
                 : command().after_dashes ? agent::CommandKind::program
                                          : agent::CommandKind::script;
  if (parsed.module && command().after_dashes) {
    return fail(base::Status::invalid("run: -m takes a module's name, not a command behind --"));
  }
  if (!(parsed.grace_s >= 0 && parsed.grace_s <= agent::kGraceMaxS)) {
    return fail(base::Status::invalid("run: --grace: want 0 to 3600 seconds"));
  }
  auto restarts = agent::parse_budget(parsed.restarts);
  if (!restarts.ok()) return fail(restarts.status());
  options.restarts = *restarts;
  auto hang = agent::parse_hang_limit(parsed.hang);
  if (!hang.ok()) return fail(hang.status());
  options.hang = *hang;
  options.grace_ns = static_cast<std::int64_t>(parsed.grace_s * 1e9);
  auto requeue = agent::parse_requeue(parsed.requeue);
  if (!requeue.ok()) return fail(requeue.status());
  options.requeue = *requeue;
  if (!parsed.nnodes.empty()) {
    auto nodes = agent::parse_node_count(parsed.nnodes);
    if (!nodes.ok()) return fail(nodes.status());
    options.nodes.count = *nodes;
  }
  if (!(parsed.lease_s >= agent::kLeaseMinS && parsed.lease_s <= agent::kLeaseMaxS)) {
    return fail(base::Status::invalid(
        fmt::format("run: --lease: want {} to {} seconds", agent::kLeaseMinS, agent::kLeaseMaxS)));
  }
  options.nodes.lease_ns = static_cast<std::int64_t>(parsed.lease_s * 1e3) * 1'000'000;
  for (const std::string& text : parsed.attrs) {
    auto attr = agent::parse_attr(text);
    if (!attr.ok()) return fail(attr.status());
    options.attrs.push_back(std::move(*attr));
  }
  return agent::run_job(options, began_ns);
}

}  // namespace

int split_run_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "run") return argc;
  const CLI::App* run = app.get_subcommand("run");
  int at = 2;
  for (; at < argc; ++at) {
    const std::string word = argv[at];
    if (word == "--" || word.size() < 2 || word[0] != '-') break;
    // --name=value is one word; --name value and -nvalue are as the option's own count says.
    const bool is_long = word[1] == '-';
    const std::string name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
    const CLI::Option* option = run->get_option_no_throw(name);
    const bool has_value = is_long ? word.find('=') != std::string::npos : word.size() > 2;
    if (option != nullptr && option->get_items_expected_min() > 0 && !has_value) ++at;
  }
  if (at >= argc) return argc;
  command().after_dashes = std::string_view(argv[at]) == "--";
  for (int i = at + (command().after_dashes ? 1 : 0); i < argc; ++i) {
    command().words.emplace_back(argv[i]);
  }
  return at;
}

void add_run(CLI::App& app, int& exit_code) {
  const std::int64_t began_ns = base::monotonic_ns();
  auto parsed = std::make_shared<Parsed>();
  CLI::App* run = app.add_subcommand("run", "Run a training job, restart it, and measure it");
  run->formatter(std::make_shared<RunFormatter>());
  agent::RunOptions& options = parsed->options;
  run->add_option("--job", options.job,
                  "Name of the job; the same name again continues it (default: script and time)");
  run->add_option("--nproc", options.nproc, "Ranks to start on this machine (default: 1)");
  run->add_option("--max-restarts", parsed->restarts,
                  "Restarts of the group after a failure, or so many within a time: 5/1h "
                  "(default: 0)")
      ->type_name("N[/TIME]");
  run->add_flag("--retry-all", options.retry_all,
                "Restart after user errors too, which are otherwise not tried again");
  run->add_option("--hang-timeout", parsed->hang,
                  "Seconds without progress after which the job is taken to hang; auto learns "
                  "them from its steps (default: auto)")
      ->type_name("auto|off|S");
  run->add_option("--grace", parsed->grace_s,
                  "Seconds from SIGTERM to SIGKILL for the other ranks of a failed one "
                  "(default: 5)");
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
  run->add_option("--node-rank", options.nodes.index,
                  "This node's place; 0 is at the address of --rdzv (default: found out)")
      ->type_name("I");
  run->add_option("--node-name", options.nodes.name,
                  "This node's name in the job (default: the machine's)");
  run->add_option("--lease", parsed->lease_s,
                  "Seconds after which a node that cannot be reached has ended its ranks "
                  "(default: 5)")
      ->type_name("S");
  run->add_option("--python", options.python,
                  "Interpreter of the script (default: $VIRTUAL_ENV/bin/python, else python3)");
  run->add_option("--attr", parsed->attrs, "key=value kept with the job; may be repeated")
      ->expected(1)
      ->take_all();
  add_dir_option(*run, options.dir);
  run->add_flag("-m,--module", parsed->module, "SCRIPT is a module's name, as with python -m");
  run->add_flag("--cold", options.cold,
                "Start every rank from nothing: no fork server, nothing imported ahead");
  run->add_option("--preload", options.preload,
                  "Modules that the fork server imports beside those it learns; commas between")
      ->delimiter(',')
      ->type_name("MODULE,…");
  run->add_flag("-q,--quiet", options.quiet, "Say nothing of our own but warnings");
  run->footer(kFooter);
  run->callback([parsed, began_ns, &exit_code] { exit_code = execute(*parsed, began_ns); });
}

}  // namespace headway::cli
