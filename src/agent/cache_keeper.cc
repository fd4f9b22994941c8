#include "agent/cache_keeper.h"

#include <dirent.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "agent/python_layout.h"
#include "agent/spawn.h"
#include "base/clock.h"
#include "base/plural.h"

namespace headway::agent {
namespace {

using nlohmann::json;

constexpr std::int64_t kTellAfterNs = 2 * base::kNsPerSecond;
constexpr std::int64_t kLookNs = 2 * base::kNsPerSecond;       // until the first steps are done
constexpr std::int64_t kFirstPushNs = 5 * base::kNsPerSecond;  // after them
constexpr std::int64_t kPauseNs = 30 * base::kNsPerSecond;     // then, twice as long each time
constexpr std::int64_t kPauseMaxNs = 600 * base::kNsPerSecond;
constexpr std::int64_t kUnmeasuredNs = 120 * base::kNsPerSecond;  // where steps are not seen
constexpr std::int64_t kSignalLookNs = base::kNsPerSecond / 10;
constexpr std::int64_t kTidyNs = base::kNsPerSecond;
constexpr int kTidyLookMs = 2;
constexpr std::size_t kReplyBytesMax = 64 * 1024;
constexpr std::size_t kNotesToldMax = 5;

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

// A signal waits to be read by whoever knows what to do with it.
bool asked_to_stop() {
  sigset_t pending;
  if (::sigpending(&pending) != 0) return false;
  return ::sigismember(&pending, SIGTERM) == 1 || ::sigismember(&pending, SIGINT) == 1 ||
         ::sigismember(&pending, SIGHUP) == 1;
}

bool is_folder_with_entries(const std::string& path) {
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return false;
  bool any = false;
  while (const dirent* entry = ::readdir(folder)) any = any || entry->d_name[0] != '.';
  ::closedir(folder);
  return any;
}

std::uint64_t number(const json& message, const char* name) {
  const auto it = message.find(name);
  return it != message.end() && it->is_number_unsigned() ? it->get<std::uint64_t>() : 0;
}

std::string text_of(const json& message, const char* name) {
  const auto it = message.find(name);
  return it != message.end() && it->is_string() ? it->get<std::string>() : "";
}

}  // namespace

std::string pushed_text(std::uint64_t files, std::uint64_t passed_on) {
  std::string what;
  if (files > passed_on) what = base::plural(files - passed_on, "new file");
  if (passed_on == 0) return what;
  return fmt::format("{}{}{} of another family or processor", what, what.empty() ? "" : " and ",
                     base::plural(passed_on, "file"));
}

void CacheKeeper::open(const CachePlace& place, const std::string& python, int ranks,
                       const Environment& environment) {
  if (const base::Status status = prepare_cache_directory(place); !status.ok()) {
    console_.note(fmt::format("compile cache: {}; starting without it", status.message()));
    return;
  }
  place_ = place;
  python_ = python;
  ranks_ = ranks;
  environment_ = environment;
  // A shelf of our own that has nothing of this family is asked when there is something to push.
  const bool may_hold =
      !place.own_shelf || is_folder_with_entries(place.shelf + "/" + place.family);
  if (may_hold || !place.own_directory) start();
}

void CacheKeeper::add_to(Environment& environment) const {
  if (!place_) return;
  name_cache_folders(*place_, environment);
}

void CacheKeeper::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return give_up(std::strerror(errno));
  }
  base::UniqueFd ours(ends[0]);
  const base::UniqueFd theirs(ends[1]);
  SpawnPlan plan;
  plan.argv = {
      "/proc/self/exe",  "cache",    "keep",         place_->shelf,  "--to",
      place_->directory, "--family", place_->family, "--channel-fd", fmt::to_string(theirs.get())};
  const auto add = [&plan](const char* name, std::string value) {
    plan.argv.emplace_back(name);
    plan.argv.push_back(std::move(value));
  };
  if (!python_.empty()) add("--python", python_);
  if (place_->own_shelf) plan.argv.emplace_back("--own-shelf");
  if (!place_->own_directory) plan.argv.emplace_back("--only-additions");
  if (!place_->pgo_job.empty()) {
    add("--pgo-job", "*=" + place_->pgo_job);
    if (ranks_ > 0) add("--pgo-ranks", fmt::to_string(ranks_));
  }
  plan.environment = environment_;
  plan.keep_fd = theirs.get();
  base::Result<Child> child = spawn(plan, signals_);
  if (!child.ok()) return give_up(child.status().message());
  pid_ = child->pid;
  sweep_.spare(pid_);
  channel_ = std::move(ours);
  state_ = State::pulling;
  pull_began_ns_ = base::monotonic_ns();
}

void CacheKeeper::give_up(const std::string& why) {
  if (!why.empty()) console_.note(fmt::format("compile cache: {}; going on without it", why));
  channel_.reset();
  state_ = State::gone;
  next_ns_ = 0;
}

void CacheKeeper::receive() {
  std::array<char, kReplyBytesMax> bytes;
  while (channel_.valid()) {
    const ssize_t got = ::recv(channel_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return give_up("its keeper has ended");
    take(std::string(bytes.data(), static_cast<std::size_t>(got)));
  }
}

void CacheKeeper::take(const std::string& text) {
  const json message = json::parse(text, nullptr, false);
  if (!message.is_object()) return;
  std::size_t told = 0;
  if (const auto notes = message.find("notes"); notes != message.end() && notes->is_array()) {
    for (const json& note : *notes) {
      if (!note.is_string() || told++ == kNotesToldMax) break;
      console_.note("compile cache: passed over: " + note.get<std::string>());
    }
  }
  if (const std::string key = text_of(message, "made_key"); !key.empty()) {
    console_.note(fmt::format(
        "compile cache: made {}, the key that your archives are signed with; `headway cache keygen "
        "--public` prints the half for those who are to trust them",
        key));
  }
  const std::string error = text_of(message, "error");
  if (state_ == State::pulling) {
    state_ = State::ready;
    Pulled pulled{number(message, "archives"), number(message, "files"), number(message, "bytes"),
                  number(message, "same"),
                  static_cast<double>(base::monotonic_ns() - pull_began_ns_) / 1e9};
    pulled_ = pulled;
    if (!error.empty() && !began_) {
      console_.note(fmt::format("compile cache: {}; starting cold", error));
    } else if (!error.empty()) {
      console_.note(fmt::format("compile cache: nothing pushed: {}", error));
    }
    if (pulled.files > 0) {
      console_.note(fmt::format("compile cache: {}, {}, from {} in {:.2f} s",
                                base::plural(pulled.files, "file"), megabytes(pulled.bytes),
                                place_->shelf, pulled.seconds));
    }
    if (message.value("hopeless", false)) give_up("");
    return;
  }
  if (state_ != State::pushing) return;
  state_ = State::ready;
  if (!error.empty() && !failed_to_push_) {
    console_.note(fmt::format("compile cache: nothing pushed: {}", error));
    failed_to_push_ = true;
  }
  if (const std::uint64_t files = number(message, "files"); files > 0) {
    console_.note(fmt::format("compile cache: pushed {}, {}, to {}",
                              pushed_text(files, number(message, "passed_on")),
                              megabytes(number(message, "bytes")), place_->shelf));
  }
}

// True: it is no longer busy with that.
bool CacheKeeper::wait_for(State busy, std::int64_t limit_ns, const std::string& doing) {
  const std::int64_t began_ns = base::monotonic_ns();
  bool told = false;
  while (state_ == busy) {
    const std::int64_t took_ns = base::monotonic_ns() - began_ns;
    if (took_ns > limit_ns) return false;
    if (took_ns > kTellAfterNs && !told) console_.note(doing);
    told = told || took_ns > kTellAfterNs;
    const std::int64_t until_ns = told ? limit_ns : kTellAfterNs;
    pollfd ready{channel_.get(), POLLIN, 0};
    ::poll(&ready, 1,
           static_cast<int>(std::min(until_ns - took_ns, kSignalLookNs) / 1'000'000 + 1));
    receive();
    if (asked_to_stop()) return state_ != busy;
  }
  return true;
}

void CacheKeeper::wait_until_pulled() {
  if (state_ != State::pulling) return;
  const std::int64_t left_ns = pull_wait_ns - (base::monotonic_ns() - pull_began_ns_);
  const bool done = wait_for(State::pulling, std::max<std::int64_t>(left_ns, 0),
                             "pulling compile caches from " + place_->shelf);
  if (!done && base::monotonic_ns() - pull_began_ns_ >= pull_wait_ns) {
    console_.note(
        fmt::format("compile cache: {} has not answered for {} s; the job starts "
                    "meanwhile",
                    place_->shelf, pull_wait_ns / base::kNsPerSecond));
  }
}

std::optional<CacheKeeper::Pulled> CacheKeeper::take_pulled() {
  return std::exchange(pulled_, std::nullopt);
}

void CacheKeeper::begin_attempt(std::function<bool()> trained) {
  began_ = true;
  if (!place_ || state_ == State::gone) return;
  trained_ = std::move(trained);
  pause_ns_ = kPauseNs;
  next_ns_ = base::monotonic_ns() + (trained_ ? kLookNs : kUnmeasuredNs);
}

bool CacheKeeper::has_compiled() const {
  return is_folder_with_entries(place_->directory);
}

std::optional<std::int64_t> CacheKeeper::next_ns() const {
  if (next_ns_ == 0) return std::nullopt;
  return next_ns_;
}

// Compiling is done when the first steps are, for the most part: then soon, and later now and
// then. A push that finds nothing new costs a look at the directory.
void CacheKeeper::serve(std::int64_t now_ns) {
  receive();
  if (next_ns_ == 0 || now_ns < next_ns_) return;
  if (trained_) {
    const bool done = trained_();
    next_ns_ = now_ns + (done ? kFirstPushNs : kLookNs);
    if (done) trained_ = nullptr;
    return;
  }
  next_ns_ = now_ns + pause_ns_;
  pause_ns_ = std::min(2 * pause_ns_, kPauseMaxNs);
  if (!has_compiled()) return;
  if (state_ == State::idle) start();  // and push when it is next looked at
  if (state_ == State::pulling) next_ns_ = now_ns + kLookNs;
  if (state_ == State::ready) ask_to_push();
}

void CacheKeeper::ask_to_push() {
  constexpr std::string_view request = "push";
  const ssize_t sent =
      ::send(channel_.get(), request.data(), request.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != static_cast<ssize_t>(request.size())) return give_up(std::strerror(errno));
  state_ = State::pushing;
}

void CacheKeeper::on_reaped(pid_t pid) {
  if (pid != pid_ || pid == 0) return;
  sweep_.unspare(pid_);
  pid_ = 0;
  receive();
}

void CacheKeeper::finish(bool hurried) {
  if (!place_) return;
  if (!hurried && state_ == State::idle && has_compiled()) start();
  if (!hurried) {
    const std::string doing = "sharing what was compiled with " + place_->shelf;
    wait_for(State::pulling, finish_wait_ns, doing);
    wait_for(State::pushing, finish_wait_ns, doing);
    if (state_ == State::ready && has_compiled()) {
      ask_to_push();
      wait_for(State::pushing, finish_wait_ns, doing);
    }
  }
  channel_.reset();  // it tidies up and ends
  if (pid_ != 0) {
    const std::int64_t until_ns = base::monotonic_ns() + kTidyNs;
    while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
      if (base::monotonic_ns() > until_ns) ::kill(pid_, SIGKILL);
      ::poll(nullptr, 0, kTidyLookMs);
    }
    sweep_.unspare(pid_);
    pid_ = 0;
  }
  place_.reset();
}

}  // namespace headway::agent
