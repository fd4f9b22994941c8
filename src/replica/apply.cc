#include "replica/apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/crc32c_patch.h"
#include "checkpoint/delta.h"
#include "replica/copy_team.h"
#include "replica/slot_pieces.h"

namespace headway::replica {
namespace {

using base::Status;
using checkpoint::StoredPiece;

// Changes bytes of an image, and the checksums of its chunks with them.
class Patch {
 public:
  // Parts that lie `stride` bytes apart are its strength.
  Patch(Slot& slot, const SlotFacts& facts, std::uint64_t stride)
      : slot_(slot), facts_(facts), stride_(stride) {
    const std::uint64_t count = std::min(chunk_bytes / stride_, powers_max) + 1;
    const std::uint32_t one = base::crc32c_power(stride_);
    powers_.push_back(base::crc32c_power(0));
    while (powers_.size() < count) powers_.push_back(base::crc32c_times(powers_.back(), one));
  }

  void put(std::uint64_t at, const std::byte* from, std::uint64_t bytes) {
    while (bytes > 0) {
      find_chunk(at);
      const std::uint64_t piece = std::min(bytes, chunk_.end - at);
      std::byte* const to = slot_.image().data() + at;
      const std::uint32_t change = base::crc32c(to, piece) ^ base::crc32c(from, piece);
      std::memcpy(to, from, piece);
      const std::uint64_t behind = chunk_.end - at - piece;
      if (change != 0) slot_.checksums()[index_] ^= moved(change, behind);
      at += piece;
      from += piece;
      bytes -= piece;
    }
  }

 private:
  static constexpr std::uint64_t powers_max = 1 << 16;

  std::uint32_t moved(std::uint32_t change, std::uint64_t behind) {
    const std::uint64_t strides = std::min<std::uint64_t>(behind / stride_, powers_.size() - 1);
    const std::uint64_t rest = behind - strides * stride_;
    if (rest != rest_) {
      rest_ = rest;
      rest_power_ = base::crc32c_power(rest);
    }
    return base::crc32c_times(base::crc32c_times(change, powers_[strides]), rest_power_);
  }

  // Chunks are cut from the beginning of each of the two parts.
  void find_chunk(std::uint64_t at) {
    if (at >= chunk_.begin && at < chunk_.end) return;
    const bool own = at < facts_.own.end;
    const Range& part = own ? facts_.own : facts_.rest;
    const std::uint64_t number = (at - part.begin) / chunk_bytes;
    chunk_.begin = part.begin + number * chunk_bytes;
    chunk_.end = std::min(part.end, chunk_.begin + chunk_bytes);
    const std::uint64_t before = own ? 0 : (facts_.own.bytes() + chunk_bytes - 1) / chunk_bytes;
    index_ = static_cast<std::size_t>(before + number);
  }

  Slot& slot_;
  const SlotFacts facts_;
  const std::uint64_t stride_;
  std::vector<std::uint32_t> powers_;
  std::uint64_t rest_ = 0;
  std::uint32_t rest_power_ = base::crc32c_power(0);
  Range chunk_{};
  std::size_t index_ = 0;
};

struct RowsToPut {
  std::span<const std::int64_t> ids;  // of the whole table
  std::uint64_t first = 0;            // the image's first row of it
  std::uint64_t to = 0;               // where in the image that row lies
  const std::byte* from = nullptr;
  std::uint64_t row_bytes = 0;
};
struct WholeToPut {
  std::uint64_t to = 0;
  const std::byte* from = nullptr;
  std::uint64_t bytes = 0;
};
struct Plan {
  std::vector<RowsToPut> tables;
  std::vector<WholeToPut> whole;
};

bool same_but_rows(const checkpoint::Piece& table, const checkpoint::Piece& rows) {
  const auto same = [](const auto& a, const auto& b) {
    return a.size() == b.size() && std::equal(a.begin() + 1, a.end(), b.begin() + 1);
  };
  return !table.shape.empty() && table.dtype == rows.dtype && same(table.shape, rows.shape) &&
         same(table.offsets, rows.offsets);
}

base::Result<Plan> plan(const Slot& base, const SlotFacts& before, const Slot& rows,
                        const SlotFacts& facts) {
  auto there = pieces_of(base, before);
  if (!there.ok()) return there.status();
  auto given = pieces_of(rows, facts);
  if (!given.ok()) return given.status();
  auto sorted = checkpoint::sort_delta(*given, rows.path());
  if (!sorted.ok()) return sorted.status();
  std::map<std::string_view, const StoredPiece*> by_name;
  for (const StoredPiece& stored : *there) by_name[stored.piece.name] = &stored;
  const auto misfit = [&](const std::string& name) {
    return Status::corrupt(
        fmt::format("{}: {} does not fit into {}", rows.path(), name, base.path()));
  };
  const std::byte* const image = rows.image().data();
  Plan plan;
  for (const StoredPiece& piece : sorted->whole) {
    const auto found = by_name.find(piece.piece.name);
    const bool fits = found != by_name.end() && found->second->piece.dtype == piece.piece.dtype &&
                      found->second->piece.shape == piece.piece.shape &&
                      found->second->piece.offsets == piece.piece.offsets;
    if (!fits) return misfit(piece.piece.name);
    plan.whole.push_back({found->second->begin, image + piece.begin, piece.end - piece.begin});
  }
  for (const checkpoint::TableRows& table : sorted->tables) {
    const auto found = by_name.find(table.name);
    if (found == by_name.end() || !same_but_rows(found->second->piece, table.rows.piece)) {
      return misfit(table.name);
    }
    const checkpoint::Piece& piece = found->second->piece;
    const std::uint64_t count = table.ids.piece.shape[0];
    if (count == 0) continue;
    const std::uint64_t first = piece.offsets[0];
    const std::span ids(reinterpret_cast<const std::int64_t*>(image + table.ids.begin), count);
    Status status = checkpoint::check_ids(ids, first + piece.shape[0], rows.path(), table.name);
    if (!status.ok()) return status;
    if (static_cast<std::uint64_t>(ids[0]) < first) return misfit(table.name);
    const std::uint64_t row_bytes = (table.rows.end - table.rows.begin) / count;
    if (row_bytes == 0) continue;
    plan.tables.push_back({ids, first, found->second->begin, image + table.rows.begin, row_bytes});
  }
  return plan;
}

void put_rows(Patch& patch, const RowsToPut& rows, std::byte* image) {
  constexpr std::size_t kAhead = 8;
  const auto place = [&](std::size_t i) {
    return rows.to + (static_cast<std::uint64_t>(rows.ids[i]) - rows.first) * rows.row_bytes;
  };
  for (std::size_t i = 0; i < rows.ids.size(); ++i) {
    if (i + kAhead < rows.ids.size()) __builtin_prefetch(image + place(i + kAhead), 1);
    patch.put(place(i), rows.from + i * rows.row_bytes, rows.row_bytes);
  }
}

void sum_again(Slot& slot, const SlotFacts& facts) {
  const auto chunks = chunks_of(facts.own, facts.rest);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    slot.checksums()[i] = base::crc32c(slot.image().data() + chunks[i].begin, chunks[i].bytes());
  }
}

}  // namespace

bool come_next(const SlotFacts& base, bool applying, const SlotFacts& rows) {
  if (rows.since == 0 || base.since != 0) return false;
  return base.sequence == rows.since || (applying && base.sequence == rows.sequence);
}

bool are_in(const SlotFacts& base, bool applying, const SlotFacts& rows) {
  return rows.since != 0 && base.since == 0 && !applying && base.sequence == rows.sequence &&
         base.attempt == rows.attempt && base.step == rows.step;
}

Status apply(Slot& base, const Slot& rows) {
  const auto facts = rows.facts();
  const bool again = base.state() == SlotState::applying;
  const auto before = again ? base.facts_before() : base.facts();
  if (facts && before && are_in(*before, again, *facts)) return {};
  if (!facts || !before || !come_next(*before, again, *facts)) {
    return Status::corrupt(rows.path() + ": not the rows that come next for " + base.path());
  }
  CopyTeam alone(1);
  if (Status status = rows.verify(*facts, alone); !status.ok()) return status;
  auto changes = plan(base, *before, rows, *facts);
  if (!changes.ok()) return changes.status();
  if (!base.try_apply()) return Status::corrupt(base.path() + ": in use");
  for (const RowsToPut& table : changes->tables) {
    Patch patch(base, *before, table.row_bytes);
    put_rows(patch, table, base.image().data());
  }
  Patch patch(base, *before, chunk_bytes);
  for (const WholeToPut& whole : changes->whole) patch.put(whole.to, whole.from, whole.bytes);
  if (again) sum_again(base, *before);
  SlotFacts after = *facts;
  after.since = 0;
  after.own = before->own;
  after.rest = before->rest;
  after.layout_hash = before->layout_hash;
  base.applied(after);
  return {};
}

}  // namespace headway::replica
