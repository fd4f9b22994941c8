#include "cluster/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace headway::cluster {
namespace {

constexpr std::uint32_t no_index = 0xFFFFFFFF;
constexpr std::size_t types = std::variant_size_v<Message>;

constexpr std::array<const char*, types> names = {
    "greet",  "hello",  "refuse",  "welcome",  "ping",   "pong",     "start",
    "stop",   "failed", "stopped", "finished", "notice", "boundary", "propose",
    "accept", "raise",  "final",   "done",     "goodbye"};

// A hello is the largest message: 2 · 8 bytes of texts' lengths and 41 of numbers is generous.
static_assert(job_bytes_max + token_bytes_max + node_bytes_max + address_bytes_max + 64 <=
              payload_bytes_max);
static_assert(reason_bytes_max + 16 <= payload_bytes_max);
static_assert(frame_header_bytes == 4 + 1 + 3);
static_assert(types < 256, "the type is one byte");

// Reader and Writer have the same calls, so that a message's fields are listed once, in `fields`.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  template <typename T>
  void number(const char*, T value, std::uint64_t min, std::uint64_t max) {
    const auto wide = static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
    HW_CHECK(wide >= min && wide <= max);
    put(wide, sizeof(T));
  }
  void text(const char*, const std::string& value, std::size_t bytes_min, std::size_t bytes_max) {
    HW_CHECK(value.size() >= bytes_min && value.size() <= bytes_max);
    put(value.size(), 2);
    out_ += value;
  }
  [[nodiscard]] bool foreign_version(std::uint16_t) const { return false; }

 private:
  void put(std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) out_ += static_cast<char>(value >> (8 * i) & 0xFF);
  }
  std::string& out_;
};

class Reader {
 public:
  Reader(const char* message, std::string_view payload) : message_(message), rest_(payload) {}

  template <typename T>
  void number(const char* field, T& value, std::uint64_t min, std::uint64_t max) {
    const std::uint64_t wide = take(field, sizeof(T));
    if (!error_.ok()) return;
    if (wide < min || wide > max) {
      fail(fmt::format("{} is {}, allowed are {} to {}", field, wide, min, max));
      return;
    }
    value = static_cast<T>(wide);
  }
  void text(const char* field, std::string& value, std::size_t bytes_min, std::size_t bytes_max) {
    const std::size_t bytes = static_cast<std::size_t>(take(field, 2));
    if (!error_.ok()) return;
    if (bytes < bytes_min || bytes > bytes_max) {
      fail(
          fmt::format("{} has {} bytes, allowed are {} to {}", field, bytes, bytes_min, bytes_max));
      return;
    }
    if (bytes > rest_.size()) return fail(fmt::format("ends inside {}", field));
    if (!is_message_text(rest_.substr(0, bytes))) {
      return fail(fmt::format("{} holds a control character", field));
    }
    value.assign(rest_.substr(0, bytes));
    rest_.remove_prefix(bytes);
  }
  [[nodiscard]] bool foreign_version(std::uint16_t version) {
    if (!error_.ok() || version == protocol_version) return false;
    rest_ = {};
    return true;
  }
  base::Status finish() {
    if (error_.ok() && !rest_.empty()) {
      fail(fmt::format("{} bytes too many", rest_.size()));
    }
    return error_;
  }

 private:
  std::uint64_t take(const char* field, std::size_t bytes) {
    if (!error_.ok()) return 0;
    if (rest_.size() < bytes) {
      fail(fmt::format("ends inside {}", field));
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    }
    rest_.remove_prefix(bytes);
    return value;
  }
  void fail(const std::string& what) {
    error_ = base::Status::corrupt(fmt::format("message {}: {}", message_, what));
  }

  const char* message_;
  std::string_view rest_;
  base::Status error_;
};

template <typename T>
constexpr std::uint64_t any = std::numeric_limits<std::make_unsigned_t<T>>::max();

template <typename Io, typename Enum>
void word(Io& io, const char* field, Enum& value, Enum first, Enum last) {
  auto number = static_cast<std::uint8_t>(value);
  io.number(field, number, static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(last));
  value = static_cast<Enum>(number);
}

template <typename Io>
void flag(Io& io, const char* field, bool& value) {
  std::uint8_t number = value ? 1 : 0;
  io.number(field, number, 0, 1);
  value = number != 0;
}

template <typename Io>
void generation(Io& io, std::uint64_t& value) {
  io.number("generation", value, 1, generation_max);
}

template <typename Io>
void fields(Io& io, Greet& m) {
  io.number("version", m.version, 0, any<std::uint16_t>);
  (void)io.foreign_version(m.version);
}

template <typename Io>
void fields(Io& io, Hello& m) {
  io.number("version", m.version, 0, any<std::uint16_t>);
  if (io.foreign_version(m.version)) return;
  io.text("job", m.job, 1, job_bytes_max);
  io.text("token", m.token, 0, token_bytes_max);
  io.text("node", m.node, 1, node_bytes_max);
  io.number("incarnation", m.incarnation, 0, any<std::uint64_t>);
  std::uint32_t index = m.index.value_or(no_index);
  io.number("index", index, 0, any<std::uint32_t>);
  m.index = index == no_index ? std::nullopt : std::optional(index);
  io.number("nproc", m.nproc, 1, nproc_max);
  io.number("generation_seen", m.generation_seen, 0, generation_max);
  word(io, "activity", m.activity, Activity::idle, Activity::finished);
  io.number("generation", m.generation, m.activity == Activity::idle ? 0 : 1, generation_max);
  io.number("port", m.port, m.activity == Activity::running ? 0 : 1, any<std::uint16_t>);
  io.text("address", m.address, 1, address_bytes_max);
}

template <typename Io>
void fields(Io& io, Refuse& m) {
  word(io, "why", m.why, Refusal::other_job, Refusal::full);
  flag(io, "retry", m.retry);
  io.text("text", m.text, 0, reason_bytes_max);
}

template <typename Io>
void fields(Io& io, Welcome& m) {
  io.number("lease_ms", m.lease_ms, lease_ms_min, lease_ms_max);
}

template <typename Io>
void fields(Io& io, Ping& m) {
  io.number("id", m.id, 0, any<std::uint64_t>);
}

template <typename Io>
void fields(Io& io, Pong& m) {
  io.number("id", m.id, 0, any<std::uint64_t>);
}

template <typename Io>
void fields(Io& io, Start& m) {
  generation(io, m.generation);
  io.number("nodes", m.nodes, 1, nodes_max);
  io.number("node_rank", m.node_rank, 0, m.nodes - 1);
  io.number("world_size", m.world_size, m.nodes, ranks_max);
  io.number("rank_offset", m.rank_offset, m.node_rank, m.world_size - 1);
  io.number("restart_count", m.restart_count, 0, any<std::uint32_t>);
  io.number("master_port", m.master_port, 1, any<std::uint16_t>);
  io.text("master_addr", m.master_addr, 1, address_bytes_max);
  io.text("setting", m.setting, 0, setting_bytes_max);
}

template <typename Io>
void fields(Io& io, Stop& m) {
  generation(io, m.generation);
  word(io, "why", m.why, StopWhy::peer_failed, StopWhy::job_ends);
}

template <typename Io>
void fields(Io& io, Failed& m) {
  generation(io, m.generation);
  io.number("rank", m.rank, 0, ranks_max - 1);
  io.number("exit_code", m.exit_code, 0, any<std::int32_t>);
  io.number("signal", m.signal, 0, 127);
}

template <typename Io>
void fields(Io& io, Stopped& m) {
  generation(io, m.generation);
  io.number("port", m.port, 1, any<std::uint16_t>);
  flag(io, "progressed", m.account.progressed);
  flag(io, "is_cause", m.account.is_cause);
  flag(io, "retryable", m.account.retryable);
  io.number("sure_percent", m.account.sure_percent, 0, 100);
  io.text("category", m.account.category, 0, category_bytes_max);
}

template <typename Io>
void fields(Io& io, Finished& m) {
  generation(io, m.generation);
  io.number("port", m.port, 1, any<std::uint16_t>);
}

// The messages that are a generation and a step.

template <typename Io, typename M>
  requires std::is_same_v<M, Boundary> || std::is_same_v<M, Propose> || std::is_same_v<M, Accept> ||
           std::is_same_v<M, Raise> || std::is_same_v<M, Final>
void fields(Io& io, M& m) {
  generation(io, m.generation);
  io.number("step", m.step, 0, step_max);
}

template <typename Io>
void fields(Io& io, Notice& m) {
  generation(io, m.generation);
  io.number("grace_ms", m.grace_ms, 0, any<std::uint32_t>);
}

template <typename Io>
void fields(Io& io, Done& m) {
  io.number("exit_code", m.exit_code, 0, any<std::int32_t>);
}

template <typename Io>
void fields(Io&, Goodbye&) {}

template <std::size_t... I>
Message blank_message(std::size_t index, std::index_sequence<I...>) {
  Message message;
  const bool known = ((index == I && (message.emplace<I>(), true)) || ...);
  HW_CHECK(known);
  return message;
}

}  // namespace

bool is_message_text(std::string_view text) {
  return std::ranges::none_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

const char* name_of(const Message& message) {
  return names[message.index()];
}

void append_frame(std::string& out, const Message& message) {
  const std::size_t begin = out.size();
  out.append(frame_header_bytes, '\0');
  Message copy = message;  // `fields` takes a reference that a reader may write through
  Writer writer(out);
  std::visit([&](auto& m) { fields(writer, m); }, copy);
  const std::size_t payload_bytes = out.size() - begin - frame_header_bytes;
  HW_CHECK(payload_bytes <= payload_bytes_max);
  for (std::size_t i = 0; i < 4; ++i) {
    out[begin + i] = static_cast<char>(payload_bytes >> (8 * i) & 0xFF);
  }
  out[begin + 4] = static_cast<char>(message.index() + 1);
}

base::Result<Message> decode_payload(unsigned type, std::string_view payload) {
  if (type == 0 || type > types) {
    return base::Status::corrupt(
        fmt::format("message type {} is not known to protocol version {}: is another version of "
                    "Headway, or another program, at this port?",
                    type, protocol_version));
  }
  Message message = blank_message(type - 1, std::make_index_sequence<types>{});
  Reader reader(names[type - 1], payload);
  std::visit([&](auto& m) { fields(reader, m); }, message);
  if (base::Status status = reader.finish(); !status.ok()) return status;
  return message;
}

base::Result<bool> FrameReader::next(Message& message) {
  const std::string_view rest = std::string_view(pending_).substr(used_);
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(rest[i]); };
  if (rest.size() >= frame_header_bytes) {
    const std::size_t payload_bytes =
        byte(0) | byte(1) << 8 | byte(2) << 16 | static_cast<std::size_t>(byte(3)) << 24;
    if (payload_bytes > payload_bytes_max || byte(5) != 0 || byte(6) != 0 || byte(7) != 0) {
      return base::Status::corrupt(
          "these are no messages of Headway's agents: is another program at this port?");
    }
    if (rest.size() >= frame_header_bytes + payload_bytes) {
      auto decoded = decode_payload(byte(4), rest.substr(frame_header_bytes, payload_bytes));
      if (!decoded.ok()) return decoded.status();
      message = std::move(decoded).value();
      used_ += frame_header_bytes + payload_bytes;
      return true;
    }
  }
  pending_.erase(0, used_);
  used_ = 0;
  return false;
}

}  // namespace headway::cluster
