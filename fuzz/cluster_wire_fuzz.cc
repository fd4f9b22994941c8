// Any bytes as a stream of messages between agents. What is accepted is said again in the same
// bytes, however the stream was cut; and whatever a peer says, neither side's rules abort on it or
// make a message of it that cannot be sent.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "cluster/coordinator_core.h"
#include "cluster/member_core.h"
#include "cluster/wire.h"

namespace {

using namespace headway::cluster;

constexpr std::int64_t tick_ns = 300'000'000;

bool foreign(const Message& message) {
  const auto* hello = std::get_if<Hello>(&message);
  const auto* greet = std::get_if<Greet>(&message);
  return (hello != nullptr && hello->version != protocol_version) ||
         (greet != nullptr && greet->version != protocol_version);
}

std::vector<Message> read_all(std::string_view bytes, std::size_t piece_bytes) {
  std::vector<Message> messages;
  FrameReader reader;
  while (!bytes.empty()) {
    const std::size_t piece = std::min(piece_bytes, bytes.size());
    reader.feed(bytes.substr(0, piece));
    bytes.remove_prefix(piece);
    for (Message message;;) {
      const auto more = reader.next(message);
      if (!more.ok()) {
        HW_CHECK(more.status().message().find('\n') == std::string::npos);
        return messages;
      }
      if (!more.value()) break;
      messages.push_back(message);
    }
  }
  return messages;
}

// Each hello comes on a connection of its own, the rest on one of the last two.
void to_coordinator(const std::vector<Message>& messages) {
  CoordinatorConfig config;
  config.job = "dlrm";
  config.token = "secret";
  config.max_nodes = 2;
  config.predecessor_possible = false;
  std::int64_t now_ns = 0;
  ConnectionId newest = 0;
  CoordinatorCore core(config, now_ns);
  std::string bytes;
  for (const Message& message : messages) {
    now_ns += tick_ns;
    if (std::holds_alternative<Hello>(message) || newest == 0) core.on_open(++newest, now_ns);
    const bool older = newest > 1 && bytes.size() % 3 == 0;
    const bool hello = std::holds_alternative<Hello>(message);
    core.on_message(newest - (older && !hello ? 1 : 0), message, now_ns);
    core.on_deadline(now_ns);
    const CoordinatorOutput output = core.take_output();
    for (const auto& send : output.sends) append_frame(bytes, send.message);
    for (const ConnectionId closed : output.closes) core.on_close(closed, now_ns);
    if (output.decide) core.on_decision({.restart = true}, now_ns);
  }
}

void to_member(const std::vector<Message>& messages) {
  MemberConfig config;
  config.job = "dlrm";
  config.node = "host-7";
  config.nproc = 2;
  std::int64_t now_ns = 0;
  MemberCore core(config, 1, now_ns);
  bool ranks = false;
  std::string bytes;
  for (const Message& message : messages) {
    now_ns += tick_ns;
    core.on_message(message, now_ns);
    core.on_deadline(now_ns);
    const MemberOutput output = core.take_output();
    for (const Message& sent : output.sends) append_frame(bytes, sent);
    for (const Order& order : output.orders) {
      if (std::holds_alternative<StartRanks>(order)) {
        HW_CHECK(!ranks);
        ranks = true;
      } else if (ranks && (std::holds_alternative<StopRanks>(order) ||
                           std::holds_alternative<KillRanks>(order))) {
        core.ranks_stopped(2, now_ns);
        ranks = false;
      }
    }
    if (output.dial) core.on_connected("10.0.0.7", "10.0.0.1", now_ns);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::vector<Message> messages = read_all(bytes, size);
  HW_CHECK(read_all(bytes, 7).size() == messages.size());
  std::string again;
  bool all_ours = true;
  for (const Message& message : messages) {
    all_ours = all_ours && !foreign(message);
    if (all_ours) append_frame(again, message);
  }
  HW_CHECK(bytes.starts_with(again));
  to_coordinator(messages);
  to_member(messages);
  return 0;
}
