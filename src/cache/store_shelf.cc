#include "cache/store_shelf.h"

#include <fmt/format.h>
#include <time.h>

#include "base/clock.h"

namespace headway::cache {
namespace {

using base::Result;
using base::Status;

constexpr std::uint64_t kFetchBytes = 64 << 20;  // in memory at a time

}  // namespace

std::int64_t time_of_store(const std::string& text) {
  tm parts{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr || (*rest != 'Z' && *rest != '.')) return 0;
  return static_cast<std::int64_t>(::timegm(&parts)) * base::kNsPerSecond;
}

Result<std::vector<Shelved>> StoreShelf::list(const std::string& folder) {
  const std::string begin = prefix_.empty() ? "" : prefix_ + "/";
  auto listing = store_.list(begin + (folder.empty() ? "" : folder + "/"));
  if (!listing.ok()) return listing.status();
  std::vector<Shelved> found;
  for (const object_store::ObjectEntry& object : listing->objects) {
    const std::string name = object.key.substr(begin.size());
    if (is_shelf_name(name)) found.push_back({name, object.bytes, time_of_store(object.modified)});
  }
  return found;
}

Result<bool> StoreShelf::put(const std::string& path, const std::string& name) {
  const std::string key = key_of(name);
  const auto there = store_.head(key);
  if (there.ok()) return false;
  if (there.status().code() != base::Code::not_found) return there.status();
  base::FileSystem& files = base::real_file_system();
  auto file = files.open(path);
  if (!file.ok()) return file.status();
  object_store::FileSource source(files, path, (*file)->bytes());
  auto report = store_.upload(key, source);
  if (!report.ok()) return report.status();
  return !report->was_there;
}

Result<std::string> StoreShelf::fetch(const Shelved& one, const std::string& scratch) {
  const std::string key = key_of(one.name);
  auto info = store_.head(key);
  if (!info.ok()) return info.status();
  if (info->bytes > archive_bytes_max) {
    return Status::invalid(place(one.name) + ": larger than an archive may be");
  }
  std::string path = fmt::format("{}/{}", scratch, base::hex(base::sha256(base::bytes_of(key))));
  base::FileSystem& files = base::real_file_system();
  (void)files.remove_file(path);
  auto file = files.create(path, {.bytes = info->bytes});
  if (!file.ok()) return file.status();
  std::vector<std::byte> buffer;
  for (std::uint64_t at = 0; at < info->bytes; at += buffer.size()) {
    buffer.resize(std::min<std::uint64_t>(kFetchBytes, info->bytes - at));
    if (Status status = store_.get(key, info->etag, at, buffer); !status.ok()) return status;
    if (Status status = (*file)->write(at, buffer); !status.ok()) return status;
  }
  if (Status status = (*file)->close(); !status.ok()) return status;
  return path;
}

Result<Binding> StoreShelf::binding_of(const Shelved& one) {
  const std::string key = key_of(one.name);
  auto info = store_.head(key);
  if (!info.ok()) return info.status();
  return read_binding(
      [&](std::uint64_t offset, std::span<std::byte> into) {
        return store_.get(key, info->etag, offset, into);
      },
      info->bytes, place(one.name));
}

Status StoreShelf::remove(const std::string& name) {
  return store_.remove(key_of(name));
}

}  // namespace headway::cache
