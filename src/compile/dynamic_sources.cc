#include "compile/dynamic_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "compile/dynamic_remedy.h"
#include "compile/recompile_reason.h"
#include "compile/trace_job.h"

namespace headway::compile {
namespace {

constexpr std::size_t kRemainingMax = 1000;

// Torch compiles apart for sizes of 0 and 1, whatever it is told.
bool is_special_size(std::int64_t size) {
  return size == 0 || size == 1;
}

// A layout is of the whole tensor, whichever of its strides change.
SourceDim at_of(const DynamicChange& change, Obstacle obstacle) {
  return {change.source, obstacle == Obstacle::strides ? -1 : change.dim};
}

void add_function(std::vector<std::string>& functions, const std::string& what) {
  if (functions.size() >= kFunctionsTold) return;
  if (std::find(functions.begin(), functions.end(), what) == functions.end()) {
    functions.push_back(what);
  }
}

// The compilations of one function in one process.
struct Frame {
  const ProcessLog* log = nullptr;
  std::vector<const Compile*> compiles;           // by their number
  std::map<SourceDim, std::int32_t> changed;      // and the first compilation that had it so
  std::map<std::string, SourceDim> by_short;      // "x:0" → L['x'], 0
  std::map<SourceDim, const DynamicChange*> how;  // the first change
  // Compilations that would not have been made, and the one that would have done in their place.
  std::map<std::int32_t, std::int32_t> replaced;
  std::string what;
};

std::string short_key(std::string_view name, std::int32_t dim) {
  return fmt::format("{}:{}", name, dim);
}

class Finder {
 public:
  Finder(const std::vector<ProcessLog>& logs, const std::set<SourceDim>& applied)
      : logs_(logs), applied_(applied) {}
  DynamicFindings run();

 private:
  void gather();
  void find_stubborn();
  void count(Frame& frame, std::int64_t& saved_us);
  void add_states();
  void tell_where_else();
  [[nodiscard]] bool is_kept_by_torch(const SourceDim& at) const;
  [[nodiscard]] bool is_helped(const Frame& frame, const RecompileReason& reason) const;
  [[nodiscard]] static bool asks_the_same(const Frame& frame, const Compile& compile,
                                          std::int32_t other);
  [[nodiscard]] std::optional<std::int32_t> served_by(const Frame& frame,
                                                      const Compile& compile) const;
  void keep_remaining(const Frame& frame, const Compile& compile);
  void add_unnamed(const DynamicChange& change, Obstacle obstacle, const std::string& what);

  const std::vector<ProcessLog>& logs_;
  const std::set<SourceDim>& applied_;
  std::vector<Frame> frames_;
  std::set<SourceDim> stubborn_;  // dynamic, and compiled for one size all the same
  std::set<SourceDim> changed_;   // anywhere
  std::set<std::string> many_shapes_;
  std::map<SourceDim, DynamicSource> sources_;
  std::map<std::pair<SourceDim, std::string>, UnnamedSource> unnamed_;
  std::map<std::pair<std::string, std::string>, std::size_t> remaining_;
  std::map<std::string, FunctionCompiles> functions_;
  DynamicFindings out_;
};

void Finder::gather() {
  for (const ProcessLog& log : logs_) {
    if (log.left_out > 0 || log.no_room > 0) out_.known_whole = false;
    std::map<std::pair<std::int32_t, std::int32_t>, Frame> frames;
    for (const Compile& compile : log.compiles) {
      Frame& frame = frames[{compile.id.autograd, compile.id.frame}];
      frame.log = &log;
      frame.compiles.push_back(&compile);
    }
    for (auto& [id, frame] : frames) {
      std::stable_sort(frame.compiles.begin(), frame.compiles.end(),
                       [](const Compile* a, const Compile* b) { return a->id < b->id; });
      for (const Compile* compile : frame.compiles) {
        if (frame.what.empty() && !compile->name.empty()) frame.what = what_of(*compile);
        for (const DynamicChange& change : compile->changes) {
          if (change.reason == "dimensionality change") many_shapes_.insert(change.source);
          if (obstacle_of(change) != Obstacle::none) continue;
          const SourceDim at{change.source, change.dim};
          frame.changed.emplace(at, applied_.contains(at) ? -1 : compile->id.compile);
          frame.how.emplace(at, &change);
          frame.by_short.emplace(short_key(short_source(at.source), at.dim), at);
          changed_.insert(at);
          out_.known.insert({change.source, change.dim < 0});
        }
      }
      frames_.push_back(std::move(frame));
    }
    for (const SourceUse& use : log.uses) out_.known.insert({use.source, use.number});
    for (const StateSource& state : log.code_state) {
      if (state.kind == StateKind::tensor) out_.known.insert({state.source, false});
      if (state.kind == StateKind::number) out_.known.insert({state.source, true});
    }
  }
}

// Torch by itself makes no number of a module dynamic, but does where it is told: that it was
// compiled for each value says nothing, unless it was told.
bool Finder::is_kept_by_torch(const SourceDim& at) const {
  return at.dim < 0 && at.source.find("].") != std::string::npos && !applied_.contains(at);
}

// It was dynamic in a compilation that could then not be used for another size.
void Finder::find_stubborn() {
  for (const Frame& frame : frames_) {
    for (const Compile* compile : frame.compiles) {
      for (const std::string& text : compile->recompile_reasons) {
        const auto reason = parse_recompile_reason(text);
        if (!reason || reason->kind == ReasonKind::other) continue;
        const auto at = frame.by_short.find(short_key(reason->name, reason->dim));
        if (at == frame.by_short.end()) continue;
        const bool special = reason->dim >= 0 && is_special_size(reason->expected);
        if (special || is_kept_by_torch(at->second)) continue;
        if (frame.changed.at(at->second) <= reason->entry.compile) {
          stubborn_.insert(at->second);
        }
      }
    }
  }
}

// Would this guard have held, had what it is about been dynamic?
bool Finder::is_helped(const Frame& frame, const RecompileReason& reason) const {
  if (reason.kind != ReasonKind::size && reason.kind != ReasonKind::number) return false;
  const auto at = frame.by_short.find(short_key(reason.name, reason.dim));
  if (at == frame.by_short.end() || stubborn_.contains(at->second)) return false;
  return reason.kind != ReasonKind::size ||
         !(is_special_size(reason.expected) || is_special_size(*reason.actual));
}

// Torch tells the first guard that fails: behind a size may be a number that is not whole, for
// which no name helps. Had the other one done for what this one was called with, it would not ask
// anything else of it.
bool Finder::asks_the_same(const Frame& frame, const Compile& compile, std::int32_t other) {
  const auto found =
      std::ranges::find(frame.compiles, other, [](const Compile* one) { return one->id.compile; });
  return found == frame.compiles.end() || (*found)->float_guards == compile.float_guards;
}

// Which earlier compilation would have done, had it been dynamic? It would then have had the guards
// of those that it replaces, too: one that failed in them for another reason fails in it.
std::optional<std::int32_t> Finder::served_by(const Frame& frame, const Compile& compile) const {
  for (const DynamicChange& change : compile.changes) {
    if (obstacle_of(change) != Obstacle::none) return {};
    if (stubborn_.contains({change.source, change.dim})) return {};
    if (change.dim < 0) continue;
    const auto was = whole_number(change.was), is = whole_number(change.is);
    if ((was && is_special_size(*was)) || (is && is_special_size(*is))) return {};
  }
  std::map<std::int32_t, bool> helped;
  for (const std::string& text : compile.recompile_reasons) {
    const auto reason = parse_recompile_reason(text);
    if (!reason) continue;
    const auto replaced = frame.replaced.find(reason->entry.compile);
    const std::int32_t entry =
        replaced != frame.replaced.end() ? replaced->second : reason->entry.compile;
    bool& all = helped.try_emplace(entry, asks_the_same(frame, compile, entry)).first->second;
    all = all && is_helped(frame, *reason);
  }
  const auto found = std::ranges::find_if(helped, [](const auto& one) { return one.second; });
  if (found == helped.end()) return {};
  return found->first;
}

void Finder::keep_remaining(const Frame& frame, const Compile& compile) {
  if (remaining_.size() >= kRemainingMax) return;
  std::string told = "no reason told";
  bool helped = true;      // the reason that is told: one that stays is told first
  bool is_behind = false;  // what asks_the_same() is about
  for (const std::string& text : compile.recompile_reasons) {
    const auto reason = parse_recompile_reason(text);
    is_behind |= reason && !asks_the_same(frame, compile, reason->entry.compile);
    const bool stays = reason && !is_helped(frame, *reason);
    if (&text != &compile.recompile_reasons.front() && (!stays || !helped)) continue;
    told = reason ? reason->text : text;
    helped = !stays;
  }
  if (helped) {  // torch tells the first guard that fails; what changes besides may be what stays
    const auto stays = std::ranges::find_if(compile.changes, [](const DynamicChange& change) {
      return obstacle_of(change) != Obstacle::none;
    });
    if (stays != compile.changes.end()) {
      told = fmt::format("{}: {}", stays->source, why(obstacle_of(*stays)));
    } else if (is_behind) {
      told = "a number that is not whole is another one, too";
    }
  }
  ++remaining_[{frame.what, told}];
}

void Finder::add_unnamed(const DynamicChange& change, Obstacle obstacle, const std::string& what) {
  const SourceDim at = at_of(change, obstacle);
  UnnamedSource& one = unnamed_[{at, std::string(why(obstacle))}];
  one.at = at;
  one.why = why(obstacle);
  one.function = what;
  one.code = remedy_line(obstacle, change, what);
  ++one.changes;
}

void Finder::count(Frame& frame, std::int64_t& saved_us) {
  FunctionCompiles& function = functions_[frame.what];
  function.what = frame.what;
  bool any = false;
  for (const Compile* compile : frame.compiles) {
    ++function.compiles;
    function.total_us += compile->total_us();
    if (!compile->is_recompile()) continue;
    ++function.again;
    if (const auto entry = served_by(frame, *compile)) {
      frame.replaced.emplace(compile->id.compile, *entry);
      any = true;
      ++function.saved;
      function.saved_us += compile->total_us();
      saved_us += compile->total_us();
    } else {
      keep_remaining(frame, *compile);
    }
    std::set<std::pair<SourceDim, Obstacle>> told;
    for (const DynamicChange& change : compile->changes) {
      const SourceDim at{change.source, change.dim};
      Obstacle obstacle = obstacle_of(change);
      // A layout that follows from a size that changes is no trouble of its own.
      if (obstacle == Obstacle::strides &&
          std::any_of(frame.changed.begin(), frame.changed.end(),
                      [&](const auto& one) { return one.first.source == change.source; })) {
        continue;
      }
      if (obstacle == Obstacle::none && stubborn_.contains(at)) obstacle = Obstacle::one_value;
      if (obstacle == Obstacle::none) continue;
      if (told.emplace(at_of(change, obstacle), obstacle).second) {
        add_unnamed(change, obstacle, frame.what);
      }
    }
  }
  if (!any) return;
  for (const auto& [at, when] : frame.changed) {
    if (stubborn_.contains(at)) continue;
    DynamicSource& source = sources_[at];
    source.at = at;
    ++source.changes;
    if (source.was.empty()) source.was = frame.how.at(at)->was;
    if (source.is.empty()) source.is = frame.how.at(at)->is;
    add_function(source.functions, frame.what);
  }
}

// What torch itself remembers of earlier processes: nothing of it was compiled again here.
void Finder::add_states() {
  for (const ProcessLog& log : logs_) {
    for (const StateSource& state : log.code_state) {
      std::vector<std::int32_t> dims = state.dynamic_dims;
      if (state.kind == StateKind::anything) {
        // It is a tensor whose number of dimensions changes, if it is known as a tensor.
        if (many_shapes_.contains(state.source) || out_.known.contains({state.source, false})) {
          continue;
        }
        dims = {-1};
      }
      for (const std::int32_t dim : dims) {
        const SourceDim at{state.source, dim};
        // Where its changes were seen, they have been judged.
        if (changed_.contains(at) || !is_lasting_name(state.source)) continue;
        DynamicSource& source = sources_[at];
        source.at = at;
        add_function(source.functions, state.function);
        out_.known.insert({state.source, dim < 0});
      }
    }
  }
}

void Finder::tell_where_else() {
  // Of each name, the functions in which it changes.
  std::map<std::string, std::set<std::string>> changes_in;
  for (const Frame& frame : frames_) {
    for (const auto& [at, when] : frame.changed) changes_in[at.source].insert(frame.what);
  }
  std::map<std::string, std::set<std::string>> used_in;
  for (const Frame& frame : frames_) {
    for (const SourceUse& use : frame.log->uses) {
      if (use.frame == frame.compiles.front()->id.frame) used_in[use.source].insert(frame.what);
    }
  }
  for (auto& [at, source] : sources_) {
    DynamicChange by_name;
    by_name.source = at.source;
    by_name.dim = at.dim;
    // Marked in the script, it is dynamic in the one function only.
    for (const std::string& what : used_in[at.source]) {
      const auto& told = source.functions;
      if (!changes_in[at.source].contains(what) &&
          std::find(told.begin(), told.end(), what) == told.end()) {
        add_function(source.also_in, what);
        source.code = remedy_line(Obstacle::none, by_name, source.functions.front());
      }
    }
  }
}

DynamicFindings Finder::run() {
  gather();
  find_stubborn();
  std::map<const ProcessLog*, std::int64_t> saved_us;
  for (Frame& frame : frames_) count(frame, saved_us[frame.log]);
  add_states();
  tell_where_else();
  out_.useless = stubborn_;
  for (auto& [at, source] : sources_) out_.sources.push_back(std::move(source));
  for (auto& [at, one] : unnamed_) out_.unnamed.push_back(std::move(one));
  for (auto& [what, one] : functions_) {
    out_.compiles += one.compiles;
    out_.again += one.again;
    out_.saved += one.saved;
    out_.total_us += one.total_us;
    out_.saved_us += one.saved_us;
    out_.functions.push_back(std::move(one));
  }
  std::stable_sort(out_.functions.begin(), out_.functions.end(),
                   [](const auto& a, const auto& b) { return a.saved_us > b.saved_us; });
  for (const auto& [log, us] : saved_us) {
    out_.saved_longest_us = std::max(out_.saved_longest_us, us);
  }
  for (const auto& [key, times] : remaining_) {
    out_.remaining.push_back({key.first, key.second, times});
  }
  std::stable_sort(out_.remaining.begin(), out_.remaining.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  write_setting(out_);
  return std::move(out_);
}

}  // namespace

void write_setting(DynamicFindings& findings) {
  std::set<SourceDim> wanted;
  for (const DynamicSource& source : findings.sources) wanted.insert(source.at);
  findings.entries.clear();
  findings.setting.clear();
  findings.entries_left_out = 0;
  for (SourceEntry& entry : merge_sources(wanted, findings.known, findings.known_whole)) {
    if (findings.setting.size() + entry.text.size() + 1 > kSettingBytesMax) {
      ++findings.entries_left_out;
      continue;
    }
    if (!findings.setting.empty()) findings.setting += ',';
    findings.setting += entry.text;
    findings.entries.push_back(std::move(entry));
  }
}

DynamicFindings find_dynamic_sources(const std::vector<ProcessLog>& logs,
                                     const std::set<SourceDim>& applied) {
  return Finder(logs, applied).run();
}

}  // namespace headway::compile
