// Compile caches that jobs share through a collector: the archives of src/cache as files below one
// folder, a folder in it for each tenant. They come in pieces and go out in pieces, so that none is
// ever held in memory. What comes in is there whole, durable and what its name says, or not at all;
// whether somebody trusts who signed it is the reader's to say. Over a tenant's bound those go that
// were not read for longest. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "cache/shelf.h"

namespace headway::collector {

inline constexpr std::size_t cache_piece_in_max = 4 << 20;
inline constexpr std::size_t cache_piece_out_max = 1 << 20;

struct CacheRoomOptions {
  std::string folder;   // empty: there is none
  std::string why_not;  // then
  std::uint64_t tenant_bytes_max = 20ULL << 30;
  std::size_t tenant_archives_max = 20'000;
  std::uint64_t archive_bytes_max = 2ULL << 30;
  std::int64_t forsaken_ns = 600'000'000'000;  // an upload that nothing was added to for so long
};

struct CachePiece {
  std::string name;    // of the archive
  std::string upload;  // the client's own word for this upload: 32 digits
  std::uint64_t offset = 0, total = 0;
};
struct CacheTaken {
  bool there = false;      // the archive was there already
  bool whole = false;      // and is there now
  bool in_order = true;    // false: nothing was taken of it; go on from `next`
  std::uint64_t next = 0;  // as much of it is here
};
struct CacheRead {
  std::string bytes;
  std::uint64_t total = 0;
  std::string tag;  // another one where the file is another one
};

class CacheRoom {
 public:
  explicit CacheRoom(CacheRoomOptions options) : options_(std::move(options)) {}

  // Where compile caches are not kept here: why, and where else.
  [[nodiscard]] base::Status ready() const;
  base::Result<std::vector<cache::Shelved>> list(const std::string& tenant,
                                                 const std::string& folder);
  // A full disk is no_space, bytes that are no such archive are corrupt, one that is too large is
  // invalid. `unsupported`: somebody else is at this upload just now.
  base::Result<CacheTaken> take(const std::string& tenant, const CachePiece& piece,
                                std::span<const std::byte> bytes);
  // At most `bytes_max` bytes from there on; none: it ends before.
  base::Result<CacheRead> read(const std::string& tenant, const std::string& name,
                               std::uint64_t from, std::uint64_t bytes_max);
  // One that is gone already is as good.
  base::Status remove(const std::string& tenant, const std::string& name);

 private:
  class Claim;
  [[nodiscard]] std::string folder_of(const std::string& tenant) const;
  base::Status check(const CachePiece& piece, std::size_t bytes) const;
  base::Status begin(const std::string& tenant, const std::string& path);
  base::Status finish(const std::string& tenant, const CachePiece& piece, const std::string& path);
  base::Status make_room(const std::string& tenant, std::uint64_t bytes);

  const CacheRoomOptions options_;
  std::mutex mutex_;
  std::set<std::string> busy_;  // uploads that a thread is at; guarded by mutex_
};

}  // namespace headway::collector
