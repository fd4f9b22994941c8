// Many series are looked at at once: which of their p-values may be believed. Pure; any thread.
#pragma once

#include <span>
#include <vector>

namespace headway::regress {

// Benjamini and Hochberg's q-values: announcing all that have q ≤ x keeps the expected share of
// false announcements at x or below. `tests` counts the series that were looked at, those without
// a p-value here included; at least p.size(). The order is that of `p`.
//
// Not Yekutieli's variant, which holds under any dependence for a factor of ln(tests): parts of the
// same starts depend on each other positively, and under that the plain bound holds.
[[nodiscard]] std::vector<double> q_values(std::span<const double> p, std::size_t tests);

}  // namespace headway::regress
