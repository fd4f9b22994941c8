// Who asks, and where: keys, region and endpoint from the places that all tools of this protocol
// read. The text of the files is parsed here; nothing of a secret ever gets into a message.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/status.h"
#include "object_store/secret.h"

namespace headway::object_store {

struct Credentials {
  std::string access_key_id;
  Secret secret_key;
  Secret session_token;  // empty: none
};

struct Endpoint {
  bool tls = true;
  std::string host;          // with ":port" where it is not the scheme's own
  std::string path;          // before every bucket; empty or "/…" without a slash at its end
  bool bucket_first = true;  // the bucket is part of the path, not of the host
  [[nodiscard]] std::string text() const { return (tls ? "https://" : "http://") + host + path; }
};

struct Settings {
  Credentials credentials;
  std::string region;
  std::optional<Endpoint> endpoint;  // none: Amazon's own, by region
  std::string ca_file;               // of certificates to trust; empty: the system's
};

struct SettingsRequest {
  std::string endpoint;  // of the caller; empty: from the environment or the profile
  std::string profile;   // of the caller: then the environment's keys do not count
  std::string region;
};

using Environment = std::function<std::optional<std::string>(const std::string& name)>;
// None: there is no such file.
using FileText = std::function<base::Result<std::optional<std::string>>(const std::string& path)>;

// In this order: AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; the profile
// (AWS_PROFILE, else "default") in AWS_SHARED_CREDENTIALS_FILE, then in AWS_CONFIG_FILE.
base::Result<Settings> find_settings(const SettingsRequest& request, const Environment& environment,
                                     const FileText& files);
// With this process's environment and real files.
base::Result<Settings> find_settings(const SettingsRequest& request);

base::Result<Endpoint> parse_endpoint(const std::string& url, const std::string& from);

}  // namespace headway::object_store
