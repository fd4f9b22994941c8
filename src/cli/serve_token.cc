// headway serve token: who may report to a collector, and who may ask it.
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "cli/human.h"
#include "cli/output.h"
#include "cli/serve_store.h"
#include "cli/verb.h"
#include "collector/access.h"
#include "collector/collector.h"

namespace headway::cli {
namespace {

using base::Status;

struct TokenOptions {
  std::string store;
  std::string role = "ingest";
  std::string tenant = collector::kOpenTenant;
  std::string label;
  std::int64_t id = 0;
  bool json = false;
};

int add(const TokenOptions& given) {
  auto store = open_store(given.store, store::Purpose::change);
  if (!store.ok()) return fail_cleanly(store.status());
  const std::string secret = collector::draw_token();
  store::Token token;
  token.tenant = given.tenant;
  token.role = *store::role_of(given.role);
  token.label = given.label;
  token.hash = collector::token_hash(secret);
  token.created_ns = base::real_ns();
  auto added = (*store)->add_token(token);
  if (!added.ok()) return fail_cleanly(added.status());
  if (given.json) {
    return print_json({{"id", added->id},
                       {"token", secret},
                       {"role", given.role},
                       {"tenant", given.tenant},
                       {"label", given.label}});
  }
  // The token alone on standard output, for a script; what it is, for a person.
  fmt::print(stderr,
             "token {} of tenant {}, for {}; it is shown this once, and a running collector knows "
             "it within two seconds\n",
             added->id, given.tenant, given.role);
  return print_out(secret + "\n");
}

int list(const TokenOptions& given) {
  auto store = open_store(given.store, store::Purpose::look);
  if (!store.ok()) return fail_cleanly(store.status());
  auto tokens = (*store)->tokens();
  if (!tokens.ok()) return fail_cleanly(tokens.status());
  Json rows = Json::array();
  std::string text;
  for (const store::Token& token : *tokens) {
    rows.push_back({{"id", token.id},
                    {"role", role_name(token.role)},
                    {"tenant", token.tenant},
                    {"label", token.label},
                    {"created_ns", token.created_ns}});
    text += fmt::format("{:>4}  {:<6}  {:<16}  {}  {}\n", token.id, role_name(token.role),
                        token.tenant, human_instant(token.created_ns, out_style()), token.label);
  }
  if (given.json) return print_json({{"tokens", rows}});
  if (!text.empty()) return print_out(text);
  const auto had = (*store)->has_had_tokens();
  if (!had.ok()) return fail_cleanly(had.status());
  return print_out(had.value()
                       ? "no tokens any more: nobody is let in until `headway serve token add` has "
                         "made one\n"
                       : "no tokens: only this machine is served, and everybody on it\n");
}

int remove(const TokenOptions& given) {
  auto store = open_store(given.store, store::Purpose::change);
  if (!store.ok()) return fail_cleanly(store.status());
  auto removed = (*store)->remove_token(given.id);
  if (!removed.ok()) return fail_cleanly(removed.status());
  if (!removed.value()) {
    return fail(Status::invalid(
        fmt::format("there is no token {}; `headway serve token ls` lists them", given.id)));
  }
  return print_out(fmt::format("token {} is removed\n", given.id));
}

}  // namespace

void add_serve_token(Verb& serve, int& exit_code) {
  auto* token = serve.add_verb("token", "Who may report to the collector, and who may ask it");
  token->require_verb();
  auto given = std::make_shared<TokenOptions>();

  auto* make = token->add_verb("add", "Make a token and print it");
  add_store_option(*make, given->store);
  make->add_option("--role", given->role, "What it is for: ingest, read or admin (ingest)")
      ->one_of({"ingest", "read", "admin"});
  make->add_option("--tenant", given->tenant,
                   "Whose jobs: tenants do not see each other's (default)");
  make->add_option("--label", given->label, "For people: where it is used");
  make->add_flag("--json", given->json, "For programs");
  make->footer(
      "Example:\n"
      "  export HEADWAY_TOKEN=$(headway serve token add --role ingest --label cluster-a)");
  make->callback([given, &exit_code] { exit_code = add(*given); });

  auto* ls = token->add_verb("ls", "List them; the tokens themselves are not kept");
  add_store_option(*ls, given->store);
  ls->add_flag("--json", given->json, "For programs");
  ls->footer("Example:\n  headway serve token ls");
  ls->callback([given, &exit_code] { exit_code = list(*given); });

  auto* rm = token->add_verb("rm", "Remove one: it is of no use from then on");
  add_store_option(*rm, given->store);
  rm->add_option("ID", given->id, "As `ls` shows it")->required();
  rm->footer("Example:\n  headway serve token rm 3");
  rm->callback([given, &exit_code] { exit_code = remove(*given); });
}

}  // namespace headway::cli
