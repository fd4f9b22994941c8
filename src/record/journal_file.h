// The journal as the recorder's own file: created, mapped over its full bounded size, grown ahead
// of the cursor, and cut to its last slot at an orderly end. One thread at a time (hw_init(), then
// the keeper, then hw_shutdown()); the hot path goes to the mapping directly. Returns errno
// numbers, allocates only in create().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/file.h"
#include "event/record.h"
#include "record/settings.h"

namespace headway::record {

class JournalFile {
 public:
  // Room that create() makes, so that it is quick; the keeper makes more at once.
  static constexpr std::uint64_t first_slots = 8192;

  // Makes the file under a temporary name, writes the header (`fixed` is completed with slots_max
  // and checksum) and gives it its name: <stem>.hwj, or <stem>.<pid>.hwj where that is taken.
  int create(const Settings& settings, event::HeaderFields fixed);

  // Allocates and pre-faults room up to `slots` or the bound, then raises the limit. An error
  // (ENOSPC, EDQUOT, EFBIG…) leaves everything as it was.
  int grow_to(std::uint64_t slots);

  // Ends recording: nothing can be reserved afterwards, the file is cut. The mapping stays for
  // threads that are in the middle of a record, its unused part is given back.
  void seal();
  // Ends it for this process alone: forked children may go on as long as there is room.
  void close_shared();
  // Forgets the file without touching it: in a child, it is the parent's.
  void abandon();

  [[nodiscard]] event::JournalHeader* header() const { return header_; }
  [[nodiscard]] std::uint64_t slots_max() const { return slots_max_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  int map(std::uint64_t max_bytes);
  int publish(const Settings& settings, const std::string& temporary);
  int allocate(std::uint64_t from, std::uint64_t to);
  int fill(std::uint64_t from, std::uint64_t to);
  int populate(std::uint64_t from, std::uint64_t to);
  void release_mapping();

  base::UniqueFd fd_;
  event::JournalHeader* header_ = nullptr;
  std::uint64_t mapped_bytes_ = 0;
  std::uint64_t slots_max_ = 0;
  std::string path_;
};

}  // namespace headway::record
