// Every maximum of the multi-node layer that both sides or the wire know of.
// docs/formats/cluster.md repeats those that a peer in another language has to keep.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headway::cluster {

inline constexpr std::uint32_t nodes_max = 16'384;  // connected to one coordinator, spares included
inline constexpr std::uint32_t nproc_max = 1'024;   // ranks of one node
inline constexpr std::uint32_t ranks_max = nodes_max * nproc_max;
static_assert(ranks_max == 1U << 24, "the journal's and the event lines' bound on a rank");

// What a coordinator believes a member to have seen, and what it may give out: the gap keeps a
// claim at the limit from leaving no number for the next round.
inline constexpr std::uint64_t generation_told_max = 1ULL << 52;
inline constexpr std::uint64_t generation_max = 1ULL << 53;
inline constexpr std::uint64_t step_max = (1ULL << 53) - 1;

inline constexpr std::size_t job_bytes_max = 200;
inline constexpr std::size_t token_bytes_max = 256;
inline constexpr std::size_t node_bytes_max = 255;
inline constexpr std::size_t address_bytes_max = 255;
inline constexpr std::size_t category_bytes_max = 64;
inline constexpr std::size_t reason_bytes_max = 400;
inline constexpr std::size_t setting_bytes_max = 1'024;

inline constexpr std::uint32_t lease_ms_min = 100;
inline constexpr std::uint32_t lease_ms_max = 600'000;

}  // namespace headway::cluster
