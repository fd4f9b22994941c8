#include "collector/cache_room.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/clock.h"
#include "base/file.h"
#include "base/file_system.h"
#include "base/hash.h"
#include "cache/archive.h"

namespace headway::collector {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::string_view kIncoming = ".incoming";
constexpr std::size_t kUploadDigits = 32;
// Of an archive the part that has to be in memory to be checked. A million entries are less.
constexpr std::uint64_t kFrontBytesMax = 64 << 20;

bool is_upload(std::string_view text) {
  return text.size() == kUploadDigits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

bool is_folder_name(std::string_view folder) {
  const std::size_t slash = folder.find('/');
  if (folder.empty()) return true;
  if (!cache::is_family(folder.substr(0, slash))) return false;
  return slash == std::string_view::npos || base::sha256_of_hex(folder.substr(slash + 1));
}

std::int64_t ns_of(const timespec& time) {
  return time.tv_sec * base::kNsPerSecond + time.tv_nsec;
}

// When it was put there or read last.
std::int64_t used_ns(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return 0;
  return std::max(ns_of(info.st_mtim), ns_of(info.st_atim));
}

// Is it the archive that its name says? Its signature is there or is good; by whom it is, its
// readers judge.
Status check_archive(const std::string& path, const std::string& name) {
  base::FileSystem& files = base::real_file_system();
  auto file = files.open(path);
  if (!file.ok()) return file.status();
  std::string head(std::min<std::uint64_t>((*file)->bytes(), sizeof(cache::HeadRecord)), '\0');
  Status status = (*file)->read(0, std::as_writable_bytes(std::span(head)));
  if (!status.ok()) return status;
  const auto layout = cache::parse_head(head, (*file)->bytes(), name);
  if (!layout.ok()) return Status::corrupt(layout.status().message());
  if (layout.value().tail_bytes > kFrontBytesMax) {
    return Status::corrupt(name + ": has too many entries for a collector");
  }
  auto archive = cache::Archive::open(files, path);
  if (!archive.ok()) {
    return archive.status().code() == Code::io_error
               ? archive.status()
               : Status::corrupt(name + ": what was sent is no whole archive");
  }
  if (cache::shelf_name((*archive)->binding(), (*archive)->index()) != name) {
    return Status::corrupt(name + ": not the archive that its name says");
  }
  status = (*archive)->verify(1, false);
  return status.ok() || status.code() == Code::io_error
             ? status
             : Status::corrupt(name + ": what was sent is damaged");
}

}  // namespace

// One upload is one thread's at a time: a client that was cut off comes back while the piece that
// it had sent is still being written.
class CacheRoom::Claim {
 public:
  Claim(CacheRoom& room, std::string path) : room_(room), path_(std::move(path)) {
    const std::lock_guard lock(room_.mutex_);
    ours_ = room_.busy_.insert(path_).second;
  }
  ~Claim() {
    const std::lock_guard lock(room_.mutex_);
    if (ours_) room_.busy_.erase(path_);
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  [[nodiscard]] bool ours() const { return ours_; }

 private:
  CacheRoom& room_;
  const std::string path_;
  bool ours_ = false;
};

Status CacheRoom::ready() const {
  return options_.folder.empty() ? Status(Code::unsupported, options_.why_not) : Status();
}

// A tenant may be called anything; "~" begins no name of a family.
std::string CacheRoom::folder_of(const std::string& tenant) const {
  return options_.folder + "/" +
         (cache::is_family(tenant) ? tenant
                                   : "~" + base::hex(base::sha256(base::bytes_of(tenant))));
}

Result<std::vector<cache::Shelved>> CacheRoom::list(const std::string& tenant,
                                                    const std::string& folder) {
  if (!is_folder_name(folder)) return Status::invalid("folder: FAMILY or FAMILY/BINDING");
  return cache::FolderShelf(base::real_file_system(), folder_of(tenant)).list(folder);
}

Status CacheRoom::check(const CachePiece& piece, std::size_t bytes) const {
  if (!cache::is_shelf_name(piece.name)) {
    return Status::invalid("an archive is called FAMILY/BINDING/CONTENT.hwc");
  }
  if (!is_upload(piece.upload)) return Status::invalid("upload: give 32 hexadecimal digits");
  const std::uint64_t most = std::min(options_.archive_bytes_max, options_.tenant_bytes_max);
  if (piece.total == 0 || piece.total > most) {
    return Status::invalid(fmt::format(
        "bytes: an archive may have 1 to {} here, and this one has {}", most, piece.total));
  }
  const bool fits = bytes > 0 && bytes <= cache_piece_in_max && piece.offset <= piece.total &&
                    bytes <= piece.total - piece.offset;
  return fits ? Status() : Status::invalid("offset: this piece is none of so many bytes");
}

Result<CacheTaken> CacheRoom::take(const std::string& tenant, const CachePiece& piece,
                                   std::span<const std::byte> bytes) {
  if (Status status = check(piece, bytes.size()); !status.ok()) return status;
  base::FileSystem& files = base::real_file_system();
  const std::string folder = folder_of(tenant);
  const std::string path = fmt::format("{}/{}/{}", folder, kIncoming, piece.upload);
  const Claim claim(*this, path);
  if (!claim.ours()) return Status(Code::unsupported, "a piece of this upload is being written");
  if (files.open(folder + "/" + piece.name).ok()) {
    (void)files.remove_file(path);
    return CacheTaken{.there = true, .next = piece.total};
  }
  std::uint64_t have = 0;
  if (auto begun = files.open(path); begun.ok()) have = (*begun)->bytes();
  if (have != piece.offset) return CacheTaken{.in_order = false, .next = have};
  Status status;
  if (have == 0) status = begin(tenant, path);
  if (!status.ok()) return status;
  auto file = have == 0 ? files.create(path, {}) : files.reopen(path);
  if (have == 0 && !file.ok()) {  // one of nothing, left by a full disk
    (void)files.remove_file(path);
    file = files.create(path, {});
  }
  if (!file.ok()) return file.status();
  const bool last = piece.offset + bytes.size() == piece.total;
  status = (*file)->write(piece.offset, bytes);
  if (status.ok()) (*file)->begin_write_back(piece.offset, bytes.size());
  if (status.ok() && last) status = (*file)->sync();
  if (Status closed = (*file)->close(); status.ok()) status = closed;
  if (status.ok() && last) status = finish(tenant, piece, path);
  if (!status.ok()) {
    (void)files.remove_file(path);
    return status;
  }
  return CacheTaken{.whole = last, .next = piece.offset + bytes.size()};
}

// Uploads that nobody goes on with are removed, and those that are under way may together be as
// large as all archives.
Status CacheRoom::begin(const std::string& tenant, const std::string& path) {
  base::FileSystem& files = base::real_file_system();
  const std::string folder = base::folder_of(path);
  if (Status status = base::make_dirs(folder); !status.ok()) return status;
  auto entries = files.list(folder);
  if (!entries.ok()) return entries.status();
  std::uint64_t bytes = 0;
  for (const base::FolderEntry& entry : *entries) {
    if (base::real_ns() - entry.modified_ns > options_.forsaken_ns) {
      (void)files.remove_file(folder + "/" + entry.name);
    } else {
      bytes += entry.bytes;
    }
  }
  if (bytes <= options_.tenant_bytes_max) return {};
  return Status(Code::no_space,
                fmt::format("{}: too much is being sent at once; come again later", tenant));
}

Status CacheRoom::finish(const std::string& tenant, const CachePiece& piece,
                         const std::string& path) {
  if (Status status = check_archive(path, piece.name); !status.ok()) return status;
  base::FileSystem& files = base::real_file_system();
  const std::string to = folder_of(tenant) + "/" + piece.name;
  const std::lock_guard lock(mutex_);
  Status status = make_room(tenant, piece.total);
  if (status.ok()) status = base::make_dirs(base::folder_of(to));
  if (status.ok()) status = files.rename(path, to);
  if (status.ok()) status = files.sync_folder(base::folder_of(to));
  return status;
}

Status CacheRoom::make_room(const std::string& tenant, std::uint64_t bytes) {
  cache::FolderShelf shelf(base::real_file_system(), folder_of(tenant));
  auto found = shelf.list("");
  if (!found.ok()) return found.status();
  std::uint64_t held = 0;
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  for (std::size_t i = 0; i < found->size(); ++i) {
    held += (*found)[i].bytes;
    order.emplace_back(used_ns(shelf.place((*found)[i].name)), i);
  }
  std::ranges::sort(order);
  std::size_t left = order.size();
  for (const auto& [used, i] : order) {
    const bool fits =
        held + bytes <= options_.tenant_bytes_max && left < options_.tenant_archives_max;
    if (fits) break;
    if (Status status = shelf.remove((*found)[i].name); !status.ok()) return status;
    held -= (*found)[i].bytes;
    --left;
  }
  return {};
}

Result<CacheRead> CacheRoom::read(const std::string& tenant, const std::string& name,
                                  std::uint64_t from, std::uint64_t bytes_max) {
  if (!cache::is_shelf_name(name)) return Status::not_found("there is no such archive");
  const std::string path = folder_of(tenant) + "/" + name;
  auto file = base::real_file_system().open(path);
  if (file.status().code() == Code::not_found) {
    return Status::not_found("there is no such archive");
  }
  if (!file.ok()) return file.status();
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return Status::not_found("there is no such archive");
  if (from == 0) {
    const timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
    (void)::utimensat(AT_FDCWD, path.c_str(), times, 0);
  }
  CacheRead out;
  out.total = (*file)->bytes();
  out.tag = fmt::format("\"{:x}-{:x}-{:x}\"", info.st_ino, ns_of(info.st_mtim), out.total);
  if (from >= out.total) return out;
  out.bytes.resize(std::min({bytes_max, out.total - from, std::uint64_t{cache_piece_out_max}}));
  Status status = (*file)->read(from, std::as_writable_bytes(std::span(out.bytes)));
  if (!status.ok()) return status;
  return out;
}

Status CacheRoom::remove(const std::string& tenant, const std::string& name) {
  if (!cache::is_shelf_name(name)) return {};
  return cache::FolderShelf(base::real_file_system(), folder_of(tenant)).remove(name);
}

}  // namespace headway::collector
