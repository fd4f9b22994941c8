// What a trainer and the holder of its replica say to each other, each a packet on a local socket:
// docs/formats/replica.md. State is not told but looked up in the slots; a packet says that it is
// worth looking. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace headway::replica {

inline constexpr int protocol_version = 1;
inline constexpr std::size_t packet_bytes_max = 64 << 10;
inline constexpr std::uint32_t slots_max = 8;   // of one rank
inline constexpr std::size_t damaged_max = 16;  // that a trainer tells of
inline constexpr std::uint32_t ranks_max = 1 << 20;

enum class Say : std::uint8_t {
  // The trainer's.
  hello,    // who it is and where to; answered by `slots`
  reserve,  // memory for so many images of so many bytes, and for so many times rows of them;
            // answered by `slots` or `failed`
  look,     // a slot was sealed, or these checkpoints were found to be damaged
  bye,      // it ends, and nobody will go on from here
  // The holder's.
  slots,         // these are the rank's, ready for use
  whole,         // rows cannot be put into the image: the next save has to be a whole one
  durable,       // the step is on disk, under this name
  failed,        // text says what and why; of a step, or 0
  refused,       // this trainer cannot be served at all
  uploaded,      // the step is in the store, under this name; `skipped` before it were not
  not_uploaded,  // text says why; it is tried again
};

struct Message {
  Say say = Say::hello;
  int version = protocol_version;
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  std::uint32_t local_world_size = 1;  // ranks that share this holder
  std::uint64_t attempt = 0;
  std::uint64_t run = 0;  // of the attempt; 0: all its ranks are here
  std::string job{};
  std::string folder{};         // of checkpoints
  std::uint32_t keep_last = 0;  // of them there; 0: all
  std::int64_t keep_every_ns = 0;
  std::string upload{};             // where they are copied to; empty: nowhere
  std::uint32_t keep_uploaded = 0;  // of them there; 0: all
  std::uint64_t bytes = 0;
  std::uint32_t count = 0;
  std::uint64_t rows_bytes = 0;
  std::uint32_t rows_count = 0;
  std::uint64_t step = 0;
  std::uint32_t skipped = 0;
  std::int64_t nanoseconds = 0;  // that it took
  std::string text{};
  std::vector<std::string> paths{};
  std::vector<std::string> damaged{};  // names of checkpoints in `folder`
};

[[nodiscard]] std::string to_packet(const Message& message);
base::Result<Message> parse_packet(std::string_view packet);

}  // namespace headway::replica
