// headway serve: the collector. Jobs of many machines report to it, and it tells of all of them.
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/duration.h"
#include "base/file.h"
#include "cli/human.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/serve_caches.h"
#include "cli/serve_demo.h"
#include "cli/serve_store.h"
#include "cli/verb.h"
#include "collector/collector.h"
#include "collector/webhook.h"
#include "net/curl_transport.h"
#include "store/postgres_address.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;

constexpr const char* kForEver = "ever";

struct ServeOptions {
  std::string store;
  std::string listen = "127.0.0.1:8743";
  std::string certificate, key;
  std::vector<std::string> webhooks, alert_targets;
  double announce_from = 0;
  std::string otlp;
  std::string watch_every = "1h";
  std::string keep_raw = kForEver, keep_facts = kForEver;
  bool check = false;
  bool demo = false;
  std::string back_up;
  bool try_webhook = false;
  ServeCachesOptions caches;
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

// "https://…" for all tenants, or "TENANT=https://…".
Status choose_webhooks(const ServeOptions& given, collector::WebhookOptions& webhook) {
  for (const std::string& text : given.webhooks) {
    const bool for_all = text.starts_with("http://") || text.starts_with("https://");
    const std::size_t equals = for_all ? std::string::npos : text.find('=');
    const std::string url = for_all ? text : text.substr(std::min(equals, text.size() - 1) + 1);
    const std::size_t host = url.find("://") + 3;
    if ((!for_all && (equals == std::string::npos || equals == 0)) ||
        (!url.starts_with("http://") && !url.starts_with("https://")) || host >= url.size()) {
      return Status::invalid("--webhook " + text +
                             ": give a URL, as in https://pager.example/hook, or TENANT=URL");
    }
    std::string& place = for_all ? webhook.url : webhook.urls[text.substr(0, equals)];
    if (!place.empty()) {
      return Status::invalid("--webhook " + text + ": a tenant has one webhook, and this is the " +
                             "second");
    }
    place = url;
  }
  if (const char* secret = std::getenv("HEADWAY_WEBHOOK_SECRET"); secret != nullptr) {
    webhook.secret = secret;
  }
  return {};
}

// "compile_cold=1d", "failures=14d".
Status choose_targets(const ServeOptions& given, regress::AlertTargets& targets) {
  for (const std::string& text : given.alert_targets) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos) {
      return Status::invalid("--alert-target " + text +
                             ": give COMPONENT=TIME, as in compile_cold=1d or failures=14d");
    }
    const auto time =
        base::parse_time_option("--alert-target", text.substr(equals + 1), 60, 365 * 86'400);
    if (!time.ok()) return time.status();
    if (!targets.set(text.substr(0, equals), static_cast<double>(time.value()) / 1e9)) {
      return Status::invalid("--alert-target " + text +
                             ": there is no such component; docs/regressions.md has their names");
    }
  }
  return {};
}

// What others are told of, and when.
Status choose_listeners(const ServeOptions& given, collector::CollectorOptions& options) {
  if (Status status = choose_webhooks(given, options.webhook); !status.ok()) return status;
  if (Status status = choose_targets(given, options.alerts.targets); !status.ok()) return status;
  options.alerts.announce_from = given.announce_from;
  if (!given.otlp.empty()) {
    const char* headers = std::getenv("OTEL_EXPORTER_OTLP_HEADERS");
    auto endpoint = otlp::endpoint_of(given.otlp, headers == nullptr ? "" : headers);
    if (!endpoint.ok()) return endpoint.status();
    options.otlp.emplace();
    options.otlp->endpoint = std::move(*endpoint);
    options.otlp->started_ns = base::real_ns();
    options.otlp->version = HEADWAY_VERSION;
  }
  options.watcher.on = given.watch_every != "off";
  if (!options.watcher.on) return {};
  const auto every = base::parse_time_option("--watch-every", given.watch_every, 1, 7 * 86'400);
  if (every.ok()) options.watcher.every_ns = every.value();
  return every.status();
}

Status parse_keep(const char* option, const std::string& text, std::optional<std::int64_t>& out) {
  if (text == kForEver) return {};
  auto time =
      base::parse_time_option(option, text, 3600, base::duration_max_ns / base::kNsPerSecond);
  if (time.ok()) out = time.value();
  return time.status();
}

Status choose_retention(const ServeOptions& given, collector::RetentionOptions& options) {
  Status status = parse_keep("--keep-raw", given.keep_raw, options.keep_raw_ns);
  if (status.ok()) status = parse_keep("--keep-facts", given.keep_facts, options.keep_facts_ns);
  if (!status.ok() || !options.keep_facts_ns) return status;
  // Facts are made of records: as long as those are there, they would come again.
  if (options.keep_raw_ns && *options.keep_raw_ns <= *options.keep_facts_ns) return {};
  return Status::invalid("--keep-facts " + given.keep_facts +
                         ": is shorter than --keep-raw; records are not kept longer than what they "
                         "add up to");
}

Status choose(const ServeOptions& given, collector::CollectorOptions& options) {
  if (Status status = parse_listen(given.listen, options.server); !status.ok()) return status;
  if (given.certificate.empty() != given.key.empty()) {
    return Status::invalid(given.key.empty() ? "--tls-cert needs --tls-key, too"
                                             : "--tls-key needs --tls-cert, too");
  }
  options.server.certificate_file = given.certificate;
  options.server.key_file = given.key;
  options.log = [](const std::string& line) { fmt::print(stderr, "headway serve: {}\n", line); };
  options.handler.version = HEADWAY_VERSION;
  options.handler.demo = given.demo;
  options.handler.started_ns = base::real_ns();
  options.audit = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  if (Status status = choose_retention(given, options.retention); !status.ok()) return status;
  return choose_listeners(given, options);
}

// "https://[::1]": where a person finds it, without the port.
std::string address_of(const ServeOptions& given, const net::ServerOptions& server) {
  const bool six = server.address.find(':') != std::string::npos;
  return fmt::format("{}://{}", given.certificate.empty() ? "http" : "https",
                     six ? "[" + server.address + "]" : server.address);
}

void tend_until_stopped(collector::Collector& collector, DemoFleet* demo, const sigset_t& signals) {
  std::string last_trouble;
  while (true) {
    const timespec second{1, 0};
    if (::sigtimedwait(&signals, nullptr, &second) > 0) return;
    if (demo != nullptr) demo->go_on(collector, base::real_ns());
    const Status status = collector.tend();
    if (!status.ok() && status.message() != last_trouble) {
      fmt::print(stderr, "headway serve: {}\n", status.message());
    }
    last_trouble = status.message();
  }
}

Status run(ServeOptions given) {
  std::unique_ptr<DemoFleet> demo;
  if (given.demo) {
    if (!given.store.empty()) {
      return Status::invalid("--demo has a store of its own, which goes away: leave --store out");
    }
    auto made = DemoFleet::make();
    if (!made.ok()) return made.status();
    demo = std::move(*made);
    given.store = demo->store();
  }
  const sigset_t signals = block_stop_signals();  // before any thread: they inherit the mask
  raise_descriptor_limit();
  collector::CollectorOptions options;
  if (Status status = choose(given, options); !status.ok()) return status;
  auto path = store_path(given.store);
  if (!path.ok()) return path.status();
  const Status caches = choose_caches(given.caches, *path, given.demo, options.caches);
  if (!caches.ok()) return caches;
  auto store = open_store(given.store, store::Purpose::collect);
  if (!store.ok()) return store.status();
  const bool postgres = store::is_postgres_url(*path);
  options.handler.engine = postgres ? "postgres" : "sqlite";
  if (!postgres) options.store_folder = std::filesystem::absolute(*path).parent_path().string();
  const std::string address = address_of(given, options.server);
  auto collector = collector::Collector::start(std::move(options), std::move(*store));
  if (!collector.ok()) return collector.status();
  if (demo) demo->fill(**collector, base::real_ns());
  fmt::print("headway serve: listening on {}:{}, store {}\n", address, (*collector)->port(),
             demo ? "a made-up fleet" : store_name(given.store).value());
  std::fflush(stdout);
  tend_until_stopped(**collector, demo.get(), signals);
  (*collector)->stop();
  return {};
}

int check(const ServeOptions& given) {
  auto store = open_store(given.store, store::Purpose::look);
  if (!store.ok()) return fail_cleanly(store.status());
  auto wrong = (*store)->check();
  if (!wrong.ok()) return fail_cleanly(wrong.status());
  for (const std::string& line : *wrong) fmt::print(stderr, "headway: {}\n", line);
  if (!wrong->empty()) return kExitCheckFailed;
  return print_out(store_name(given.store).value() + ": good\n");
}

int back_up(const ServeOptions& given) {
  auto store = open_store(given.store, store::Purpose::look);
  if (!store.ok()) return fail_cleanly(store.status());
  const Status status = (*store)->back_up(given.back_up);
  if (!status.ok()) return fail_cleanly(status);
  return print_out(given.back_up + ": written\n");
}

// Whoever is told in earnest is told as those are, signature and all.
int try_webhooks(const ServeOptions& given) {
  collector::WebhookOptions options;
  if (Status status = choose_webhooks(given, options); !status.ok()) return fail(status);
  std::map<std::string, std::string> places = options.urls;  // by tenant
  if (!options.url.empty()) places.emplace(collector::kOpenTenant, options.url);
  if (places.empty()) {
    return fail(Status::invalid("--try-webhook: there is none to try; name it with --webhook URL"));
  }
  net::CurlTransport transport(net::CurlOptions{});
  int code = kExitOk;
  for (const auto& [tenant, url] : places) {
    collector::WebhookMessage message;
    message.id = fmt::format("test-{}", base::real_ns());
    message.body = Json({{"event", "test"}, {"tenant", tenant}}).dump();
    const auto delivery = collector::deliver_webhook(transport, url, options.secret, message);
    const bool taken = delivery.status >= 200 && delivery.status < 300;
    if (!taken) code = kExitCheckFailed;
    const int printed =
        print_out(fmt::format("{}: {}{}\n", url, taken ? "taken: " : "not taken: ", delivery.why));
    if (printed != kExitOk) return printed;
  }
  return code;
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
  verb->add_option("--watch-every", given->watch_every,
                   "How often to look for regressions; off: never, as on all but one of several "
                   "collectors of a store (default: 1h)")
      ->type_name("TIME|off");
  add_serve_caches_options(*verb, given->caches);
  verb->add_option("--keep-raw", given->keep_raw,
                   "How long to keep the records of jobs that are no longer heard of, as in 90d; "
                   "their attempts stay in the fleet's account (default: ever)")
      ->type_name("TIME|ever");
  verb->add_option("--keep-facts", given->keep_facts,
                   "How long to keep that, too, as in 730d (default: ever)")
      ->type_name("TIME|ever");
  verb->add_option("--webhook", given->webhooks,
                   "Where to send what is found and what is gone, signed with "
                   "HEADWAY_WEBHOOK_SECRET; of one tenant, as TENANT=URL. Can be repeated")
      ->one_value_each()
      ->type_name("URL");
  verb->add_option("--announce-from", given->announce_from,
                   "Send only regressions that cost so many device-hours a day; the page has all "
                   "(default: 0)")
      ->not_negative()
      ->type_name("HOURS");
  verb->add_option("--alert-target", given->alert_targets,
                   "How soon a regression should be found, as in compile_cold=1d or failures=14d. "
                   "Can be repeated")
      ->one_value_each()
      ->type_name("COMPONENT=TIME");
  verb->add_option("--otlp", given->otlp,
                   "Where to send metrics and spans of finished attempts: an OpenTelemetry "
                   "collector, as in http://127.0.0.1:4318")
      ->type_name("URL");
  verb->add_flag("--try-webhook", given->try_webhook,
                 "Only send each webhook a message of the event \"test\", and say what it answers");
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
      "  headway serve --store postgres://headway@db.example/headway\n"
      "  headway serve --check\n"
      "  headway serve --webhook https://pager.example/hook --try-webhook\n"
      "  headway serve token add --role ingest --label cluster-a");
  add_serve_token(*verb, exit_code);
  verb->callback([verb, given, &exit_code] {
    if (verb->any_verb_was_named()) return;
    if (given->try_webhook) {
      exit_code = try_webhooks(*given);
    } else if (given->check) {
      exit_code = check(*given);
    } else if (!given->back_up.empty()) {
      exit_code = back_up(*given);
    } else if (const Status status = run(*given); !status.ok()) {
      exit_code = fail_cleanly(status);
    }
  });
}

}  // namespace headway::cli
