#include "cache/scan.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <tuple>

#include "base/file.h"
#include "cache/format.h"
#include "cache/library.h"

namespace headway::cache {
namespace {

using base::FileSystem;
using base::FolderEntry;
using base::Result;
using base::Status;

// Locks, temporary files and the header that torch builds again where it needs it are of this
// machine and this moment: nobody has to be told that they stay.
bool is_expected(const std::string& name) {
  return name == "locks" || name == "precompiled_headers" || name.starts_with('.') ||
         name.ends_with(".lock") || name.ends_with(".tmp") || name.ends_with(".o");
}

class Walk {
 public:
  Walk(FileSystem& files, const std::string& directory) : files_(files), directory_(directory) {}

  Status into(const std::string& below, std::size_t depth) {
    auto entries = files_.list(below.empty() ? directory_ : directory_ + "/" + below);
    // A folder that went away meanwhile holds nothing any more.
    if (entries.status().code() == base::Code::not_found && depth > 0) return {};
    if (!entries.ok()) return entries.status();
    for (const FolderEntry& entry : *entries) {
      if (Status status = take(below, entry, depth); !status.ok()) return status;
    }
    return {};
  }

  Scan scan;

 private:
  Status take(const std::string& below, const FolderEntry& entry, std::size_t depth) {
    const std::string path = below.empty() ? entry.name : below + "/" + entry.name;
    if (entry.is_folder && !entry.is_link) {
      const bool known = depth > 0 ? depth < path_depth_max && !entry.name.starts_with('.')
                                   : is_cache_folder(entry.name);
      if (known) return into(path, depth + 1);
      scan.unknown += is_expected(entry.name) ? 0 : 1;
      return {};
    }
    const auto kind = kind_of_path(path);
    if (!kind || !is_file_kind(*kind) || entry.is_link || entry.is_special ||
        entry.bytes > content_bytes_max) {
      scan.unknown += is_expected(entry.name) ? 0 : 1;
      return {};
    }
    if (scan.files.size() == entries_max) {
      return Status::invalid(
          fmt::format("{}: more than {} files; is it a cache directory?", directory_, entries_max));
    }
    scan.files.push_back({path, *kind, entry.bytes, entry.is_executable});
    return {};
  }

  FileSystem& files_;
  const std::string& directory_;
};

std::string_view extension_of(const std::string& path) {
  return std::string_view(path).substr(std::min(path.rfind('.'), path.size()));
}

}  // namespace

// "cabc….main.so" is locked as "cabc…".
std::string lock_name(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.find('.'));
}

IsLocked lock_probe(std::string directory) {
  return [directory = std::move(directory)](const std::string& name) {
    const std::string path = fmt::format("{}/locks/{}.lock", directory, name);
    const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    // Let go of at once, with the descriptor.
    return fd.valid() && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  };
}

Result<Scan> scan_directory(FileSystem& files, const std::string& directory,
                            const IsLocked& is_locked) {
  Walk walk(files, directory);
  if (Status status = walk.into("", 0); !status.ok()) return status;
  Scan& scan = walk.scan;
  std::map<std::string, bool> locked;
  std::erase_if(scan.files, [&](const CacheFile& file) {
    if (file.kind != Kind::library && file.kind != Kind::source) return false;
    const std::string name = lock_name(file.path);
    const auto [known, first] = locked.try_emplace(name, false);
    if (first) known->second = is_locked(name);
    scan.busy += known->second ? 1 : 0;
    return known->second;
  });
  std::erase_if(scan.files, [&](const CacheFile& file) {
    if (file.kind != Kind::library) return false;
    const auto opened = files.open(directory + "/" + file.path);
    if (!opened.ok() || !is_damaged_library(*opened.value())) return false;
    scan.damaged.push_back(file.path);
    return true;
  });
  std::ranges::sort(scan.files, {}, [](const CacheFile& file) {
    return std::tuple(file.kind, extension_of(file.path), std::string_view(file.path));
  });
  for (const CacheFile& file : scan.files) scan.bytes += file.bytes;
  return std::move(scan);
}

}  // namespace headway::cache
