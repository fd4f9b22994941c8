#include "cli/command_line.h"

#include <CLI/CLI.hpp>

namespace headway::cli {
namespace {

class OwnUsage : public CLI::Formatter {
 public:
  explicit OwnUsage(std::string text) : text_(std::move(text)) {}
  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return text_;
  }

 private:
  const std::string text_;
};

// CLI11's own checks name the largest number that there is, of 309 digits.
double number_of(const std::string& text) {
  double number = -1;
  return CLI::detail::lexical_cast(text, number) ? number : -1;
}

}  // namespace

Option* Option::required() {
  self_->required();
  return this;
}

Option* Option::type_name(const std::string& name) {
  self_->type_name(name);
  return this;
}

Option* Option::range(std::int64_t least, std::int64_t most) {
  self_->check(CLI::Range(least, most));
  return this;
}

Option* Option::positive() {
  self_->check(CLI::Validator(
      [](std::string& text) { return number_of(text) > 0 ? "" : text + ": want a number above 0"; },
      "POSITIVE"));
  return this;
}

Option* Option::not_negative() {
  self_->check(CLI::Validator(
      [](std::string& text) {
        return number_of(text) >= 0 ? "" : text + ": want a number from 0 on";
      },
      "NONNEGATIVE"));
  return this;
}

Option* Option::one_of(const std::vector<std::string>& values) {
  self_->check(CLI::IsMember(values));
  return this;
}

Option* Option::as_bytes() {
  self_->transform(CLI::AsSizeValue(true));
  return this;
}

Option* Option::excludes(const Option* other) {
  self_->excludes(other->self_);
  return this;
}

Option* Option::hidden() {
  self_->group("");
  return this;
}

Option* Option::separated_by_commas() {
  self_->delimiter(',');
  return this;
}

Option* Option::one_value_each() {
  self_->expected(1)->take_all();
  return this;
}

Option* Option::last_counts() {
  self_->take_last();
  return this;
}

bool Option::takes_value() const {
  return self_->get_items_expected_min() > 0;
}
bool Option::is_empty() const {
  return self_->count() > 0 && self_->as<std::string>().empty();
}

Verb::~Verb() = default;

Verb* Verb::add_verb(const std::string& name, const std::string& what) {
  verbs_.push_back(std::unique_ptr<Verb>(new Verb(self_->add_subcommand(name, what))));
  return verbs_.back().get();
}

void Verb::hide() {
  self_->group("");
}
void Verb::require_verb() {
  self_->require_subcommand(1);
}

bool Verb::any_verb_was_named() const {
  return !self_->get_subcommands().empty();
}

Option* Verb::keep(CLI::Option* option) {
  options_.push_back(std::unique_ptr<Option>(new Option(option)));
  return options_.back().get();
}

template <typename T>
Option* Verb::bind(const std::string& names, T& to, const std::string& help) {
  return keep(self_->add_option(names, to, help));
}

Option* Verb::add_option(const std::string& n, std::string& to, const std::string& help) {
  return bind(n, to, help);
}
Option* Verb::add_option(const std::string& n, std::vector<std::string>& to,
                         const std::string& help) {
  return bind(n, to, help);
}
Option* Verb::add_option(const std::string& n, std::int32_t& to, const std::string& help) {
  return bind(n, to, help);
}
Option* Verb::add_option(const std::string& n, std::int64_t& to, const std::string& help) {
  return bind(n, to, help);
}
Option* Verb::add_option(const std::string& n, std::uint32_t& to, const std::string& help) {
  return bind(n, to, help);
}
Option* Verb::add_option(const std::string& n, std::uint64_t& to, const std::string& help) {
  return bind(n, to, help);
}
Option* Verb::add_option(const std::string& n, double& to, const std::string& help) {
  return bind(n, to, help);
}
Option* Verb::add_option(const std::string& n, std::optional<std::string>& to,
                         const std::string& help) {
  return bind(n, to, help);
}
Option* Verb::add_option(const std::string& n, std::optional<std::int32_t>& to,
                         const std::string& help) {
  return bind(n, to, help);
}
Option* Verb::add_option(const std::string& n, std::optional<std::int64_t>& to,
                         const std::string& help) {
  return bind(n, to, help);
}
Option* Verb::add_option(const std::string& n, std::optional<std::uint32_t>& to,
                         const std::string& help) {
  return bind(n, to, help);
}
Option* Verb::add_option(const std::string& n, std::optional<std::uint64_t>& to,
                         const std::string& help) {
  return bind(n, to, help);
}
Option* Verb::add_option(const std::string& n, std::optional<double>& to, const std::string& help) {
  return bind(n, to, help);
}

Option* Verb::add_flag(const std::string& names, bool& to, const std::string& help) {
  return keep(self_->add_flag(names, to, help));
}

void Verb::usage(const std::string& text) {
  self_->formatter(std::make_shared<OwnUsage>(text));
}
void Verb::footer(const std::string& text) {
  self_->footer(text);
}
void Verb::callback(std::function<void()> run) {
  self_->callback(std::move(run));
}
std::string Verb::name() const {
  return self_->get_name();
}

std::vector<const Verb*> Verb::verbs() const {
  std::vector<const Verb*> all;
  for (const auto& verb : verbs_) all.push_back(verb.get());
  return all;
}

const Verb* Verb::find_verb(const std::string& name) const {
  for (const auto& verb : verbs_) {
    if (verb->name() == name) return verb.get();
  }
  return nullptr;
}

const Option* Verb::find_option(const std::string& name) const {
  const CLI::Option* wanted = self_->get_option_no_throw(name);
  for (const auto& option : options_) {
    if (option->self_ == wanted) return option.get();
  }
  return nullptr;
}

std::size_t Verb::count(const std::string& option) const {
  return self_->count(option);
}

std::vector<std::string> Verb::long_names() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : self_->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

CommandLine::CommandLine(const std::string& name, const std::string& what,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(what)), root_(new Verb(app_.get())) {
  app_->name(name);
  app_->set_version_flag("--version", name + " " + version);
  root_->require_verb();
}

CommandLine::~CommandLine() = default;

CommandLine::Outcome CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& asked) {
    app_->exit(asked);
    return {.done = true, .error = {}};
  } catch (const CLI::ParseError& error) {
    return {.done = false, .error = error.what()};
  }
  return {};
}

}  // namespace headway::cli
