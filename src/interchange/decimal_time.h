// Decimal text to nanoseconds and back, exactly: no double is ever in between, so that
// 1763242444.123456789 keeps its last digit. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headway::interchange {

// Times lie within +-(2^62 - 1) ns (the years 1823 to 2116), so that any difference of two fits.
inline constexpr std::int64_t kTimeMaxNs = (std::int64_t{1} << 62) - 1;

// A JSON number of seconds ("12.5", "-3", "1.7e9") as ns. Digits beyond the ninth round to the
// nearest, halves away from zero. nullopt: not a JSON number, or out of range.
std::optional<std::int64_t> seconds_text_to_ns(std::string_view text);

// For values that only exist as a double: by its shortest decimal text, which is what the program
// that wrote it had in mind. nullopt: NaN, infinite, out of range.
std::optional<std::int64_t> seconds_to_ns(double seconds);

// A JSON integer ("-12"); no fraction, no exponent. nullopt when it is not one or does not fit.
std::optional<std::int64_t> integer_text(std::string_view text);

// Appends ns as seconds with exactly as many digits as it needs: 12500000000 gives "12.5".
void append_seconds(std::string& out, std::int64_t ns);

}  // namespace headway::interchange
