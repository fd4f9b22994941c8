#include "object_store/credentials.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/file.h"
#include "object_store/profile.h"

namespace headway::object_store {
namespace {

using base::Result;
using base::Status;

constexpr std::string_view kDefaultRegion = "us-east-1";

// Goes into a header as it is: no spaces, no line's end.
bool is_header_text(std::string_view text) {
  for (const char c : text) {
    if (c < '!' || c > '~') return false;
  }
  return !text.empty();
}

bool is_region(std::string_view text) {
  for (const char c : text) {
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-') return false;
  }
  return !text.empty() && text.size() <= 64;
}

struct Profiles {
  std::string name;
  bool found = false;
  std::string credentials_path, config_path;
  Profile credentials, config;

  [[nodiscard]] std::string value(const std::string& key) const {
    for (const Profile* profile : {&credentials, &config}) {
      const auto it = profile->find(key);
      if (it != profile->end() && !it->second.empty()) return it->second;
    }
    return {};
  }
};

std::string path_of(const Environment& environment, const char* variable, const char* usual) {
  std::string path = environment(variable).value_or("");
  if (path.empty()) path = usual;
  if (path.starts_with("~/")) path = environment("HOME").value_or("") + path.substr(1);
  return path;
}

Result<Profiles> read_profiles(const SettingsRequest& request, const Environment& environment,
                               const FileText& files) {
  Profiles out;
  out.name = request.profile.empty() ? environment("AWS_PROFILE").value_or("") : request.profile;
  const bool asked_for = !out.name.empty();
  if (!asked_for) out.name = "default";
  out.credentials_path = path_of(environment, "AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");
  out.config_path = path_of(environment, "AWS_CONFIG_FILE", "~/.aws/config");
  for (const bool config : {false, true}) {
    auto text = files(config ? out.config_path : out.credentials_path);
    if (!text.ok()) return text.status();
    if (!*text) continue;
    out.found |= has_profile(**text, out.name, config);
    (config ? out.config : out.credentials) = profile_of(**text, out.name, config);
  }
  if (asked_for && !out.found) {
    return Status::invalid(fmt::format("no profile '{}' in {} or {}: check the name (AWS_PROFILE)",
                                       out.name, out.credentials_path, out.config_path));
  }
  return out;
}

Status no_credentials(const Profiles& profiles) {
  for (const char* key : {"role_arn", "sso_session", "sso_start_url", "credential_process",
                          "web_identity_token_file"}) {
    if (profiles.value(key).empty()) continue;
    return Status(base::Code::unsupported,
                  fmt::format("profile '{}' gets its keys by {}, which Headway does not do: run "
                              "`aws configure export-credentials --profile {} --format env` and "
                              "set what it prints",
                              profiles.name, key, profiles.name));
  }
  return Status::invalid(
      fmt::format("no credentials for the object store: set AWS_ACCESS_KEY_ID and "
                  "AWS_SECRET_ACCESS_KEY, or put them for profile '{}' into {}",
                  profiles.name, profiles.credentials_path));
}

Result<Credentials> find_credentials(const SettingsRequest& request, const Environment& environment,
                                     const Profiles& profiles) {
  std::string id, secret, token, from;
  if (request.profile.empty()) {
    id = environment("AWS_ACCESS_KEY_ID").value_or("");
    secret = environment("AWS_SECRET_ACCESS_KEY").value_or("");
    token = environment("AWS_SESSION_TOKEN").value_or("");
    from = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
    if (id.empty() != secret.empty()) {
      return Status::invalid(
          fmt::format("{} is set but not {}: set both or none",
                      id.empty() ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID",
                      id.empty() ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY"));
    }
  }
  // All of them from one file: a key of one with a secret of another would be of nobody.
  for (const Profile* profile : {&profiles.credentials, &profiles.config}) {
    if (!id.empty()) break;
    const auto value = [&](const char* key) {
      const auto it = profile->find(key);
      return it == profile->end() ? std::string() : it->second;
    };
    id = value("aws_access_key_id");
    secret = value("aws_secret_access_key");
    token = value("aws_session_token");
    const std::string& path =
        profile == &profiles.config ? profiles.config_path : profiles.credentials_path;
    from = fmt::format("{}: profile '{}'", path, profiles.name);
    if (id.empty() != secret.empty()) {
      return Status::invalid(
          fmt::format("{}: it needs both aws_access_key_id and aws_secret_access_key", from));
    }
  }
  if (id.empty()) return no_credentials(profiles);
  if (!is_header_text(id) || (!token.empty() && !is_header_text(token))) {
    return Status::invalid(
        fmt::format("{}: the key's id or the session token has a space or a control character in "
                    "it: set it again",
                    from));
  }
  return Credentials{std::move(id), Secret(std::move(secret)), Secret(std::move(token))};
}

std::string first_of(std::initializer_list<std::string> texts) {
  for (const std::string& text : texts) {
    if (!text.empty()) return text;
  }
  return {};
}

}  // namespace

Result<Endpoint> parse_endpoint(const std::string& url, const std::string& from) {
  const auto bad = [&](std::string_view why) {
    // Not the text itself: somebody may have put a password into it.
    return Status::invalid(
        fmt::format("{}: {}; write it like https://s3.example.org:9000", from, why));
  };
  Endpoint endpoint;
  std::string_view rest = url;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    endpoint.tls = false;
    rest.remove_prefix(7);
  } else {
    return bad("not an address that begins with https:// or http://");
  }
  const std::size_t slash = rest.find('/');
  endpoint.host = rest.substr(0, slash);
  endpoint.path = slash == std::string_view::npos ? "" : rest.substr(slash);
  while (endpoint.path.ends_with('/')) endpoint.path.pop_back();
  if (endpoint.host.empty() || endpoint.host.size() > 300) return bad("no host in it");
  for (const char c : endpoint.host) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == ':' || c == '[' || c == ']' || c == '_';
    if (!plain) return bad("a character in the host that cannot be there");
  }
  for (const char c : endpoint.path) {
    if (c < '!' || c > '~' || c == '?' || c == '#' || c == '%') return bad("an odd path");
  }
  const std::string_view own_port = endpoint.tls ? ":443" : ":80";
  if (endpoint.host.ends_with(own_port) && endpoint.host.front() != '[') {
    endpoint.host.resize(endpoint.host.size() - own_port.size());
  }
  return endpoint;
}

Result<Settings> find_settings(const SettingsRequest& request, const Environment& environment,
                               const FileText& files) {
  auto profiles = read_profiles(request, environment, files);
  if (!profiles.ok()) return profiles.status();
  auto credentials = find_credentials(request, environment, *profiles);
  if (!credentials.ok()) return credentials.status();
  Settings settings;
  settings.credentials = std::move(*credentials);
  settings.region = first_of({request.region, environment("AWS_REGION").value_or(""),
                              environment("AWS_DEFAULT_REGION").value_or(""),
                              profiles->value("region"), std::string(kDefaultRegion)});
  if (!is_region(settings.region)) {
    return Status::invalid(
        "the region (AWS_REGION or the profile's) is no region's name: it looks "
        "like us-east-1");
  }
  const std::pair<std::string, std::string> places[] = {
      {request.endpoint, "the endpoint"},
      {environment("AWS_ENDPOINT_URL_S3").value_or(""), "AWS_ENDPOINT_URL_S3"},
      {environment("AWS_ENDPOINT_URL").value_or(""), "AWS_ENDPOINT_URL"},
      {profiles->value("endpoint_url"), "endpoint_url of profile '" + profiles->name + "'"}};
  for (const auto& [url, from] : places) {
    if (url.empty()) continue;
    auto endpoint = parse_endpoint(url, from);
    if (!endpoint.ok()) return endpoint.status();
    settings.endpoint = std::move(*endpoint);
    break;
  }
  settings.ca_file =
      first_of({environment("AWS_CA_BUNDLE").value_or(""), profiles->value("ca_bundle")});
  return settings;
}

Result<Settings> find_settings(const SettingsRequest& request) {
  const auto environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  const auto files = [](const std::string& path) -> Result<std::optional<std::string>> {
    auto text = base::read_file(path, profile_file_bytes_max);
    if (text.ok()) return std::optional<std::string>(std::move(*text));
    if (text.status().code() == base::Code::not_found) return std::optional<std::string>();
    return text.status();
  };
  return find_settings(request, environment, files);
}

}  // namespace headway::object_store
