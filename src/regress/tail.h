// How unlikely: upper tails of the distributions that the tests of this folder refer to. Pure; any
// thread.
#pragma once

#include <cstdint>

namespace headway::regress {

// P(Z > z) of the standard normal distribution.
[[nodiscard]] double normal_tail(double z);
// P(T > t) of Student's distribution; dof > 0.
[[nodiscard]] double student_tail(double t, double dof);

// Two sides of one question: so many of those before and of those after have a property.
struct Table {
  std::uint64_t before_with = 0, before_without = 0;
  std::uint64_t after_with = 0, after_without = 0;
};
// Fisher's exact test, two-sided: the probability, all margins being given, of a table no likelier
// than this one.
[[nodiscard]] double fisher(const Table& table);

}  // namespace headway::regress
