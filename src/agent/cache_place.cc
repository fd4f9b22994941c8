#include "agent/cache_place.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "agent/identity.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "base/job_path.h"

namespace headway::agent {
namespace {

using base::Status;

constexpr std::size_t kFamilyBytesMax = 100;  // cache/binding.h

std::string value_of(const Environment& environment, std::string_view name) {
  const std::string* value = find_variable(environment, name);
  return value != nullptr ? *value : "";
}

std::string asked_for(const RunOptions& options, const Environment& environment) {
  std::string word = options.cache.empty() ? value_of(environment, "HEADWAY_CACHE") : options.cache;
  return word.empty() ? "local" : word;
}

bool is_off(const std::string& word) {
  return word == "off" || word == "none" || word == "0";
}

std::string own_shelf(const Environment& environment) {
  const std::string cache = value_of(environment, "XDG_CACHE_HOME");
  const std::string home = value_of(environment, "HOME");
  if (cache.empty() && home.empty()) return "";
  return (cache.empty() ? home + "/.cache" : cache) + "/headway/compile";
}

// As Python's tempfile finds it, and torch with it.
std::string temporary_folder(const Environment& environment) {
  for (const char* name : {"TMPDIR", "TEMP", "TMP"}) {
    if (std::string folder = value_of(environment, name); !folder.empty()) return folder;
  }
  return "/tmp";
}

std::string absolute(const std::string& path) {
  if (path.find("://") != std::string::npos) return path;
  std::error_code error;
  const std::filesystem::path made = std::filesystem::absolute(path, error);
  return error ? path : made.lexically_normal().string();
}

}  // namespace

std::string cache_family(const RunOptions& options) {
  std::string name = command_name(options);
  for (const auto& [key, value] : options.attrs) {
    if (key == "family" && !value.empty()) name = value;
  }
  std::string family = base::sanitize_job_name(name).substr(0, kFamilyBytesMax);
  for (char& c : family) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    if (!plain) c = '_';
  }
  if (family.empty() || family.front() == '.') family.insert(family.begin(), '_');
  return family.substr(0, kFamilyBytesMax);
}

std::optional<CachePlace> cache_place(const RunOptions& options, const Environment& environment,
                                      const std::string& processor, unsigned user) {
  const std::string named = asked_for(options, environment);
  if (is_off(named) || named == "local") return std::nullopt;
  CachePlace place;
  place.own_shelf = named == "auto";
  place.shelf = place.own_shelf ? own_shelf(environment) : absolute(named);
  if (place.shelf.empty()) return std::nullopt;
  place.family = cache_family(options);
  place.directory = value_of(environment, "TORCHINDUCTOR_CACHE_DIR");
  place.own_directory = place.directory.empty();
  if (place.own_directory) {
    place.directory =
        fmt::format("{}/headway-{}/compile/{}-{:08x}", absolute(temporary_folder(environment)),
                    user, place.family, base::crc32c(processor.data(), processor.size()));
  }
  place.pgo_job = value_of(environment, "TORCH_COMPILE_JOB_ID");
  if (place.pgo_job.empty() && options.learn_shapes) place.pgo_job = place.family;
  return place;
}

bool may_compile_warm(const RunOptions& options, const Environment& environment) {
  const std::string named = asked_for(options, environment);
  return !is_off(named) && (options.kind != CommandKind::program || named != "local");
}

void name_cache_folders(const CachePlace& place, Environment& environment) {
  environment.insert_or_assign("TORCHINDUCTOR_CACHE_DIR", place.directory);
  if (!value_of(environment, "TRITON_CACHE_DIR").empty()) return;
  environment.insert_or_assign("TRITON_CACHE_DIR", absolute(place.directory) + "/triton/0");
}

bool cannot_be_written(const std::string& directory) {
  std::filesystem::path path = absolute(directory);
  while (::access(path.c_str(), W_OK | X_OK) != 0) {
    if (errno != ENOENT || !path.has_relative_path()) return true;
    path = path.parent_path();  // of one that is not there, who could make it
  }
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

Status prepare_cache_directory(const CachePlace& place) {
  if (!place.own_directory) return {};
  const std::string compile = place.directory.substr(0, place.directory.rfind('/'));
  const std::string ours = compile.substr(0, compile.rfind('/'));
  if (::mkdir(ours.c_str(), 0700) != 0 && errno != EEXIST) {
    return base::errno_status(ours, "create", errno);
  }
  struct stat info{};
  if (::lstat(ours.c_str(), &info) != 0) return base::errno_status(ours, "open", errno);
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 022) != 0) {
    return Status::invalid(fmt::format(
        "{}: somebody else can write there; remove it, or set TORCHINDUCTOR_CACHE_DIR", ours));
  }
  return base::make_dirs(place.directory);
}

}  // namespace headway::agent
