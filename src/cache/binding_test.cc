#include "cache/binding.h"

#include "cache/cpu.h"
#include "cache/runtime.h"
#include "cache/test_cache.h"

namespace headway::cache {
namespace {

TEST(Binding, RoundTrip) {
  const auto parsed = parse_binding(to_text(test_binding()), "x");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(to_text(parsed.value()), to_text(test_binding()));
  EXPECT_EQ(difference(parsed.value(), test_binding()), "");
  EXPECT_EQ(identity_of(parsed.value()), identity_of(test_binding()));
}

TEST(Binding, WhatIsNoBinding) {
  std::string deep = "{\"torch\":" + std::string(20'000, '[') + std::string(20'000, ']') + "}";
  std::string unsorted = to_text(test_binding());
  unsorted.replace(unsorted.find("avx"), 3, "zzz");
  for (const std::string& text : {std::string(), std::string("[]"), std::string("{}"), deep,
                                  unsorted, std::string(binding_bytes_max + 1, ' ')}) {
    EXPECT_FALSE(parse_binding(text, "x").ok()) << text.substr(0, 40);
  }
}

TEST(Binding, FamilyAndTimeAreNotPartOfTheIdentity) {
  Binding other = test_binding(77);
  other.family = "others";
  EXPECT_EQ(identity_of(other), identity_of(test_binding()));
  EXPECT_EQ(difference(other, test_binding()), "");
  for (std::string Binding::* text : {&Binding::torch, &Binding::torch_git, &Binding::python,
                                      &Binding::environment, &Binding::arch, &Binding::gpu}) {
    Binding changed = test_binding();
    changed.*text += "x";
    EXPECT_NE(identity_of(changed), identity_of(test_binding()));
    EXPECT_NE(difference(changed, test_binding()), "");
    EXPECT_EQ(check_fits(test_binding(), changed, "x").ok(), text == &Binding::environment);
    EXPECT_NE(misfit(test_binding(), changed, false), "");
    EXPECT_EQ(misfit(test_binding(), changed, true).empty(), text == &Binding::environment);
  }
}

TEST(Binding, MoreInstructionsAreFineFewerAreNot) {
  Binding here = test_binding();
  here.cpu_flags = {"avx", "avx2", "avx512f"};
  EXPECT_TRUE(check_fits(test_binding(), here, "x").ok());
  here.cpu_flags = {"avx"};
  const auto status = check_fits(test_binding(), here, "x");
  EXPECT_NE(status.message().find("avx2"), std::string::npos);
  here = {};  // torch is not known
  here.arch = "x86_64";
  here.cpu_flags = {"avx", "avx2"};
  EXPECT_TRUE(check_fits(test_binding(), here, "x").ok());
}

TEST(Runtime, VersionsAreReadFromNames) {
  EXPECT_EQ(glibc_minor_of("2.36"), 36U);
  EXPECT_EQ(glibc_minor_of("2.36.9000"), 36U);
  EXPECT_EQ(libstdcxx_minor_of("libstdc++.so.6.0.30"), 30U);
  for (const char* text : {"", "2", "2.", "2.x", "3.1", "2.36x", "2.100", "2.99999999999"}) {
    EXPECT_FALSE(glibc_minor_of(text)) << text;
  }
  EXPECT_FALSE(libstdcxx_minor_of("libstdc++.so.6"));
  EXPECT_FALSE(libstdcxx_minor_of("libstdc++.so.7.0.30"));
}

TEST(Runtime, AnArchiveOfANewerSystemDoesNotFitAnOlderOne) {
  const auto machine = [](unsigned glibc, unsigned libstdcxx) {
    Binding binding = test_binding();
    for (std::string& flag : runtime_flags(glibc, libstdcxx)) {
      binding.cpu_flags.push_back(std::move(flag));
    }
    std::ranges::sort(binding.cpu_flags);
    EXPECT_TRUE(parse_binding(to_text(binding), "x").ok());
    return binding;
  };
  const Binding older = machine(36, 30), newer = machine(39, 33);
  EXPECT_EQ(misfit(older, newer, false), "");
  EXPECT_EQ(misfit(newer, older, false),
            "this machine lacks glibc2.37 glibc2.38 glibc2.39 libstdc++3.4.31 libstdc++3.4.32 "
            "libstdc++3.4.33");
  EXPECT_FALSE(check_fits(newer, older, "x").ok());
  EXPECT_TRUE(check_fits(test_binding(), older, "x").ok()) << "one from before says nothing of it";
  EXPECT_TRUE(runtime_flags(std::nullopt, std::nullopt).empty());
  EXPECT_EQ(runtime_flags(27, 24), std::vector<std::string>());
#if defined(__GLIBC__)
  const auto here = runtime_flags_here();
  EXPECT_TRUE(std::ranges::find(here, "glibc2.28") != here.end());
  EXPECT_TRUE(std::ranges::find(here, "libstdc++3.4.25") != here.end());
#endif
}

TEST(Cpu, WhatEveryProcessorHas) {
  const std::vector<std::string> expected = {"amx_tile", "avx2", "bmi1", "popcnt"};
  EXPECT_EQ(cpu_flags_of("processor\t: 0\nflags\t\t: fpu vme avx2 avx512f bmi1 amx_tile popcnt\n\n"
                         "processor\t: 1\nflags\t\t: fpu popcnt amx_tile avx2 bmi1 svm\n"),
            expected);
  EXPECT_EQ(cpu_flags_of("Features\t: fp asimd sve\n"),
            (std::vector<std::string>{"asimd", "fp", "sve"}));
  EXPECT_TRUE(cpu_flags_of("").empty());
  Binding here;
  EXPECT_TRUE(add_this_cpu(here).ok());
  EXPECT_FALSE(here.arch.empty());
  // Sorted, each once, with the libraries' own, as a binding has to be.
  for (const std::string& flag : runtime_flags_here()) {
    EXPECT_EQ(std::ranges::count(here.cpu_flags, flag), 1) << flag;
  }
  here.family = "tests";
  EXPECT_TRUE(parse_binding(to_text(here), "x").ok());
#if defined(__x86_64__)
  EXPECT_TRUE(std::ranges::find(here.cpu_flags, "sse2") != here.cpu_flags.end());
#endif
}

}  // namespace
}  // namespace headway::cache
