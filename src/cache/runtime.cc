#include "cache/runtime.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace headway::cache {
namespace {

std::optional<unsigned> number_behind(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number > runtime_minor_max) return std::nullopt;
  if (end != text.data() + text.size() && *end != '.') return std::nullopt;  // "2.36.9000"
  return number;
}

// "…/libstdc++.so.6" is a link to a file whose name has the version.
int find_libstdcxx(dl_phdr_info* info, std::size_t, void* found) {
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  if (path.find("/libstdc++.so.6") == std::string_view::npos) return 0;
  char* real = ::realpath(info->dlpi_name, nullptr);
  if (real == nullptr) return 1;
  const std::string_view whole(real);
  *static_cast<std::optional<unsigned>*>(found) =
      libstdcxx_minor_of(whole.substr(whole.rfind('/') + 1));
  std::free(real);
  return 1;
}

}  // namespace

std::optional<unsigned> glibc_minor_of(std::string_view version) {
  return number_behind(version, "2.");
}

std::optional<unsigned> libstdcxx_minor_of(std::string_view file_name) {
  return number_behind(file_name, "libstdc++.so.6.0.");
}

std::vector<std::string> runtime_flags(std::optional<unsigned> glibc_minor,
                                       std::optional<unsigned> libstdcxx_minor) {
  std::vector<std::string> flags;
  for (unsigned minor = glibc_minor_min; minor <= glibc_minor.value_or(0); ++minor) {
    flags.push_back(fmt::format("glibc2.{}", minor));
  }
  for (unsigned minor = libstdcxx_minor_min; minor <= libstdcxx_minor.value_or(0); ++minor) {
    flags.push_back(fmt::format("libstdc++3.4.{}", minor));
  }
  std::ranges::sort(flags);
  return flags;
}

std::vector<std::string> runtime_flags_here() {
  std::optional<unsigned> glibc, libstdcxx;
#if defined(__GLIBC__)
  glibc = glibc_minor_of(::gnu_get_libc_version());
#endif
  ::dl_iterate_phdr(find_libstdcxx, &libstdcxx);
  return runtime_flags(glibc, libstdcxx);
}

}  // namespace headway::cache
