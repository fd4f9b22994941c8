// headway cache keep: the process beside a job that unpacks its compile cache before it starts, and
// packs and pushes what it adds. `headway run` starts it and talks to it over a socket: an answer
// when all is pulled, and one for each "push" that it gets. It prints nothing.
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/file.h"
#include "base/file_system.h"
#include "cache/job_cache.h"
#include "cli/cache.h"
#include "cli/cache_python.h"
#include "cli/cache_shelf.h"
#include "cli/gpu_memo.h"
#include "cli/torch_memo.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;

constexpr int kLowest = 19;
constexpr std::uint64_t kOwnShelfBytesMax = 2ULL << 30;
constexpr int kIdleClass = 3 << 13;  // of ioprio_set(2)

struct Options {
  std::string place;
  std::string directory;
  BindingOptions binding;
  std::string pgo_job;
  std::optional<std::uint32_t> pgo_ranks;
  bool own_shelf = false;
  bool only_additions = false;
  int channel_fd = -1;
};

// A job must not wait for what is only of use to the next one.
void step_back() {
  (void)::setpriority(PRIO_PROCESS, 0, kLowest);
  (void)::syscall(SYS_ioprio_set, 1, 0, kIdleClass);
}

// In a folder the first job makes the key: it is this user's. A store or a collector is shared by
// machines that may each begin with an empty home, and keys that nobody knows would fill it up with
// archives that nobody trusts.
Result<std::optional<cache::SigningKey>> key_of_job(const std::string& place,
                                                    std::string& made_path) {
  auto key = find_key("");
  if (!key.ok() || *key || is_remote_shelf(place)) return key;
  const std::string path = default_key_path();
  if (Status made = base::make_dirs(base::folder_of(path)); !made.ok()) return made;
  auto fresh = cache::SigningKey::make();
  if (!fresh.ok()) return fresh.status();
  const std::string temporary = fmt::format("{}.{}", path, ::getpid());
  if (Status status = cache::write_signing_key(temporary, *fresh); !status.ok()) return status;
  // Of two that make one at once, one is first, and the other takes it whole.
  const bool first = ::link(temporary.c_str(), path.c_str()) == 0;
  const int error = errno;
  (void)::unlink(temporary.c_str());
  if (!first && error != EEXIST) return base::errno_status(path, "create", error);
  if (first) made_path = path;
  return find_key("");
}

class Keeper {
 public:
  explicit Keeper(const Options& options) : options_(options), channel_(options.channel_fd) {}

  int run() {
    Status status = open();
    Json answer;
    if (status.ok()) {
      auto pulled = job_->pull();
      status = pulled.status();
      if (pulled.ok()) {
        answer = {{"archives", pulled->archives},
                  {"files", pulled->written},
                  {"bytes", pulled->written_bytes},
                  {"same", pulled->same},
                  {"notes", pulled->notes}};
      }
    }
    if (!status.ok()) answer["error"] = status.message();
    answer["hopeless"] = job_ == nullptr;
    if (!made_key_.empty()) answer["made_key"] = made_key_;
    if (!tell(answer) || job_ == nullptr) return 0;
    step_back();
    while (asked()) {
      if (!tell(push())) break;
    }
    return 0;
  }

 private:
  Status open() {
    auto shelf = open_shelf(options_.place);
    if (!shelf.ok()) return shelf.status();
    shelf_ = std::move(*shelf);
    cache::JobCachePlan plan;
    auto facts = remembered_torch(options_.binding.python, default_memory_folder());
    if (!facts.ok()) return facts.status();
    BindingOptions bound = options_.binding;
    bound.python.clear();  // it has been asked
    torch_ = *facts;
    bound.torch = torch_.facts.torch;
    bound.torch_git = torch_.facts.torch_git;
    bound.python_tag = torch_.facts.python;
    bound.environment = torch_.facts.environment;
    auto binding = make_binding(bound);
    if (!binding.ok()) return binding.status();
    plan.binding = std::move(*binding);
    auto key = key_of_job(options_.place, made_key_);
    if (!key.ok()) return key.status();
    plan.key = std::move(*key);
    auto trust = make_trust({});
    if (!trust.ok()) return trust.status();
    plan.trust = std::move(*trust);
    auto scratch = ScratchFolder::make();
    if (!scratch.ok()) return scratch.status();
    scratch_ = std::move(*scratch);
    plan.scratch = scratch_->path();
    plan.directory = options_.directory;
    plan.only_additions = options_.only_additions;
    plan.threads = cache_threads();
    plan.ask_commands = [this] { return ask_commands(); };
    if (!options_.pgo_job.empty()) {
      auto rule = cache::parse_pgo_rule(options_.pgo_job);
      if (!rule.ok()) return rule.status();
      rule->ranks = options_.pgo_ranks;
      plan.pgo = std::move(*rule);
    }
    // Who has signed an archive that is far away is known when it has been fetched: that is gc's to
    // do.
    if (is_remote_shelf(options_.place)) plan.merge_min = 0;
    if (options_.own_shelf) plan.shelf_bytes_max = kOwnShelfBytesMax;
    job_ = std::make_unique<cache::JobCache>(*shelf_.shelf, std::move(plan));
    return {};
  }

  // Not in the job's directory: what torch tries out on the way would be news of the job's.
  std::vector<std::string> ask_commands() {
    auto told = ask_for_commands(options_.binding.python, scratch_->path() + "/inductor");
    return told.ok() ? std::move(*told) : std::vector<std::string>();
  }

  Status make_sure_of_torch() {
    if (torch_.asked) return {};
    auto asked = remembered_torch(options_.binding.python, default_memory_folder(), true);
    if (!asked.ok()) return asked.status();
    if (asked->facts != torch_.facts) {
      return Status::invalid(
          fmt::format("{} has another torch than it had when it was asked last; the next run knows",
                      options_.binding.python));
    }
    torch_.asked = true;
    return {};
  }

  Json push() {
    if (Status status = make_sure_of_torch(); !status.ok()) return {{"error", status.message()}};
    auto pushed = job_->push();
    if (!pushed.ok()) return {{"error", pushed.status().message()}};
    return {{"files", pushed->files},
            {"passed_on", pushed->passed_on},
            {"bytes", pushed->file_bytes},
            {"notes", pushed->notes}};
  }

  [[nodiscard]] bool tell(const Json& answer) const {
    const std::string text = answer.dump(-1, ' ', false, Json::error_handler_t::replace);
    return ::send(channel_.get(), text.data(), text.size(), MSG_NOSIGNAL) >= 0;
  }

  // False: the job is over.
  [[nodiscard]] bool asked() const {
    std::array<char, 64> bytes;
    while (true) {
      const ssize_t got = ::recv(channel_.get(), bytes.data(), bytes.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      return got > 0;
    }
  }

  const Options& options_;
  const base::UniqueFd channel_;
  OpenShelf shelf_;
  RememberedTorch torch_;
  std::string made_key_;  // its file, where there was none before
  std::unique_ptr<ScratchFolder> scratch_;
  std::unique_ptr<cache::JobCache> job_;
};

}  // namespace

void add_cache_keep(Verb& cache, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = cache.add_verb("keep", "For `headway run`: a job's cache");
  verb->hide();
  verb->add_option("place", options->place)->required();
  verb->add_option("--to", options->directory)->required();
  add_binding_options(*verb, options->binding);
  verb->add_option("--pgo-job", options->pgo_job);
  verb->add_option("--pgo-ranks", options->pgo_ranks)->range(0, cache::pgo_ranks_max);
  verb->add_flag("--own-shelf", options->own_shelf);
  verb->add_flag("--only-additions", options->only_additions);
  verb->add_option("--channel-fd", options->channel_fd)->required()->positive();
  verb->callback([options, &exit_code] { exit_code = Keeper(*options).run(); });
}

}  // namespace headway::cli
