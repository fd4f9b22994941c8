#include "cli/cache_shelf.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/file_system.h"
#include "cache/http_shelf.h"
#include "cache/store_shelf.h"
#include "net/curl_transport.h"
#include "object_store/credentials.h"
#include "object_store/place.h"

namespace headway::cli {

using base::Result;
using base::Status;

namespace {

// A job waits for it at its start.
constexpr long kConnectTimeoutS = 5, kStallTimeoutS = 20;

Result<OpenShelf> open_collector(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  const std::string_view host = std::string_view(url).substr(url.find("://") + 3);
  if (host.empty() || host.front() == '/' || url.find_first_of("?# @") != std::string::npos) {
    return Status::invalid("'" + url + "': no collector's address; write it like http://host:8743");
  }
  const char* token = std::getenv("HEADWAY_TOKEN");
  net::CurlOptions options;
  options.connect_timeout_s = kConnectTimeoutS;
  options.stall_timeout_s = kStallTimeoutS;
  return OpenShelf{nullptr, std::make_unique<cache::HttpShelf>(
                                std::make_unique<net::CurlTransport>(std::move(options)),
                                std::move(url), token != nullptr ? token : "")};
}

}  // namespace

bool is_remote_shelf(const std::string& place) {
  return object_store::is_place(place) || cache::is_collector_place(place);
}

Result<OpenShelf> open_shelf(const std::string& text) {
  if (cache::is_collector_place(text)) return open_collector(text);
  if (!object_store::is_place(text)) {
    if (text.empty() || text.find("://") != std::string::npos) {
      return Status::invalid("'" + text +
                             "': neither a folder nor s3://bucket/prefix nor http://collector");
    }
    std::string folder = text;
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    return OpenShelf{
        nullptr, std::make_unique<cache::FolderShelf>(base::real_file_system(), std::move(folder))};
  }
  auto place = object_store::parse_place(text);
  if (!place.ok()) return place.status();
  auto settings = object_store::find_settings({});
  if (!settings.ok()) return settings.status();
  // A job waits for it at its start.
  object_store::StoreOptions options;
  options.retry.tries = 3;
  options.retry.longest_ns = 2'000'000'000;
  options.connect_timeout_s = 5;
  auto real = std::make_shared<object_store::RealStore>(
      open_store(std::move(*settings), place->bucket, options));
  auto shelf = std::make_unique<cache::StoreShelf>(*real->store, place->prefix);
  return OpenShelf{std::move(real), std::move(shelf)};
}

bool is_missing_folder(const std::string& place) {
  std::error_code error;
  return !is_remote_shelf(place) &&
         std::filesystem::status(place, error).type() == std::filesystem::file_type::not_found;
}

Result<std::unique_ptr<ScratchFolder>> ScratchFolder::make() {
  const char* folder = std::getenv("TMPDIR");
  std::string path =
      std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/headway-cache-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return base::errno_status(path, "create", errno);
  return std::unique_ptr<ScratchFolder>(new ScratchFolder(std::move(path)));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace headway::cli
