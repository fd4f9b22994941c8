// The gamma distribution: how sure one may be of a rate after so many events in so much time.
// Pure; any thread (no global of the C library is written).
#pragma once

namespace headway::interval {

// P(X ≤ x) for X of Gamma(shape, 1): the regularised lower incomplete gamma function. shape > 0.
[[nodiscard]] double gamma_cdf(double shape, double x);
// The x of which gamma_cdf(shape, x) = p, for 0 < p < 1, to a relative error of about 1e-10. 0
// where x is smaller than any double.
[[nodiscard]] double gamma_quantile(double shape, double p);

}  // namespace headway::interval
