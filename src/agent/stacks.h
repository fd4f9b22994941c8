// Where ranks stand: their stacks, taken from outside, and which of them keeps the others waiting.
// Taking them reads files and starts processes; the rest is pure. Main thread only.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/environment.h"
#include "agent/rank_progress.h"

namespace headway::agent {

// What ranks answer with their stacks; the hook registers it with faulthandler.
int stacks_signal();
// <attempt>/stacks-0.txt
std::string stacks_path(const std::string& attempt_dir, int rank);

struct StackRequest {
  int rank = 0;
  pid_t pid = 0;
  bool hooked = false;  // it answers the signal
};
// Fills stacks-<rank>.txt of every rank: by py-spy, native frames included, where it is found on
// PATH or beside the interpreter and may look; by faulthandler otherwise. Bounded in time;
// `meanwhile` is called every few milliseconds of it.
void take_stacks(const std::vector<StackRequest>& ranks, const std::string& attempt_dir,
                 const std::string& python, const Environment& environment,
                 const std::function<void()>& meanwhile);

// Ranks open the files to have them at hand; nobody needs to see the empty ones.
void remove_empty_stacks(const std::string& attempt_dir, int first_rank, int ranks);

// Innermost first; "" as function where it is not told.
struct Frame {
  std::string function;
  std::string file;
  int line = 0;
};
// Of the main thread, from py-spy's or faulthandler's text; the last dump in it.
std::vector<Frame> main_thread(std::string_view text);
// Does it stand in a collective or behind one, waiting for others?
bool waits_for_peers(const std::vector<Frame>& frames);
// "train.py:33 (load)": the innermost frame that is not a library's.
std::string place_of(const std::vector<Frame>& frames);

// Index of the rank that the others wait for: who has finished fewer steps; else who does not wait;
// else who fell silent first.
std::size_t find_laggard(const std::vector<RankState>& ranks,
                         const std::vector<std::vector<Frame>>& stacks);

}  // namespace headway::agent
