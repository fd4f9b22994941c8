#include "cli/fleet_fetch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <vector>

#include "base/file.h"
#include "base/parallel.h"
#include "cli/progress.h"
#include "object_store/credentials.h"
#include "object_store/place.h"
#include "object_store/store.h"

namespace headway::cli {
namespace {

namespace fs = std::filesystem;
using base::Result;
using base::Status;
using object_store::ObjectEntry;

constexpr std::size_t kWorkers = 4;  // each reads ranges of its own at once
constexpr std::uint64_t kPieceBytes = 64ULL << 20;

// "job/attempt/rank-00000.hwj" for a key below the prefix; "" for what is no journal, or would not
// stay below a folder.
std::string relative_name(const std::string& key, const std::string& prefix) {
  const std::string name = key.substr(prefix.size());
  if (!name.ends_with(".hwj") && !name.ends_with(".jsonl")) return "";
  for (const fs::path& part : fs::path(name)) {
    if (part == ".." || part == "." || part.is_absolute()) return "";
  }
  return name;
}

Status write_at(int fd, const std::string& path, std::span<const std::byte> bytes,
                std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return base::errno_status(path, "write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

Status fetch_one(object_store::Store& store, const ObjectEntry& object, const std::string& path,
                 const std::function<void(std::uint64_t)>& done) {
  if (Status status = base::make_dirs(fs::path(path).parent_path().string()); !status.ok()) {
    return status;
  }
  const base::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd.valid()) return base::errno_status(path, "create", errno);
  std::vector<std::byte> piece;
  for (std::uint64_t offset = 0; offset < object.bytes; offset += piece.size()) {
    piece.resize(std::min(kPieceBytes, object.bytes - offset));
    if (Status got = store.get(object.key, object.etag, offset, piece); !got.ok()) return got;
    if (Status put = write_at(fd.get(), path, piece, offset); !put.ok()) return put;
    done(piece.size());
  }
  return {};
}

}  // namespace

Result<Fetched> fetch_journals(const std::string& text, const std::string& folder) {
  auto place = object_store::parse_place(text);
  if (!place.ok()) return place.status();
  auto settings = object_store::find_settings({});
  if (!settings.ok()) return settings.status();
  const object_store::RealStore real = open_store(std::move(*settings), place->bucket, {});
  const std::string prefix = place->prefix.empty() ? "" : place->prefix + "/";
  auto listing = real.store->list(prefix);
  if (!listing.ok()) return listing.status();
  std::vector<std::pair<const ObjectEntry*, std::string>> wanted;
  Fetched fetched;
  for (const ObjectEntry& object : listing->objects) {
    const std::string name = relative_name(object.key, prefix);
    if (name.empty()) continue;
    wanted.emplace_back(&object, folder + "/" + name);
    ++fetched.files;
    fetched.bytes += object.bytes;
  }
  if (wanted.empty()) return Status::not_found(text + ": holds no journals (*.hwj)");
  ProgressBar bar("fetch", fetched.bytes);
  std::mutex bar_mutex;
  const auto done = [&](std::uint64_t bytes) {
    const std::lock_guard lock(bar_mutex);
    bar.add(bytes);
  };
  std::atomic<bool> stop = false;
  const Status status =
      base::in_parallel(wanted.size(), kWorkers, stop, [&](std::size_t, std::size_t i) {
        return fetch_one(*real.store, *wanted[i].first, wanted[i].second, done);
      });
  if (!status.ok()) return status;
  return fetched;
}

}  // namespace headway::cli
