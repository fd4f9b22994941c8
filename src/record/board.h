// How the ranks of a job stop after the same step. One small file, mapped by the agent and by the
// ranks of one machine: docs/formats/board.md.
//
// A rank says at each step's end which one it has finished, and is told whether to stop. The agent
// proposes a step that no rank has reached. A rank that gets there while it is only a proposal
// waits for the decision; one that was beyond it already is seen by the agent, which then proposes
// a later one. Each side writes its own word before it reads the other's (sequentially consistent),
// so one of the two always sees the other: no two ranks ever stop after different steps.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "base/status.h"

namespace headway::record {

inline constexpr std::int64_t kNoStep = std::numeric_limits<std::int64_t>::min();
inline constexpr char kBoardMagic[8] = {'H', 'W', 'B', 'O', 'A', 'R', 'D', '1'};

struct BoardHeader {
  char magic[8];
  std::uint32_t slots;
  enum State : std::uint32_t { running = 0, proposed = 1, decided = 2 };
  std::atomic<std::uint32_t> state;
  std::atomic<std::int64_t> step;  // to stop after
  char pad[40];
};
static_assert(sizeof(BoardHeader) == 64);

struct alignas(64) BoardSlot {
  std::atomic<std::int64_t> finished;  // kNoStep: this rank has never asked
  char pad[56];
};
static_assert(sizeof(BoardSlot) == 64);

class Board {
 public:
  static constexpr std::uint32_t slots_max = 4096;
  // A decision takes some round trips between machines, or the agent's patience with them; after
  // this a rank trains on.
  static constexpr std::int64_t wait_max_ns = 30'000'000'000;

  Board() = default;
  Board(Board&& other) noexcept;
  Board& operator=(Board&& other) noexcept;
  ~Board();

  // The agent's: makes the file anew.
  static base::Result<Board> create(const std::string& path, std::uint32_t slots);
  // A rank's: an error is a file that is none.
  static base::Result<Board> open(const std::string& path);
  [[nodiscard]] bool valid() const { return header_ != nullptr; }
  [[nodiscard]] std::uint32_t slots() const { return slots_; }

  // A rank's, after each step: stop now? May wait while the others are asked.
  bool should_stop(std::uint32_t slot, std::int64_t step);

  // The agent's. Has this rank ever asked?
  [[nodiscard]] bool asks(std::uint32_t slot) const;
  // The latest step that any rank has finished; none: nobody asks.
  [[nodiscard]] std::optional<std::int64_t> latest() const;
  // Binding from here on: true if nobody is at or beyond `step` yet.
  bool propose(std::int64_t step);
  void decide();
  // All ranks of this machine alone: proposes until it holds, and decides. The step, if any asks.
  std::optional<std::int64_t> stop_soon();

 private:
  [[nodiscard]] BoardSlot& slot(std::uint32_t index) const;

  BoardHeader* header_ = nullptr;
  std::uint32_t slots_ = 0;
  std::size_t bytes_ = 0;
};

// The board and the place on it that the launcher gave this rank (HEADWAY_BOARD, LOCAL_RANK); an
// invalid board where there is none.
struct BoardSeat {
  Board board;
  std::uint32_t slot = 0;
};
BoardSeat board_from_environment();

}  // namespace headway::record
