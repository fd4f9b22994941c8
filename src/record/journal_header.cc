#include "record/journal_header.h"

#include <cstring>

#include "base/clock.h"
#include "base/crc32c.h"

namespace headway::record {
namespace {

using base::Status;
using event::HeaderFields;

constexpr std::size_t kChecked = offsetof(HeaderFields, header_crc32c);

Status damaged(const std::string& path, const char* field, std::size_t offset,
               const std::string& what) {
  return Status::corrupt(path + ": header field " + field + " at byte " + std::to_string(offset) +
                         " " + what + "; the file is damaged and cannot be read");
}

#define HW_FIELD(name) #name, offsetof(HeaderFields, name)

Status check_fields(const HeaderFields& h, const std::string& path) {
  if (h.header_bytes != event::kHeaderBytes) {
    return damaged(path, HW_FIELD(header_bytes), "is " + std::to_string(h.header_bytes));
  }
  if (h.record_bytes != sizeof(event::Record)) {
    return damaged(path, HW_FIELD(record_bytes), "is " + std::to_string(h.record_bytes));
  }
  if (h.clock_kind > static_cast<std::uint32_t>(event::ClockKind::tsc)) {
    return damaged(path, HW_FIELD(clock_kind), "is " + std::to_string(h.clock_kind));
  }
  if (h.clock_hz < base::tick_hz_min || h.clock_hz > base::tick_hz_max) {
    return damaged(path, HW_FIELD(clock_hz), "is " + std::to_string(h.clock_hz));
  }
  if (std::memchr(h.job, 0, sizeof(h.job)) == nullptr) {
    return damaged(path, HW_FIELD(job), "has no end");
  }
  if (std::memchr(h.host, 0, sizeof(h.host)) == nullptr) {
    return damaged(path, HW_FIELD(host), "has no end");
  }
  if (base::crc32c(&h, kChecked) != h.header_crc32c) {
    return damaged(path, HW_FIELD(header_crc32c), "does not fit the bytes before it");
  }
  return {};
}

}  // namespace

void finish_header(HeaderFields& header) {
  std::memcpy(header.magic, event::kJournalMagic, sizeof(header.magic));
  header.version = event::kJournalVersion;
  header.header_bytes = event::kHeaderBytes;
  header.record_bytes = sizeof(event::Record);
  header.header_crc32c = base::crc32c(&header, kChecked);
}

base::Result<HeaderFields> parse_header(const void* data, std::size_t bytes,
                                        const std::string& path) {
  if (bytes == 0) return Status::corrupt(path + ": is empty; a journal has a header of 4096 bytes");
  HeaderFields header{};
  std::memcpy(&header, data, bytes < sizeof(header) ? bytes : sizeof(header));
  const std::size_t magic_bytes = bytes < sizeof(header.magic) ? bytes : sizeof(header.magic);
  if (std::memcmp(header.magic, event::kJournalMagic, magic_bytes) != 0) {
    return Status::invalid(path + ": is not a Headway journal (header field magic at byte 0)");
  }
  if (bytes < event::kHeaderBytes) {
    return Status::corrupt(path + ": ends at byte " + std::to_string(bytes) +
                           ", inside the header of 4096 bytes");
  }
  if (header.version != event::kJournalVersion) {
    return Status(base::Code::unsupported,
                  path + ": header field version at byte 8 is " + std::to_string(header.version) +
                      "; this build reads version " + std::to_string(event::kJournalVersion) +
                      ", install a newer Headway or remove the file");
  }
  if (Status status = check_fields(header, path); !status.ok()) return status;
  return header;
}

}  // namespace headway::record
