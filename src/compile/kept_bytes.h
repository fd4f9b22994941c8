// What the heap gives for a thing that is kept in a vector (trace_room.h): with what its texts
// need, and the vector's own room to grow. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>

#include "compile/compile_log.h"

namespace headway::compile {

[[nodiscard]] inline std::size_t heap_bytes(const std::string& text) {
  constexpr std::size_t kInside = 15, kOverhead = 16;
  return text.capacity() > kInside ? text.capacity() + kOverhead : 0;
}
template <typename... Texts>
[[nodiscard]] std::size_t heap_bytes(const std::string& text, const Texts&... more) {
  return heap_bytes(text) + heap_bytes(more...);
}
// Vectors grow by doubling: half of what they have is used on average, or more.
template <typename T>
inline constexpr std::size_t place_bytes = sizeof(T) * 3 / 2;

[[nodiscard]] inline std::size_t kept_bytes(const std::string& one) {
  return place_bytes<std::string> + heap_bytes(one);
}
[[nodiscard]] inline std::size_t kept_bytes(const Artifact& one) {
  return place_bytes<Artifact> + heap_bytes(one.name);
}
[[nodiscard]] inline std::size_t kept_bytes(const GraphBreak& one) {
  return place_bytes<GraphBreak> + heap_bytes(one.reason, one.where);
}
[[nodiscard]] inline std::size_t kept_bytes(const CacheAsk& one) {
  constexpr std::size_t kCompared = 1500;  // by the search for the most similar key
  const std::size_t ids = one.components.capacity() * sizeof(one.components[0]);
  return place_bytes<CacheAsk> + heap_bytes(one.key, one.reason) + ids + (ids > 0 ? kCompared : 0);
}
[[nodiscard]] inline std::size_t kept_bytes(const DynamicChange& one) {
  return place_bytes<DynamicChange> + heap_bytes(one.source, one.was, one.is, one.reason);
}
[[nodiscard]] inline std::size_t kept_bytes(const SizeSymbol& one) {
  return place_bytes<SizeSymbol> + heap_bytes(one.symbol, one.source, one.value, one.range);
}
[[nodiscard]] inline std::size_t kept_bytes(const Specialised& one) {
  return place_bytes<Specialised> + heap_bytes(one.symbol, one.sources, one.value, one.reason);
}
[[nodiscard]] inline std::size_t kept_bytes(const SizeGuard& one) {
  return place_bytes<SizeGuard> + heap_bytes(one.expression);
}
[[nodiscard]] inline std::size_t kept_bytes(const SourceUse& one) {
  return place_bytes<SourceUse> + heap_bytes(one.source);
}
[[nodiscard]] inline std::size_t kept_bytes(const StateSource& one) {
  return place_bytes<StateSource> + heap_bytes(one.function, one.source) +
         one.dynamic_dims.capacity() * sizeof(std::int32_t);
}
[[nodiscard]] inline std::size_t kept_bytes(const AutotuneCost& one) {
  return place_bytes<AutotuneCost> + heap_bytes(one.kernel, one.cache, one.best);
}

}  // namespace headway::compile
