// Packets between trainer and holder: any bytes are refused or understood, and what was understood
// says the same when it is said again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "replica/message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headway::replica;
  auto message = parse_packet({reinterpret_cast<const char*>(data), size});
  if (!message.ok()) return 0;
  const std::string packet = to_packet(*message);
  auto again = parse_packet(packet);
  if (packet.size() <= packet_bytes_max) {
    HW_CHECK(again.ok());
    HW_CHECK(to_packet(*again) == packet);
  }
  return 0;
}
