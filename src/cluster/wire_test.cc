#include "cluster/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace headway::cluster {
namespace {

using testing::HasSubstr;

// One message of each type, in the order of their numbers.
std::vector<Message> one_of_each() {
  return {Greet{},
          Hello{.job = "dlrm",
                .token = "secret",
                .node = "host-7",
                .incarnation = 0x1122334455667788,
                .index = 7,
                .nproc = 8,
                .generation_seen = 41,
                .activity = Activity::finished,
                .generation = 41,
                .port = 29'500,
                .address = "10.0.0.7"},
          Refuse{Refusal::duplicate_node, true, "node host-7 is here already"},
          Welcome{5'000},
          Ping{12},
          Pong{12},
          Start{.generation = 42,
                .node_rank = 1,
                .nodes = 2,
                .rank_offset = 8,
                .world_size = 12,
                .restart_count = 3,
                .master_port = 29'500,
                .master_addr = "10.0.0.7",
                .setting = "+L['x']:0"},
          Stop{42, StopWhy::membership},
          Failed{.generation = 42, .rank = 9, .exit_code = -1, .signal = 9},
          Stopped{42, 30'001, {true, true, false, 90, "user_error"}},
          Finished{42, 30'002},
          Notice{42, 120'000},
          Boundary{42, 1'000},
          Propose{42, 1'002},
          Accept{42, 1'002},
          Raise{42, 1'003},
          Final{42, 1'005},
          Done{137},
          Goodbye{}};
}

std::string frame_of(const Message& message) {
  std::string frame;
  append_frame(frame, message);
  return frame;
}

TEST(Wire, EveryMessageReadsBackAsItself) {
  const std::vector<Message> messages = one_of_each();
  ASSERT_EQ(messages.size(), std::variant_size_v<Message>);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    ASSERT_EQ(messages[i].index(), i);
    const std::string frame = frame_of(messages[i]);
    FrameReader reader;
    reader.feed(frame);
    Message read;
    const auto more = reader.next(read);
    ASSERT_TRUE(more.ok()) << more.status().message();
    ASSERT_TRUE(more.value());
    EXPECT_EQ(frame_of(read), frame) << name_of(messages[i]);
    EXPECT_FALSE(reader.next(read).value());
  }
}

TEST(Wire, BytesAreAsDocumented) {
  EXPECT_EQ(frame_of(Ping{0x0102030405060708}),
            std::string("\x08\0\0\0\x05\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01", 16));
  EXPECT_EQ(frame_of(Refuse{Refusal::wrong_token, false, "no"}),
            std::string("\x06\0\0\0\x03\0\0\0\x02\0\x02\0no", 14));
  EXPECT_EQ(frame_of(Goodbye{}), std::string("\0\0\0\0\x13\0\0\0", 8));
}

TEST(Wire, FramesMayComeInAnyPieces) {
  std::string stream;
  for (const Message& message : one_of_each()) append_frame(stream, message);
  std::mt19937_64 rng(7);
  for (int round = 0; round < 50; ++round) {
    FrameReader reader;
    std::string again;
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t bytes = std::min<std::size_t>(1 + rng() % 60, stream.size() - at);
      reader.feed(std::string_view(stream).substr(at, bytes));
      at += bytes;
      Message message;
      while (reader.next(message).value()) append_frame(again, message);
    }
    EXPECT_EQ(again, stream);
  }
}

// Every message without its last byte, with one more, and with each of its bytes at its largest
// (but for a version: of another one nothing else is read).
TEST(Wire, DamagedPayloadsAreErrorsOrOtherMessages) {
  for (const Message& message : one_of_each()) {
    const auto type = static_cast<unsigned>(message.index() + 1);
    const std::string payload = frame_of(message).substr(frame_header_bytes);
    if (!payload.empty()) {
      EXPECT_FALSE(
          decode_payload(type, std::string_view(payload).substr(0, payload.size() - 1)).ok());
    }
    EXPECT_FALSE(decode_payload(type, payload + '\0').ok()) << name_of(message);
    for (std::size_t i = message.index() < 2 ? 2 : 0; i < payload.size(); ++i) {
      std::string damaged = payload;
      damaged[i] = '\xFF';
      auto decoded = decode_payload(type, damaged);
      if (decoded.ok()) (void)frame_of(*decoded);  // whatever is accepted may be said again
    }
  }
}

TEST(Wire, ErrorsNameMessageFieldAndRange) {
  const auto error = [](unsigned type, std::string_view payload) {
    const auto decoded = decode_payload(type, payload);
    EXPECT_FALSE(decoded.ok());
    return decoded.status().message();
  };
  EXPECT_THAT(error(4, std::string_view("\x01\0\0\0", 4)),
              HasSubstr("welcome: lease_ms is 1, allowed are 100 to 600000"));
  EXPECT_THAT(error(5, "1234"), HasSubstr("ping: ends inside id"));
  EXPECT_THAT(error(3, std::string_view("\x01\0\x01\0\n", 5)), HasSubstr("control character"));
  EXPECT_THAT(error(20, ""), HasSubstr("message type 20 is not known"));
  EXPECT_THAT(error(0, ""), HasSubstr("message type 0 is not known"));
}

TEST(Wire, TextIsReadIfAndOnlyIfAMessageMayHoldIt) {
  for (int c = 0; c < 256; ++c) {
    const std::string text(1, static_cast<char>(c));
    std::string frame;
    append_frame(frame, Refuse{.why = Refusal::other_job, .retry = false, .text = text});
    FrameReader reader;
    reader.feed(frame);
    Message message;
    EXPECT_EQ(reader.next(message).ok(), is_message_text(text)) << c;
  }
  EXPECT_TRUE(is_message_text("L['größe']:0"));
  EXPECT_FALSE(is_message_text("a\nb"));
}

TEST(Wire, AnotherProgramsBytesAreToldApart) {
  for (const std::string_view text :
       {std::string_view("GET / HTTP/1.1\r\n\r\n"), std::string_view("\0\0\0\0\x05\0\0\x01", 8)}) {
    FrameReader reader;
    reader.feed(text);
    Message message;
    const auto next = reader.next(message);
    ASSERT_FALSE(next.ok());
    EXPECT_THAT(next.status().message(), HasSubstr("another program"));
  }
}

TEST(Wire, OfAnotherVersionOnlyTheVersionIsRead) {
  auto decoded = decode_payload(2, std::string_view("\x09\0 whatever comes then", 21));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(std::get<Hello>(*decoded).version, 9);
}

}  // namespace
}  // namespace headway::cluster
