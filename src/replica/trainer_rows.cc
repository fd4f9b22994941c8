// The part of Trainer that saves only what changed.
#include <algorithm>

#include "base/check.h"
#include "checkpoint/delta.h"
#include "replica/trainer.h"

namespace headway::replica {
namespace {

using base::Result;
using base::Status;

// One that the holder writes to disk, one that it puts into the image, one to write into.
constexpr std::uint32_t kRowsSlots = 3;
// Of the tables' bytes there is room for from the beginning, so that the first saves need not wait.
constexpr std::uint64_t kFirstShare = 16;

}  // namespace

bool Trainer::has_image() {
  const auto slots = link_.slots();
  return std::any_of(slots.begin(), slots.end(), [this](const std::shared_ptr<Slot>& slot) {
    const SlotState state = slot->state();
    return slot->path() == image_ && (state == SlotState::sealed || state == SlotState::pinned ||
                                      state == SlotState::applying);
  });
}

Result<bool> Trainer::plan_rows(const std::vector<Table>& tables, bool persist) {
  HW_CHECK(stage_ != nullptr);
  auto rows = std::make_unique<Rows>();
  rows->tables = tables;
  rows->persist = persist;
  std::vector<ImagePiece> pieces;
  std::vector<bool> is_table(pieces_.size());
  std::uint64_t table_bytes = 0;
  for (const Table& table : tables) {
    const ImagePiece& whole = pieces_.at(table.piece);
    is_table[table.piece] = true;
    table_bytes += stage_->plan().places[table.piece].bytes();
    // With nothing on disk to follow, the holder writes the image.
    rows->ids.push_back(table.changed->due(persist && saved_ != 0));
    rows->whole_ids.push_back(rows->ids.back());
    for (std::int64_t& id : rows->whole_ids.back()) {
      id += static_cast<std::int64_t>(whole.piece.offsets[0]);
    }
    const auto two = checkpoint::row_pieces(whole.piece, rows->ids.back().size());
    pieces.push_back({two.ids, whole.own});
    pieces.push_back({two.rows, whole.own});
  }
  std::uint64_t dense_bytes = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (is_table[i]) continue;
    rows->pieces.push_back(i);
    pieces.push_back(pieces_[i]);
    dense_bytes += stage_->plan().places[i].bytes();
  }
  auto plan = plan_image(pieces);
  if (!plan.ok()) return plan.status();
  rows->places.resize(pieces_.size());
  for (std::size_t i = 0; i < rows->pieces.size(); ++i) {
    rows->places[rows->pieces[i]] = plan->places[2 * tables.size() + i];
  }
  const std::uint64_t bytes = plan->bytes;
  rows->stage = std::make_unique<Stage>(std::move(*plan));
  rows_ = std::move(rows);
  const std::uint64_t most = stage_->plan().bytes / 2;
  const bool fits = bytes <= most;
  if (fits && bytes > room_.rows_bytes) {
    const std::uint64_t first = dense_bytes + table_bytes / kFirstShare;
    room_.rows_bytes = std::min(most, std::max(first, bytes + bytes / 2));
    room_.rows_count = kRowsSlots;
    link_.reserve(room_);
  }
  if (link_.take_wants_whole()) image_.clear();
  return fits && has_image();
}

// Only empty ones: what is sealed may not be in the image yet.
std::shared_ptr<Slot> Trainer::find_free_for_rows() {
  const std::uint64_t bytes = rows_->stage->plan().bytes;
  for (const auto& slot : link_.slots()) {
    const bool free = slot->state() == SlotState::empty || slot->state() == SlotState::writing;
    if (free && slot->capacity() >= bytes && slot->capacity() < stage_->plan().bytes) return slot;
  }
  return nullptr;
}

bool Trainer::wait_for_rows_slot(std::int64_t wait_ns) {
  HW_CHECK(rows_ != nullptr);
  // What rows would follow may be lost meanwhile: then a whole step has to come first.
  const auto is_cut_off = [this] { return link_.wants_whole() || !has_image(); };
  const auto found = [&] { return is_cut_off() || find_free_for_rows() != nullptr; };
  return wait_for(found, wait_ns) && !is_cut_off();
}

std::shared_ptr<Slot> Trainer::begin_rows() {
  HW_CHECK(rows_ != nullptr);
  auto slot = find_free_for_rows();
  return slot && slot->try_begin() ? slot : nullptr;
}

void Trainer::fill_rows(const std::shared_ptr<Slot>& slot, const Step& step,
                        std::span<const Source> sources) {
  HW_CHECK(rows_ != nullptr && rows_->persist == step.persist && sources.size() == pieces_.size());
  std::vector<Source> chosen;
  for (std::size_t i = 0; i < rows_->tables.size(); ++i) {
    const std::size_t piece = rows_->tables[i].piece;
    const std::uint64_t table_rows = pieces_[piece].piece.shape[0];
    const std::uint64_t row_bytes =
        stage_->plan().places[piece].bytes() / std::max<std::uint64_t>(1, table_rows);
    chosen.push_back({.at = reinterpret_cast<const std::byte*>(rows_->whole_ids[i].data())});
    chosen.push_back({sources[piece].at, rows_->ids[i], row_bytes});
  }
  for (const std::size_t piece : rows_->pieces) chosen.push_back(sources[piece]);
  rows_->stage->fill(*slot, chosen, team_);
  seal(slot, step, rows_->stage->plan(), sequence_);
  rows_.reset();
}

}  // namespace headway::replica
