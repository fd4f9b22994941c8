// headway serve: the collector. Jobs of many machines report to it, and it tells of all of them.
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/file.h"
#include "cli/human.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/serve_demo.h"
#include "cli/serve_store.h"
#include "cli/verb.h"
#include "collector/collector.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;

struct ServeOptions {
  std::string store;
  std::string listen = "127.0.0.1:8743";
  std::string certificate, key;
  bool check = false;
  bool demo = false;
  std::string back_up;
};

// "127.0.0.1:8743", "[::1]:8743", "8743".
Status parse_listen(const std::string& text, net::ServerOptions& server) {
  const std::size_t colon = text.rfind(':');
  std::string host = colon == std::string::npos ? server.address : text.substr(0, colon);
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (host.empty() || error != std::errc() || end != port.data() + port.size()) {
    return Status::invalid("--listen " + text +
                           ": is no place to listen on; give ADDRESS:PORT, as in 127.0.0.1:8743");
  }
  server.address = host;
  server.port = number;
  return {};
}

// As many connections as the system lets us have.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

sigset_t block_stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of one commit
  return set;
}

// A folder that goes away with its owner.
class ThrowAway {
 public:
  static Result<std::unique_ptr<ThrowAway>> make() {
    std::error_code error;
    std::string path = (std::filesystem::temp_directory_path(error) / "headway-demo-XXXXXX").string();
    if (error || ::mkdtemp(path.data()) == nullptr) {
      return base::errno_status(path, "cannot be made", errno);
    }
    return std::make_unique<ThrowAway>(path);
  }
  explicit ThrowAway(std::string path) : path_(std::move(path)) {}
  ~ThrowAway() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ThrowAway(const ThrowAway&) = delete;
  ThrowAway& operator=(const ThrowAway&) = delete;
  [[nodiscard]] std::string store() const { return path_ + "/store.db"; }

 private:
  std::string path_;
};

Status run(ServeOptions given) {
  std::unique_ptr<ThrowAway> throw_away;
  std::optional<DemoFleet> demo;
  if (given.demo && !given.store.empty()) {
    return Status::invalid("--demo has a store of its own, which goes away: leave --store out");
  }
  if (given.demo) {
    auto made = ThrowAway::make();
    if (!made.ok()) return made.status();
    throw_away = std::move(*made);
    given.store = throw_away->store();
    demo.emplace();
  }
  const sigset_t signals = block_stop_signals();  // before any thread: they inherit the mask
  raise_descriptor_limit();
  collector::CollectorOptions options;
  if (Status status = parse_listen(given.listen, options.server); !status.ok()) return status;
  options.server.certificate_file = given.certificate;
  options.server.key_file = given.key;
  options.log = [](const std::string& line) { fmt::print(stderr, "headway serve: {}\n", line); };
  options.handler.version = HEADWAY_VERSION;
  options.handler.engine = "sqlite";
  options.handler.demo = given.demo;
  options.handler.started_ns = base::real_ns();
  options.handler.audit = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  auto store = open_store(given.store, true);
  if (!store.ok()) return store.status();
  const std::string scheme = given.certificate.empty() ? "http" : "https";
  const bool six = options.server.address.find(':') != std::string::npos;
  const std::string host = six ? "[" + options.server.address + "]" : options.server.address;
  const auto log = options.log;
  auto collector = collector::Collector::start(std::move(options), std::move(*store));
  if (!collector.ok()) return collector.status();
  if (demo) demo->fill(**collector, base::real_ns());
  fmt::print("headway serve: listening on {}://{}:{}, store {}\n", scheme, host,
             (*collector)->port(), given.demo ? "a made-up fleet" : store_path(given.store).value());
  std::fflush(stdout);
  std::string last_trouble;
  while (true) {
    const timespec second{1, 0};
    if (::sigtimedwait(&signals, nullptr, &second) > 0) break;
    if (demo) demo->go_on(**collector, base::real_ns());
    const Status status = (*collector)->tend();
    if (!status.ok() && status.message() != last_trouble) log(status.message());
    last_trouble = status.message();
  }
  (*collector)->stop();
  return {};
}

int check(const ServeOptions& given) {
  auto store = open_store(given.store, false);
  if (!store.ok()) return fail_cleanly(store.status());
  auto wrong = (*store)->check();
  if (!wrong.ok()) return fail_cleanly(wrong.status());
  for (const std::string& line : *wrong) fmt::print(stderr, "headway: {}\n", line);
  if (!wrong->empty()) return kExitCheckFailed;
  return print_out(store_path(given.store).value() + ": good\n");
}

int back_up(const ServeOptions& given) {
  auto store = open_store(given.store, false);
  if (!store.ok()) return fail_cleanly(store.status());
  const Status status = (*store)->back_up(given.back_up);
  if (!status.ok()) return fail_cleanly(status);
  return print_out(given.back_up + ": written\n");
}

}  // namespace

void add_serve(Verb& app, int& exit_code) {
  auto* verb = app.add_verb("serve", "Collect the records of many jobs, and tell of all of them");
  auto given = std::make_shared<ServeOptions>();
  add_store_option(*verb, given->store);
  verb->add_option("--listen", given->listen,
                   "Where to listen (127.0.0.1:8743). Beyond this machine only with a token")
      ->type_name("ADDRESS:PORT");
  verb->add_option("--tls-cert", given->certificate, "Certificates for TLS, as PEM")
      ->type_name("FILE");
  verb->add_option("--tls-key", given->key, "The certificate's key, as PEM")->type_name("FILE");
  verb->add_flag("--demo", given->demo,
                 "A made-up fleet in a store that goes away: every view of the page, in seconds");
  verb->add_flag("--check", given->check, "Only read all of the store, and say what is wrong");
  verb->add_option("--back-up", given->back_up,
                   "Only copy the store into a file, while a collector may be using it")
      ->type_name("FILE");
  verb->footer(
      "Examples:\n"
      "  headway serve\n"
      "  headway serve --demo\n"
      "  headway serve --check\n"
      "  headway serve token add --role ingest --label cluster-a");
  add_serve_token(*verb, exit_code);
  verb->callback([verb, given, &exit_code] {
    if (verb->any_verb_was_named()) return;
    if (given->check) {
      exit_code = check(*given);
    } else if (!given->back_up.empty()) {
      exit_code = back_up(*given);
    } else if (const Status status = run(*given); !status.ok()) {
      exit_code = fail_cleanly(status);
    }
  });
}

}  // namespace headway::cli
