// The rows of a table that changed and are not safe yet. Two ways to be safe: in the replica, and
// asked to the disk; a save that goes to the disk has all rows since the last one that did, so that
// on disk too each follows the one before. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "replica/row_set.h"

namespace headway::replica {

class ChangedRows {
 public:
  explicit ChangedRows(std::uint64_t rows) : staged_(rows), saved_(rows) {}

  [[nodiscard]] std::uint64_t rows() const { return staged_.rows(); }
  template <typename Ids>
  void mark(Ids ids) {
    staged_.mark(ids);
  }
  void mark_all() { staged_.mark_all(); }

  // What a save has to hold.
  [[nodiscard]] std::vector<std::int64_t> due(bool persist) const {
    if (!persist) return staged_.list();
    RowSet both = staged_;
    both.add(saved_);
    return both.list();
  }
  // It is sealed.
  void sealed(bool persist) {
    if (persist) {
      saved_.clear();
    } else {
      saved_.add(staged_);
    }
    staged_.clear();
  }

 private:
  RowSet staged_;  // since the last seal
  RowSet saved_;   // since the last that went to the disk, up to that seal
};

}  // namespace headway::replica
