// Whatever the bytes of a journal are, the reader returns a Status or counts what it cannot use, in
// bounded memory. The input is a journal; a second copy with its header repaired is read as well,
// so that mutations get past the checksum, and a third reading goes on live before it is final.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/check.h"
#include "base/file.h"
#include "record/journal_header.h"
#include "record/journal_reader.h"

namespace {

namespace event = headway::event;
using headway::record::JournalReader;

constexpr std::size_t input_bytes_max = 1 << 20;

struct Seen {
  std::uint64_t events = 0;
  std::int64_t mix = 0;
  bool operator==(const Seen&) const = default;
};

void drain(JournalReader& reader, Seen& seen) {
  for (auto batch = reader.next(); !batch.empty(); batch = reader.next()) {
    HW_CHECK(batch.size() <= JournalReader::batch_slots);
    seen.events += batch.size();
    for (const event::Event& e : batch) {
      HW_CHECK(e.type != event::EventType::name && e.type != event::EventType::anchor);
      seen.mix = static_cast<std::int64_t>(static_cast<std::uint64_t>(seen.mix) * 31 +
                                           static_cast<std::uint64_t>(e.t_ns ^ e.a ^ e.b) + e.name);
    }
  }
}

void read_all(const std::uint8_t* data, std::size_t bytes) {
  const headway::base::UniqueFd fd(::memfd_create("journal", MFD_CLOEXEC));
  if (::write(fd.get(), data, bytes) != static_cast<ssize_t>(bytes)) return;
  const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
  const std::uint64_t slots =
      bytes < event::kHeaderBytes ? 0 : (bytes - event::kHeaderBytes) / sizeof(event::Record);
  Seen results[2];
  for (const bool live_first : {false, true}) {
    event::NameTable names;
    auto reader = JournalReader::open(path, names);
    if (!reader.ok()) {
      HW_CHECK(reader.status().message().find('\n') == std::string::npos);
      return;
    }
    Seen& seen = results[live_first ? 1 : 0];
    if (live_first) drain(**reader, seen);
    (*reader)->set_final();
    drain(**reader, seen);
    const event::StreamLoss loss = (*reader)->loss();
    HW_CHECK(seen.events <= slots);
    HW_CHECK(loss.note.find('\n') == std::string::npos);
    HW_CHECK(loss.damaged_records == 0 || !loss.note.empty());
  }
  HW_CHECK(results[0] == results[1]);  // live and late readers see the same
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes > input_bytes_max) return 0;
  read_all(data, bytes);
  if (bytes >= event::kHeaderBytes) {
    std::string repaired(reinterpret_cast<const char*>(data), bytes);
    event::HeaderFields header{};
    std::memcpy(&header, repaired.data(), sizeof(header));
    header.clock_kind &= 1;
    header.clock_hz = 1'000'000 + header.clock_hz % 19'000'000'000;
    header.job[sizeof(header.job) - 1] = '\0';
    header.host[sizeof(header.host) - 1] = '\0';
    headway::record::finish_header(header);
    std::memcpy(repaired.data(), &header, sizeof(header));
    // A record whose commit word has its top bit clear gets the right check, whatever it says.
    for (std::size_t at = event::kHeaderBytes; at + sizeof(event::Record) <= bytes;
         at += sizeof(event::Record)) {
      event::Record r{};
      std::memcpy(&r, repaired.data() + at, sizeof(r));
      if (r.commit == 0 || (r.commit >> 31) != 0) continue;
      const auto type = static_cast<event::EventType>(r.commit & 0xFF);
      r.commit = event::commit_word(event::record_check(r.t, r.a, r.b, r.name, r.lane, type), type);
      std::memcpy(repaired.data() + at, &r, sizeof(r));
    }
    read_all(reinterpret_cast<const std::uint8_t*>(repaired.data()), repaired.size());
  }
  return 0;
}
