#include "agent/fork_server.h"

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

#include "base/check.h"
#include "base/clock.h"

namespace headway::agent {
namespace {

using base::Status;
using nlohmann::json;

constexpr std::size_t kRanksPerMessage = 32;  // three descriptors each; the kernel takes 253
constexpr std::size_t kReplyBytesMax = 64 * 1024;
constexpr int kSendBytes = 1 << 20;
constexpr int kHookedExitCode = 93;  // python/headway/_hook/sitecustomize.py
constexpr int kProbeWaitMs = 10'000;

// What a rank has and the server has not, and the other way round.
json difference(const Environment& server, const Environment& rank) {
  json set = json::object();
  json unset = json::array();
  for (const auto& [name, value] : rank) {
    const std::string* known = find_variable(server, name);
    if (known == nullptr || *known != value) set[name] = value;
  }
  for (const auto& [name, value] : server) {
    if (find_variable(rank, name) == nullptr) unset.push_back(name);
  }
  return {{"set", set}, {"unset", unset}};
}

// One message with descriptors. False: errno says why.
bool send_with_fds(int channel, const std::string& text, const std::vector<int>& fds) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  return ::sendmsg(channel, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(text.size());
}

std::optional<ForkServer::Reply> parse_reply(std::string_view text) {
  using Reply = ForkServer::Reply;
  const json message = json::parse(text, nullptr, false);
  if (!message.is_object()) return std::nullopt;
  Reply reply;
  if (message.contains("ready") && message["ready"].is_number_unsigned()) {
    reply.kind = Reply::Kind::ready;
    reply.modules = message["ready"].get<std::uint64_t>();
    if (message.contains("failed") && message["failed"].is_object()) {
      for (const auto& [module, why] : message["failed"].items()) {
        if (why.is_string()) reply.failed.emplace_back(module, why.get<std::string>());
      }
    }
    return reply;
  }
  if (message.contains("unfit") && message["unfit"].is_string()) {
    reply.kind = Reply::Kind::unfit;
    reply.text = message["unfit"].get<std::string>();
    return reply;
  }
  if (!message.contains("pid") || !message["pid"].is_number_unsigned()) return std::nullopt;
  if (!message.contains("rank") || !message["rank"].is_number_unsigned()) return std::nullopt;
  reply.kind = Reply::Kind::started;
  reply.pid = message["pid"].get<pid_t>();
  reply.rank = message["rank"].get<int>();
  return reply;
}

}  // namespace

Status ForkServer::start(SpawnPlan plan, const Signals& signals) {
  HW_CHECK(!alive());
  stop();  // one that has ended by itself
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Status::io(fmt::format("fork server: socketpair: {}", std::strerror(errno)));
  }
  base::UniqueFd ours(ends[0]);
  const base::UniqueFd theirs(ends[1]);
  ::setsockopt(ours.get(), SOL_SOCKET, SO_SNDBUF, &kSendBytes, sizeof(kSendBytes));
  plan.keep_fd = theirs.get();
  plan.own_process_group = true;
  plan.environment.insert_or_assign("HEADWAY_WARM_FD", fmt::to_string(theirs.get()));
  base::Result<Child> child = spawn(plan, signals);
  if (!child.ok()) return child.status();
  pid_ = child->pid;
  channel_ = std::move(ours);
  environment_ = std::move(plan.environment);
  return {};
}

void ForkServer::stop() {
  channel_.reset();
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  wait_for_end(pid_);
  pid_ = 0;
}

Status ForkServer::send(const std::vector<Request>& ranks, std::size_t first, std::size_t end,
                        bool own_groups) {
  json message = {{"agent", ::getpid()},
                  {"own_group", own_groups},
                  {"learn", true},
                  {"asked_ns", base::monotonic_ns()},
                  {"ranks", json::array()}};
  std::vector<int> fds;
  for (std::size_t i = first; i < end; ++i) {
    json rank = difference(environment_, ranks[i].environment);
    rank["rank"] = ranks[i].rank;
    message["ranks"].push_back(std::move(rank));
    for (const int fd : ranks[i].streams) {
      if (fd >= 0) fds.push_back(fd);
    }
  }
  HW_CHECK(fds.empty() || fds.size() == 3 * (end - first));
  const std::string text = message.dump(-1, ' ', false, json::error_handler_t::replace);
  if (send_with_fds(channel_.get(), text, fds)) return {};
  return Status::io(fmt::format("fork server: {}", std::strerror(errno)));
}

Status ForkServer::ask(const std::vector<Request>& ranks, bool own_groups) {
  HW_CHECK(alive());
  for (std::size_t first = 0; first < ranks.size(); first += kRanksPerMessage) {
    const std::size_t end = std::min(first + kRanksPerMessage, ranks.size());
    if (Status status = send(ranks, first, end, own_groups); !status.ok()) return status;
  }
  return {};
}

std::optional<ForkServer::Reply> ForkServer::next() {
  if (!alive()) return std::nullopt;
  std::array<char, kReplyBytesMax> bytes;
  while (true) {
    const ssize_t got = ::recv(channel_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return std::nullopt;
    if (got <= 0) {
      channel_.reset();
      return Reply{};
    }
    auto reply = parse_reply(std::string_view(bytes.data(), static_cast<std::size_t>(got)));
    if (!reply) continue;
    if (reply->kind == Reply::Kind::ready) {
      if (was_ready_) reply->failed.clear();  // told already
      was_ready_ = true;
    }
    return reply;
  }
}

bool honours_hook(SpawnPlan plan, const Signals& signals) {
  plan.argv = {plan.argv.front(), "-c", "pass"};
  plan.environment.insert_or_assign("HEADWAY_WARM_PROBE", "1");
  base::Result<Child> child = spawn(plan, signals);
  if (!child.ok()) return false;
  pollfd end{child->pidfd.get(), POLLIN, 0};
  if (!child->pidfd.valid() || ::poll(&end, 1, kProbeWaitMs) != 1) ::kill(child->pid, SIGKILL);
  const int status = wait_for_end(child->pid);
  return WIFEXITED(status) && WEXITSTATUS(status) == kHookedExitCode;
}

}  // namespace headway::agent
