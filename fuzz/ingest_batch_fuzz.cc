// Whatever the bytes of a batch are, a receiver refuses them in one line or takes them apart in
// bounded memory, and its positions never go back. A second copy with its checksums mended is read
// as well, so that mutations get past them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/crc32c.h"
#include "event/event.h"
#include "ingest/batch.h"
#include "ingest/progress.h"
#include "record/journal_header.h"
#include "record/slot_reader.h"

namespace {

using namespace headway::ingest;
using headway::event::Record;

constexpr std::size_t input_bytes_max = 1 << 20;

void read(std::span<const std::byte> bytes) {
  auto batch = Batch::parse(bytes, "batch");
  if (!batch.ok()) {
    HW_CHECK(batch.status().message().find('\n') == std::string::npos);
    return;
  }
  HW_CHECK(batch->chunks.size() <= chunks_max && batch->heads.size() <= heads_max);
  std::vector<Record> slots;
  if (!unpack_slots(batch->packed, batch->header.slots, slots, "batch").ok()) return;
  ProgressMap known;
  const std::string job = batch->heads.empty() ? "job" : batch->heads.front().journal.job;
  const std::uint64_t attempt = batch->heads.empty() ? 0 : batch->heads.front().journal.attempt;
  const Judgement judged = judge(*batch, job, attempt, known);
  if (judged.verdict == Verdict::nonsense) HW_CHECK(!judged.why.empty());
  if (judged.verdict != Verdict::news) HW_CHECK(known.empty());
  ProgressMap again = known;
  if (judged.verdict == Verdict::news &&
      judge(*batch, job, attempt, again).verdict == Verdict::news) {
    // Only a head without a chunk, or fields that one batch tells in two ways, may be new twice.
    for (const auto& [id, progress] : again) HW_CHECK(progress.next_slot == known[id].next_slot);
  }
  for (const HeadRecord& head : batch->heads) {
    headway::event::NameTable names;
    headway::record::SlotReader reader(head.journal, names);
    std::vector<Record> copy = slots;
    HW_CHECK(reader.consume(copy, nullptr) == copy.size());
    for (const ChunkRecord& chunk : batch->chunks) reader.finish(live_fields(chunk));
    if (batch->heads.size() > 4) break;  // one is as good as many
  }
}

void mend(std::vector<std::byte>& bytes) {
  BatchHeader header;
  if (bytes.size() < sizeof(header)) return;
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::memcpy(header.magic, kBatchMagic, sizeof(header.magic));
  header.version = kBatchVersion;
  header.header_bytes = sizeof(header);
  header.heads %= 4;
  header.chunks %= 16;
  header.slots %= slots_max;
  const std::size_t front =
      sizeof(header) + header.heads * sizeof(HeadRecord) + header.chunks * sizeof(ChunkRecord);
  if (bytes.size() < front) return;
  header.packed_bytes = bytes.size() - front;
  for (std::uint32_t i = 0; i < header.heads; ++i) {
    std::byte* at = bytes.data() + sizeof(header) + i * sizeof(HeadRecord);
    headway::event::HeaderFields fields;
    std::memcpy(&fields, at, sizeof(fields));
    headway::record::finish_header(fields);
    std::memcpy(at, &fields, sizeof(fields));
  }
  header.body_crc32c =
      headway::base::crc32c(bytes.data() + sizeof(header), bytes.size() - sizeof(header));
  header.header_crc32c = headway::base::crc32c(&header, offsetof(BatchHeader, header_crc32c));
  std::memcpy(bytes.data(), &header, sizeof(header));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > input_bytes_max) return 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  read(bytes);
  std::vector<std::byte> mended(bytes.begin(), bytes.end());
  mend(mended);
  read(mended);
  return 0;
}
