// How all ranks come to stop after the same step when a machine is about to be taken away. Pure;
// one lives inside the coordinator's core and is reset with every generation.
//
//   idle ──begin──▶ asking ──all boundaries──▶ proposing ──all accepted──▶ agreed
//                                                 ▲   │ somebody is at or past P
//                                                 └───┘ a higher P
//
// An acceptance binds: who accepts P lets no rank of his go past P until the final word or a higher
// proposal, so that the final P is one that nobody has passed. The margin leaves the ranks running
// while the messages travel; it doubles with every proposal that came too late, so few are needed.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace headway::cluster {

class DrainCore {
 public:
  static constexpr std::uint32_t proposals_max = 32;  // then it is abandoned: grace runs out anyway

  struct ProposeStep {
    std::uint64_t step;
  };
  struct FinalStep {
    std::uint64_t step;
  };
  // What to tell all nodes now.
  using Word = std::optional<std::variant<ProposeStep, FinalStep>>;

  explicit DrainCore(std::uint64_t margin_steps) : margin_steps_(margin_steps) {}

  void reset();
  // False: one is under way already.
  bool begin(std::uint32_t nodes);
  Word on_boundary(std::uint32_t node_rank, std::uint64_t step);
  Word on_accept(std::uint32_t node_rank, std::uint64_t step);
  Word on_raise(std::uint32_t node_rank, std::uint64_t step);
  // The node's ranks have all ended well: it agrees with everything from now on.
  Word on_finished(std::uint32_t node_rank);

  [[nodiscard]] bool active() const { return state_ != State::idle; }
  [[nodiscard]] bool agreed() const { return state_ == State::agreed; }
  // What a node that has just come back needs to hear again.
  [[nodiscard]] Word current() const;

 private:
  enum class State : std::uint8_t { idle, asking, proposing, agreed, abandoned };
  enum class Answer : std::uint8_t { missing, given, excused };

  Word settle();
  Word propose();

  std::uint64_t margin_steps_;
  State state_ = State::idle;
  std::vector<Answer> answers_;
  std::uint32_t missing_ = 0;
  bool raised_ = false;  // the proposal under way has failed; wait for the other answers
  std::uint64_t highest_step_ = 0;
  std::uint64_t proposed_step_ = 0;
  std::uint32_t proposals_ = 0;
};

}  // namespace headway::cluster
