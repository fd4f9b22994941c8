#include "ingest/batch.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/hash.h"
#include "record/journal_header.h"

namespace headway::ingest {
namespace {

using base::Result;
using base::Status;

// Slots are mostly small differences to the slot before: the fastest level packs them to a quarter.
constexpr int zstd_level = 1;

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& items) {
  return std::as_bytes(std::span(items));
}

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

std::vector<std::byte> pack(std::span<const std::byte> raw) {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  HW_CHECK(context != nullptr);
  std::vector<std::byte> packed(ZSTD_compressBound(raw.size()));
  const std::size_t bytes = ZSTD_compressCCtx(context.get(), packed.data(), packed.size(),
                                              raw.data(), raw.size(), zstd_level);
  HW_CHECK(ZSTD_isError(bytes) == 0);
  packed.resize(bytes);
  return packed;
}

Status refuse(const std::string& what, const std::string& why) {
  return Status::invalid(what + ": " + why);
}

Status check_header(const BatchHeader& h, std::uint64_t bytes, const std::string& what) {
  if (std::memcmp(h.magic, kBatchMagic, sizeof(h.magic)) != 0) {
    return refuse(what, "is not an ingest batch (magic at byte 0)");
  }
  if (h.version != kBatchVersion) {
    return Status(base::Code::unsupported,
                  fmt::format("{}: is of version {}; this collector reads version {}, install a "
                              "newer one",
                              what, h.version, kBatchVersion));
  }
  if (base::crc32c(&h, offsetof(BatchHeader, header_crc32c)) != h.header_crc32c) {
    return refuse(what, "the header's checksum at byte 60 does not fit");
  }
  if (h.header_bytes != sizeof(BatchHeader) || h.heads > heads_max || h.chunks > chunks_max ||
      h.slots > slots_max) {
    return refuse(what, fmt::format("{} heads, {} chunks and {} slots are more than a batch holds",
                                    h.heads, h.chunks, h.slots));
  }
  const std::uint64_t front = sizeof(BatchHeader) + h.heads * sizeof(HeadRecord) +
                              std::uint64_t{h.chunks} * sizeof(ChunkRecord);
  if (h.packed_bytes > batch_bytes_max || bytes != front + h.packed_bytes) {
    return refuse(what, fmt::format("has {} bytes where its header tells of {}", bytes,
                                    front + h.packed_bytes));
  }
  return {};
}

Status check_head(const HeadRecord& head, const HeadRecord& first, std::size_t index,
                  const std::string& what) {
  const std::string place = fmt::format("{}: head {}", what, index);
  std::array<char, event::kHeaderBytes> whole{};
  std::memcpy(whole.data(), &head.journal, sizeof(head.journal));
  const auto journal = record::parse_header(whole.data(), whole.size(), place);
  if (!journal.ok()) {
    const bool newer = journal.status().code() == base::Code::unsupported;
    return {newer ? base::Code::unsupported : base::Code::invalid_input,
            journal.status().message()};
  }
  if (std::memchr(head.name, 0, sizeof(head.name)) == nullptr) {
    return refuse(place, "its file's name has no end");
  }
  if (std::strcmp(head.journal.job, first.journal.job) != 0 ||
      head.journal.attempt != first.journal.attempt) {
    return refuse(place, "is of another job or attempt than the batch's first");
  }
  return {};
}

}  // namespace

JournalId journal_id(const event::HeaderFields& header) {
  const base::Sha256 digest = base::sha256(std::as_bytes(std::span(&header, 1)));
  JournalId id;
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

void BatchWriter::add_head(const event::HeaderFields& header, std::string_view name) {
  HW_CHECK(heads_.size() < heads_max);
  HeadRecord& head = heads_.emplace_back();
  head.journal = header;
  name.copy(head.name, sizeof(head.name) - 1);
}

void BatchWriter::add_chunk(const ChunkRecord& record, std::span<const event::Record> slots) {
  HW_CHECK(chunks_.size() < chunks_max && record.slots == slots.size() &&
           slots.size() <= slots_left());
  chunks_.push_back(record);
  slots_.insert(slots_.end(), slots.begin(), slots.end());
}

std::vector<std::byte> BatchWriter::finish(std::int64_t sent_real_ns) const {
  const std::vector<std::byte> packed = pack(bytes_of(slots_));
  std::vector<std::byte> out(sizeof(BatchHeader));
  append(out, bytes_of(heads_));
  append(out, bytes_of(chunks_));
  append(out, packed);
  BatchHeader header{};
  std::memcpy(header.magic, kBatchMagic, sizeof(header.magic));
  header.version = kBatchVersion;
  header.header_bytes = sizeof(BatchHeader);
  header.heads = static_cast<std::uint32_t>(heads_.size());
  header.chunks = static_cast<std::uint32_t>(chunks_.size());
  header.slots = slots_.size();
  header.packed_bytes = packed.size();
  header.sent_real_ns = sent_real_ns;
  header.body_crc32c =
      base::crc32c(out.data() + sizeof(BatchHeader), out.size() - sizeof(BatchHeader));
  header.header_crc32c = base::crc32c(&header, offsetof(BatchHeader, header_crc32c));
  std::memcpy(out.data(), &header, sizeof(header));
  HW_CHECK(out.size() <= batch_bytes_max);
  return out;
}

Result<Batch> Batch::parse(std::span<const std::byte> bytes, const std::string& what) {
  if (bytes.size() < sizeof(BatchHeader)) {
    return refuse(what, fmt::format("has {} bytes; a batch has {} at least", bytes.size(),
                                    sizeof(BatchHeader)));
  }
  Batch batch;
  std::memcpy(&batch.header, bytes.data(), sizeof(BatchHeader));
  const BatchHeader& h = batch.header;
  if (Status status = check_header(h, bytes.size(), what); !status.ok()) return status;
  const auto body = bytes.subspan(sizeof(BatchHeader));
  if (base::crc32c(body.data(), body.size()) != h.body_crc32c) {
    return refuse(what, "the body's checksum at byte 48 does not fit");
  }
  batch.heads.resize(h.heads);
  batch.chunks.resize(h.chunks);
  const auto heads = std::as_writable_bytes(std::span(batch.heads));
  const auto chunks = std::as_writable_bytes(std::span(batch.chunks));
  std::ranges::copy(body.first(heads.size()), heads.begin());
  std::ranges::copy(body.subspan(heads.size(), chunks.size()), chunks.begin());
  batch.packed = body.subspan(heads.size() + chunks.size());
  for (std::size_t i = 0; i < batch.heads.size(); ++i) {
    const Status status = check_head(batch.heads[i], batch.heads.front(), i, what);
    if (!status.ok()) return status;
  }
  std::uint64_t slots = 0;
  for (const ChunkRecord& chunk : batch.chunks) {
    if (chunk.first_slot > INT64_MAX / sizeof(event::Record)) {
      return refuse(what, "a chunk begins beyond the largest journal");
    }
    slots += chunk.slots;
  }
  if (slots != h.slots) {
    return refuse(
        what, fmt::format("its chunks have {} slots where the header tells of {}", slots, h.slots));
  }
  return batch;
}

Status unpack_slots(std::span<const std::byte> packed, std::uint64_t slots,
                    std::vector<event::Record>& into, const std::string& what) {
  HW_CHECK(slots <= slots_max);
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  HW_CHECK(context != nullptr);
  into.resize(slots);
  const std::size_t wanted = slots * sizeof(event::Record);
  const std::size_t bytes =
      ZSTD_decompressDCtx(context.get(), into.data(), wanted, packed.data(), packed.size());
  if (ZSTD_isError(bytes) == 0 && bytes == wanted) return {};
  return refuse(what, fmt::format("its slots do not unpack to {} bytes ({})", wanted,
                                  ZSTD_isError(bytes) != 0 ? ZSTD_getErrorName(bytes) : "fewer"));
}

std::size_t unpacked_bytes_told(std::span<const std::byte> bytes) {
  BatchHeader header;
  if (bytes.size() < sizeof(header)) return 0;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header.slots > slots_max ? 0 : header.slots * sizeof(event::Record);
}

event::LiveFields live_fields(const ChunkRecord& chunk) {
  event::LiveFields live{};
  live.cursor = chunk.cursor;
  live.limit = chunk.limit;
  live.dropped = chunk.dropped;
  live.names_dropped = chunk.names_dropped;
  live.closed = (chunk.flags & kChunkClosed) != 0 ? 1 : 0;
  return live;
}

}  // namespace headway::ingest
