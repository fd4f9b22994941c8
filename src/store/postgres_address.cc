#include "store/postgres_address.h"

#include <libpq-fe.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>

namespace headway::store {
namespace {

using base::Result;
using base::Status;

constexpr std::size_t places_max = 16;

// A server that is away is noticed in seconds, also by who waits for its answer.
constexpr std::pair<const char*, const char*> kUnlessGiven[] = {
    {"keepalives_idle", "5"},      {"keepalives_interval", "5"},    {"keepalives_count", "3"},
    {"tcp_user_timeout", "15000"}, {"application_name", "headway"},
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t end = std::min(list.find(',', from), list.size());
    out.push_back(list.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

// The i-th of a list that has one for each place, or one for all.
std::string nth(const std::vector<std::string>& list, std::size_t i) {
  return list.size() == 1 ? list[0] : list[i];
}

// What only a password that was not escaped can have brought there.
bool looks_cut(const std::vector<std::string>& hosts, const std::vector<std::string>& ports,
               const std::string& database) {
  const auto odd = [](const std::string& port) {
    return !std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  };
  return std::ranges::any_of(hosts,
                             [](const auto& each) { return each.find('@') < each.size(); }) ||
         std::ranges::any_of(ports, odd) || database.find_first_of("@/") != std::string::npos;
}

Status not_understood(const char* what) {
  return Status::invalid(std::string("--store: ") + what +
                         "; give postgres://USER@HOST:PORT/DATABASE, with %-escapes where a part "
                         "has other characters");
}

}  // namespace

bool is_postgres_url(const std::string& text) {
  return text.starts_with("postgres://") || text.starts_with("postgresql://");
}

Result<PostgresAddress> PostgresAddress::parse(const std::string& url) {
  char* error = nullptr;
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> parsed(
      PQconninfoParse(url.c_str(), &error), &PQconninfoFree);
  PQfreemem(error);  // it repeats what was given
  if (!is_postgres_url(url) || !parsed) {
    return not_understood("this is no URL of a PostgreSQL database");
  }
  std::map<std::string, std::string> given;
  for (const PQconninfoOption* each = parsed.get(); each->keyword != nullptr; ++each) {
    if (each->val != nullptr) given[each->keyword] = each->val;
  }
  if (given["dbname"].empty()) return not_understood("the URL names no database");
  const auto hosts = split(given["host"]), addresses = split(given["hostaddr"]),
             ports = split(given["port"]);
  const std::size_t count = std::max(hosts.size(), addresses.size());
  const auto fits = [&](const auto& list) { return list.size() == 1 || list.size() == count; };
  if (count > places_max || !fits(hosts) || !fits(addresses) || !fits(ports)) {
    return not_understood("the URL's lists of hosts and ports do not fit together");
  }
  if (looks_cut(hosts, ports, given["dbname"])) {
    return not_understood("this is no URL of a PostgreSQL database");
  }
  for (const auto& [name, value] : kUnlessGiven) given.try_emplace(name, value);
  std::string& wanted = given["target_session_attrs"];
  if (wanted != "primary") wanted = "read-write";

  PostgresAddress out;
  out.user_ = given["user"];
  out.database_ = given["dbname"];
  out.name_ = "postgres://" + (out.user_.empty() ? "" : out.user_ + "@");
  for (std::size_t i = 0; i < count; ++i) {
    Place place;
    auto options = given;
    options["host"] = nth(hosts, i);
    options["hostaddr"] = nth(addresses, i);
    options["port"] = nth(ports, i);
    const std::string& host = options["host"].empty() ? options["hostaddr"] : options["host"];
    place.name = host + (options["port"].empty() ? "" : ":" + options["port"]);
    if (place.name.empty()) place.name = "localhost";
    // An option that is empty means libpq's own default.
    for (const auto& [name, value] : options) {
      if (!value.empty()) place.options.emplace_back(name, value);
    }
    out.name_ += (i == 0 ? "" : ",") + place.name;
    out.places_.push_back(std::move(place));
  }
  out.name_ += "/" + out.database_;
  return out;
}

}  // namespace headway::store
