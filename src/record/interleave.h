// Runs code over every order in which its threads' accesses to shared memory can fall. For tests.
//
// Shared memory is a row of 64-bit words and is touched through Cell, each call of which is one
// access. A thread is a list of tasks that are functions of what they read, nothing else. To take a
// thread one access further, its task is run from its beginning: accesses already made give back
// what they gave, the next one is made, and the one after throws. So a state is a value (the words,
// and each thread's readings within its task), no real threads or schedulers are involved, and
// equal states are explored once, which makes "every order" affordable.
//
// The memory is sequentially consistent: what a weaker order would allow is not explored. One
// thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace headway::record::interleave {

using Words = std::vector<std::uint64_t>;
using Task = std::function<void()>;
using Thread = std::vector<Task>;

struct Paused {};
struct Broken {
  std::string why;
};

// The task that is being run, up to its first new access.
struct Turn {
  Words* words;
  Words* seen;  // what the task's accesses gave so far
  std::size_t replayed = 0;
  bool taken = false;
};
inline Turn* g_turn = nullptr;

// No task that ends needs as many, whatever the others do.
inline constexpr std::size_t accesses_max = 100;

// The next access of the task: what the word held before `change`.
template <typename Change>
std::uint64_t access(std::size_t index, Change change) {
  Turn& turn = *g_turn;
  if (turn.replayed < turn.seen->size()) return (*turn.seen)[turn.replayed++];
  if (turn.taken) throw Paused{};
  if (turn.replayed == accesses_max) throw Broken{"a task that does not end"};
  if (index >= turn.words->size()) throw Broken{"an access beyond the journal's end"};
  std::uint64_t& word = (*turn.words)[index];
  const std::uint64_t old = word;
  change(word);
  turn.taken = true;
  turn.seen->push_back(old);
  ++turn.replayed;
  return old;
}

// Stands for std::atomic<std::uint64_t> as well as for a plain field.
class Cell {
 public:
  explicit Cell(std::size_t index) : index_(index) {}

  std::uint64_t load(std::memory_order = std::memory_order_seq_cst) const {
    return access(index_, [](std::uint64_t&) {});
  }
  void store(std::uint64_t value, std::memory_order = std::memory_order_seq_cst) {
    access(index_, [value](std::uint64_t& word) { word = value; });
  }
  std::uint64_t fetch_add(std::uint64_t n, std::memory_order = std::memory_order_seq_cst) {
    return access(index_, [n](std::uint64_t& word) { word += n; });
  }
  std::uint64_t fetch_or(std::uint64_t bits, std::memory_order = std::memory_order_seq_cst) {
    return access(index_, [bits](std::uint64_t& word) { word |= bits; });
  }
  bool compare_exchange_weak(std::uint64_t& expected, std::uint64_t desired,
                             std::memory_order = std::memory_order_seq_cst) {
    const std::uint64_t wanted = expected;
    expected = access(index_, [wanted, desired](std::uint64_t& word) {
      if (word == wanted) word = desired;
    });
    return expected == wanted;
  }
  bool compare_exchange_strong(std::uint64_t& expected, std::uint64_t desired,
                               std::memory_order order = std::memory_order_seq_cst) {
    return compare_exchange_weak(expected, desired, order);
  }

  // A field of a slot is stored once in its life: a second store is a second owner.
  void operator=(std::uint64_t value) {
    access(index_, [value](std::uint64_t& word) {
      if (word != 0) throw Broken{"a slot is written twice"};
      word = value;
    });
  }

 private:
  std::size_t index_;
};

// The field that makes the others valid. Orders are not explored, so the right one is demanded.
class CommitCell {
 public:
  explicit CommitCell(std::size_t index) : cell_(index) {}
  void operator=(std::uint64_t) { throw Broken{"a commit that is not atomic"}; }
  void store(std::uint64_t value, std::memory_order order) {
    if (order != std::memory_order_release && order != std::memory_order_seq_cst) {
      throw Broken{"a commit without release order"};
    }
    cell_ = value;
  }

 private:
  Cell cell_;
};

struct Outcome {
  std::string broken;  // why, and after which order of threads; empty: no order breaks anything
  std::size_t states = 0;
};

// `check` says what is wrong with a state, `end` being true when all threads have finished.
using Check = std::function<std::string(const Words&, bool end)>;

class Explorer {
 public:
  Explorer(std::vector<Thread> threads, Check check)
      : threads_(std::move(threads)), check_(std::move(check)) {}

  Outcome run(Words words) {
    visit(State{std::move(words), std::vector<Place>(threads_.size())});
    return {broken_, known_.size()};
  }

 private:
  struct Place {
    std::size_t task = 0;
    Words seen;
  };
  struct State {
    Words words;
    std::vector<Place> places;
  };

  // Depth first, to the first breakage. As deep as there are accesses in one order.
  void visit(const State& state) {
    if (!broken_.empty() || !known_.insert(key(state)).second) return;
    bool end = true;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      end = end && state.places[i].task == threads_[i].size();
    }
    if (const std::string why = check_(state.words, end); !why.empty()) return fail(why);
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (state.places[i].task == threads_[i].size()) continue;
      order_.push_back(static_cast<char>('1' + i));
      State next = state;
      if (advance(next, i)) visit(next);
      order_.pop_back();
    }
  }

  bool advance(State& state, std::size_t i) {
    Place& place = state.places[i];
    Turn turn{&state.words, &place.seen};
    g_turn = &turn;
    try {
      threads_[i][place.task]();
      ++place.task;
      place.seen.clear();
    } catch (const Paused&) {
    } catch (const Broken& broken) {
      fail(broken.why);
    }
    g_turn = nullptr;
    return broken_.empty();
  }

  void fail(const std::string& why) {
    if (broken_.empty()) broken_ = why + "; threads in the order " + order_;
  }

  static std::string key(const State& state) {
    std::string bytes;
    const auto add = [&bytes](const Words& words) {
      bytes.push_back(static_cast<char>(words.size()));
      bytes.append(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(words[0]));
    };
    add(state.words);
    for (const Place& place : state.places) {
      bytes.push_back(static_cast<char>(place.task));
      add(place.seen);
    }
    return bytes;
  }

  std::vector<Thread> threads_;
  Check check_;
  std::unordered_set<std::string> known_;
  std::string order_;
  std::string broken_;
};

}  // namespace headway::record::interleave

// What commit() of core.h makes of a slot's last field.
template <>
struct std::atomic_ref<headway::record::interleave::CommitCell> {
  explicit atomic_ref(headway::record::interleave::CommitCell& cell) : cell_(cell) {}
  void store(std::uint64_t value, std::memory_order order = std::memory_order_seq_cst) const {
    cell_.store(value, order);
  }

 private:
  headway::record::interleave::CommitCell& cell_;
};
