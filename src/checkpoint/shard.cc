#include "checkpoint/shard.h"

#include <algorithm>
#include <future>
#include <map>

#include "base/aligned_memory.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "checkpoint/folder.h"
#include "checkpoint/safetensors.h"

namespace headway::checkpoint {
namespace {

using base::Result;
using base::Status;

constexpr std::uint64_t kBufferBytes = 16 << 20;
static_assert(kBufferBytes % default_chunk_bytes == 0);

// What lies where in the file, in its order: the head, then the pieces.
struct Stretch {
  const std::byte* from;
  std::uint64_t begin, end;
};

// Takes the file's bytes from one end to the other.
class Source {
 public:
  explicit Source(std::vector<Stretch> stretches) : stretches_(std::move(stretches)) {}

  // The next bytes into `to`; the checksum of every chunk behind `checksums`.
  void take(std::span<std::byte> to, std::vector<std::uint32_t>& checksums) {
    for (std::size_t at = 0; at < to.size();) {
      const std::size_t chunk = std::min<std::size_t>(default_chunk_bytes, to.size() - at);
      checksums.push_back(take_chunk(to.subspan(at, chunk)));
      at += chunk;
    }
  }

 private:
  std::uint32_t take_chunk(std::span<std::byte> to) {
    std::uint32_t crc = 0;
    while (!to.empty()) {
      const Stretch& now = stretches_[index_];
      const std::uint64_t bytes = std::min<std::uint64_t>(to.size(), now.end - at_);
      crc = base::copy_crc32c(to.data(), now.from + (at_ - now.begin), bytes, crc);
      to = to.subspan(bytes);
      at_ += bytes;
      if (at_ == now.end) ++index_;
    }
    return crc;
  }

  const std::vector<Stretch> stretches_;
  std::size_t index_ = 0;
  std::uint64_t at_ = 0;
};

std::vector<Stretch> stretches_of(const SafetensorsPlan& plan, const std::vector<Piece>& pieces,
                                  std::span<const std::byte* const> sources) {
  std::map<std::string_view, const std::byte*> by_name;
  for (std::size_t i = 0; i < pieces.size(); ++i) by_name[pieces[i].name] = sources[i];
  std::vector<Stretch> stretches = {
      {reinterpret_cast<const std::byte*>(plan.head.data()), 0, plan.head.size()}};
  for (const StoredPiece& stored : plan.header.pieces) {
    if (stored.begin == stored.end) continue;
    stretches.push_back({by_name.at(stored.piece.name), stored.begin, stored.end});
  }
  return stretches;
}

// One buffer is written while the other is filled.
Status write_all(DraftFile& file, Source& source, std::uint64_t bytes) {
  base::AlignedMemory memory[2];
  std::future<Status> writing;
  Status status;
  std::vector<std::uint32_t> checksums[2];
  for (std::uint64_t at = 0, turn = 0; at < bytes && status.ok(); at += kBufferBytes, turn ^= 1) {
    const auto buffer = memory[turn].take(std::min(kBufferBytes, bytes - at));
    checksums[turn].clear();
    source.take(buffer, checksums[turn]);
    if (writing.valid()) status = writing.get();
    if (!status.ok()) break;
    writing = std::async(std::launch::async, [&file, buffer, sums = checksums[turn]] {
      return file.write(buffer, sums);
    });
  }
  if (writing.valid()) {
    Status last = writing.get();
    if (status.ok()) status = last;
  }
  return status;
}

}  // namespace

Result<ManifestFile> write_shard(base::FileSystem& files, const std::string& draft_path,
                                 const std::string& name, std::uint32_t rank,
                                 const std::vector<Piece>& pieces,
                                 std::span<const std::byte* const> sources) {
  HW_CHECK(is_file_name(name) && pieces.size() == sources.size());
  auto plan = plan_safetensors(pieces, base::direct_alignment);
  if (!plan.ok()) return plan.status();
  const std::uint64_t bytes = plan->header.file_bytes;
  auto created = files.create(draft_path + "/" + name, {bytes, true});
  if (!created.ok()) return created.status();
  ManifestFile entry;
  entry.name = name;
  entry.rank = rank;
  entry.chunk_bytes = default_chunk_bytes;
  DraftFile file(std::move(*created), entry);
  Source source(stretches_of(*plan, pieces, sources));
  Status status = write_all(file, source, bytes);
  if (Status finished = file.finish(); status.ok()) status = finished;
  if (!status.ok()) return status;
  return entry;
}

}  // namespace headway::checkpoint
