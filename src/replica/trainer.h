// What a trainer does with its replica: stage a step, and as the successor of one that died, go on
// from what was staged. One thread at a time; nothing here needs the caller's interpreter.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "replica/backup.h"
#include "replica/changed_rows.h"
#include "replica/copy_team.h"
#include "replica/link.h"
#include "replica/stage.h"

namespace headway::replica {

// A whole step in memory.
struct Whole {
  std::shared_ptr<Slot> slot;
  SlotFacts facts;
};

class Trainer {
 public:
  Trainer(LinkOptions options, unsigned threads);

  // The state's layout from now on; memory for so many slots is asked for.
  base::Status plan(const std::vector<ImagePiece>& pieces, std::uint32_t slots);
  [[nodiscard]] const Stage* stage() const { return stage_.get(); }

  // Waits at most so long until begin() finds a slot. False: all are pinned, or not there yet;
  // refusal() may say why. What was refused before is asked for again: there may be room by now.
  bool wait_for_slot(std::int64_t wait_ns);
  // A slot to write into, or none. The newest whole step is never given away.
  std::shared_ptr<Slot> begin();
  // Copies the state into the slot and seals it. `sources` as in Stage::fill().
  struct Step {
    std::uint64_t step = 0;
    std::int64_t data = 0;
    std::int64_t time_ns = 0;
    bool persist = false;  // to disk as well, in the background
  };
  void fill(const std::shared_ptr<Slot>& slot, const Step& step, std::span<const Source> sources);

  // ---- Only what changed: rows of tables, and everything else in full. The holder puts it into
  // the image that the last fill() left, so a few slots of a fraction of its size are enough.

  // This piece of the plan is a table, and those rows of it have changed.
  struct Table {
    std::size_t piece = 0;
    ChangedRows* changed = nullptr;
  };
  // The layout of the next save of rows. False: it has to be a whole one, because there is no image
  // yet, or too much has changed. After plan(), and then for each save; the tables outlive it.
  base::Result<bool> plan_rows(const std::vector<Table>& tables, bool persist);
  // Where in the slot each piece of the plan goes; nowhere for tables.
  [[nodiscard]] const std::vector<Range>& rows_places() const { return rows_->places; }
  // As wait_for_slot(). False, too, when rows can no longer be saved: plan_rows() says so then.
  bool wait_for_rows_slot(std::int64_t wait_ns);
  std::shared_ptr<Slot> begin_rows();
  // `sources` as for fill(): of a table, where its first row lies.
  void fill_rows(const std::shared_ptr<Slot>& slot, const Step& step,
                 std::span<const Source> sources);

  [[nodiscard]] std::string refusal() const { return link_.refusal(); }
  void bye() { link_.bye(); }
  void look() { link_.look(); }
  void found_damaged(std::vector<std::string> names) { link_.found_damaged(std::move(names)); }

  // What the predecessor left, the newest first. Waits for the holder's answer.
  std::vector<Whole> left_behind(std::int64_t wait_ns);
  // Slots that were a dead process's own memory are free again. Not after adopt().
  void free_live();
  // What the predecessor left is given up, but for what is on its way to the disk.
  void forget();
  base::Status verify(const Whole& whole) { return whole.slot->verify(whole.facts, team_); }
  // The step as memory of our own: the slot itself, of which a copy is made beside (backup.h), or
  // where that is on its way to the disk a copy of it. None: there is no second slot for that.
  // Before the memory is changed comes settle(). `on_disk`: the step is, and needs no other copy.
  // `persist`: the copy gets there in the background. All ranks say so, or none.
  std::shared_ptr<Slot> adopt(const Whole& whole, bool on_disk = false, bool persist = false);
  // To the disk as it is, where it was not adopted.
  void persist(const Whole& whole);
  // Waits for that copy. False: it is not over.
  bool settle(std::int64_t wait_ns);
  // Was the memory changed before the copy was whole? Asked for once.
  bool take_changed_early() { return std::exchange(changed_early_, false); }

 private:
  std::vector<Whole> whole_ones();
  std::shared_ptr<Slot> find_free(std::uint64_t bytes, const Slot* but = nullptr);
  std::shared_ptr<Slot> find_free_for_rows();
  [[nodiscard]] bool has_image();
  bool wait_for(const std::function<bool()>& found, std::int64_t wait_ns);
  void seal(const std::shared_ptr<Slot>& slot, const Step& step, const ImagePlan& plan,
            std::uint64_t since);

  struct Rows {
    std::unique_ptr<Stage> stage;
    std::vector<Table> tables;
    bool persist = false;
    std::vector<Range> places;                   // of the pieces of the whole plan
    std::vector<std::size_t> pieces;             // of the rows' plan: which of the whole one's
    std::vector<std::vector<std::int64_t>> ids;  // of each table, counted from its first row
    std::vector<std::vector<std::int64_t>> whole_ids;  // counted in the whole table
  };

  Link link_;
  CopyTeam team_;
  std::unique_ptr<Stage> stage_;
  const Message hello_;
  std::vector<ImagePiece> pieces_;
  Link::Room room_;
  std::unique_ptr<Rows> rows_;
  std::uint64_t sequence_ = 0;
  std::uint64_t saved_ = 0;  // the sequence of the last one that was to get to the disk
  std::string image_;        // the slot that rows go into; "": there is none
  std::unique_ptr<Backup> backup_;
  bool changed_early_ = false;
};

}  // namespace headway::replica
