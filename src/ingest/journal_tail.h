// A journal on the disk of the machine that writes it, as slots to send. What a reader of the file
// would take in (docs/formats/journal.md) is what is sent, in the same order: slots that are still
// being written are waited for, lost ones go as zeros, damaged ones as they are.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "event/record.h"
#include "ingest/format.h"

namespace headway::ingest {

class JournalTail {
 public:
  static constexpr std::size_t read_slots = 16384;

  static base::Result<std::unique_ptr<JournalTail>> open(const std::string& path);

  [[nodiscard]] const event::HeaderFields& header() const { return header_; }
  [[nodiscard]] const JournalId& id() const { return id_; }
  [[nodiscard]] std::string name() const;  // of the file, without folders

  // The next slots to send, at most `slots`, and what to say of them. Nothing: there is none now.
  // `dead`: nobody writes any more.
  struct Read {
    ChunkRecord chunk{};
    std::span<const event::Record> slots;  // until the next call
  };
  Read read(std::size_t slots, bool dead);

  // The receiver has all before `slot`. What was read and not received is read again.
  void seek(std::uint64_t slot) { position_ = slot; }
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  JournalTail(std::string path, base::UniqueFd fd, const event::HeaderFields& header);
  std::size_t fill(std::uint64_t slot, std::size_t slots);
  void refresh_live();
  [[nodiscard]] std::size_t ready(std::size_t slots, bool dead);
  bool any_behind(std::uint64_t slot);

  std::string path_;
  base::UniqueFd fd_;
  event::HeaderFields header_;
  JournalId id_;
  event::LiveFields live_{};
  std::uint64_t position_ = 0;
  std::vector<event::Record> buffer_;
};

// Whether the process that made a journal is known to be gone: of an earlier boot, or no process
// has its id. An id that another process has got meanwhile is told as alive, and so is one of
// another PID namespace (a container's), which cannot be seen from here.
[[nodiscard]] bool writer_is_gone(const event::HeaderFields& header);

}  // namespace headway::ingest
