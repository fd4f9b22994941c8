// What attempts came to, as rows for a data frame: one for each attempt, or one for each attempt
// and day. Columns and their types are a promise (docs/formats/export.md): new ones come at the
// end. One thread; holds one row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/fact.h"
#include "interchange/out_file.h"
#include "interchange/shown_names.h"

namespace headway::interchange {

enum class RowKind : std::uint8_t { attempts, days };
enum class RowFormat : std::uint8_t { csv, jsonl };

class RowWriter {
 public:
  // CSV begins with its header, also where no row follows. `rule`: what of each text is written.
  RowWriter(OutFile& out, RowKind kind, RowFormat format, TextRule rule = {});

  // The attempts of one job.
  void add(std::string_view job, std::span<const fleet::AttemptFacts> attempts);
  [[nodiscard]] std::uint64_t rows() const { return rows_; }

  [[nodiscard]] static std::vector<std::string> columns(RowKind kind);

 private:
  OutFile& out_;
  const RowKind kind_;
  const RowFormat format_;
  const TextRule rule_;
  std::uint64_t rows_ = 0;
};

}  // namespace headway::interchange
