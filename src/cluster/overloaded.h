// std::visit with one lambda a type.
#pragma once

namespace headway::cluster {

template <typename... F>
struct overloaded : F... {
  using F::operator()...;
};
template <typename... F>
overloaded(F...) -> overloaded<F...>;

}  // namespace headway::cluster
