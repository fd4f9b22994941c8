// What a verb takes: verbs of its own, options and flags. A thin face of CLI11, whose header costs
// the compiler some seconds in every file that sees it: only command_line.cc does.
//
// Verbs and options live as long as the CommandLine that they are of; what options are read into
// must live until the verb's callback is over. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace headway::cli {

// Each call returns the option itself.
class Option {
 public:
  Option* required();
  Option* type_name(const std::string& name);  // of its value, in the help
  Option* range(std::int64_t least, std::int64_t most);
  Option* positive();
  Option* not_negative();
  Option* one_of(const std::vector<std::string>& values);
  Option* as_bytes();  // "64M" is a number, too
  Option* excludes(const Option* other);
  Option* hidden();  // from the help
  Option* separated_by_commas();
  Option* one_value_each();  // may be repeated; the word behind a value is not another one
  Option* last_counts();     // may be repeated
  [[nodiscard]] bool takes_value() const;
  // Given, and with no text: a variable of a script that is not set.
  [[nodiscard]] bool is_empty() const;

 private:
  friend class Verb;
  explicit Option(CLI::Option* self) : self_(self) {}
  CLI::Option* self_;
};

class Verb {
 public:
  Verb(const Verb&) = delete;
  Verb& operator=(const Verb&) = delete;
  ~Verb();

  Verb* add_verb(const std::string& name, const std::string& what);
  void require_verb();
  [[nodiscard]] bool any_verb_was_named() const;  // in a callback
  void hide();                                    // from the help

  // A name without dashes is that of a positional argument.
  Option* add_option(const std::string& names, std::string& to, const std::string& help = "");
  Option* add_option(const std::string& names, std::vector<std::string>& to,
                     const std::string& help = "");
  Option* add_option(const std::string& names, std::int32_t& to, const std::string& help = "");
  Option* add_option(const std::string& names, std::int64_t& to, const std::string& help = "");
  Option* add_option(const std::string& names, std::uint32_t& to, const std::string& help = "");
  Option* add_option(const std::string& names, std::uint64_t& to, const std::string& help = "");
  Option* add_option(const std::string& names, double& to, const std::string& help = "");
  Option* add_option(const std::string& names, std::optional<std::string>& to,
                     const std::string& help = "");
  Option* add_option(const std::string& names, std::optional<std::int32_t>& to,
                     const std::string& help = "");
  Option* add_option(const std::string& names, std::optional<std::int64_t>& to,
                     const std::string& help = "");
  Option* add_option(const std::string& names, std::optional<std::uint32_t>& to,
                     const std::string& help = "");
  Option* add_option(const std::string& names, std::optional<std::uint64_t>& to,
                     const std::string& help = "");
  Option* add_option(const std::string& names, std::optional<double>& to,
                     const std::string& help = "");
  Option* add_flag(const std::string& names, bool& to, const std::string& help = "");

  void usage(const std::string& text);  // in place of the help's own
  void footer(const std::string& text);
  void callback(std::function<void()> run);

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::vector<const Verb*> verbs() const;
  [[nodiscard]] const Verb* find_verb(const std::string& name) const;  // null: there is none
  [[nodiscard]] const Option* find_option(const std::string& name) const;
  [[nodiscard]] std::size_t count(const std::string& option) const;  // how often it was given
  [[nodiscard]] std::vector<std::string> long_names() const;         // of all options

 private:
  friend class CommandLine;
  explicit Verb(CLI::App* self) : self_(self) {}
  Option* keep(CLI::Option* option);
  template <typename T>
  Option* bind(const std::string& names, T& to, const std::string& help);

  CLI::App* self_;
  std::vector<std::unique_ptr<Verb>> verbs_;
  std::vector<std::unique_ptr<Option>> options_;
};

class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& what, const std::string& version);
  ~CommandLine();
  [[nodiscard]] Verb& root() { return *root_; }

  // The callback of the verb that was named is called. `done`: --help or --version was asked for
  // and answered. An error is a person's line without a name before it.
  struct Outcome {
    bool done = false;
    std::string error;
  };
  Outcome parse(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<Verb> root_;
};

}  // namespace headway::cli
