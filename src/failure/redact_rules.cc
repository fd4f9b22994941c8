#include "failure/redact_rules.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <string>
#include <vector>

#include "failure/literals.h"
#include "failure/redact_value.h"
#include "failure/rules.h"

namespace headway::failure {
namespace {

// A name that ends so holds a secret. "token" is one only if its value looks like one, too.
constexpr const char* kNames =
    "(?:password|passwd|passphrase|secret|token|storage_key|"
    "(?:api|access|secret|private|signing|encryption|account|auth|shared|master|ssh|openai)"
    "[_-]?key(?:[_-]?id)?)";

bool always(std::string_view, const Value&) {
  return true;
}

bool is_random(std::string_view text, const Value& value) {
  return looks_random(text.substr(value.begin, value.end - value.begin));
}

bool is_long(std::string_view, const Value& value) {
  constexpr std::size_t long_bytes_min = 12;
  return value.end - value.begin >= long_bytes_min;
}

// The secret is the pattern's first group.
struct Shape {
  std::string_view kind;
  std::vector<std::string> literals;  // one of them is in every match, in any case
  const char* pattern;
  bool (*is_secret)(std::string_view text, const Value& value) = always;
};

// clang-format off: a table
const std::vector<Shape>& shapes() {
  static const std::vector<Shape> kShapes = {
    {"private-key", {"private key"},
     R"((-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)"
     R"((?:.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|.*)))"},
    {"password", {"://"},
     R"(\b[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#@"'<>:]*:([^\s/@"'<>]+)@)"},
    {"authorization", {"authorization"},
     R"((?i)\bauthorization["'\\]*\s*[:=]\s*["'\\]*(?:bearer|basic|token|digest|negotiate)"
     R"(|apikey|aws4-hmac-sha256)\s+([^\s"'\\,;]+))"},
    {"authorization", {"authorization"},
     R"((?i)\bauthorization["'\\]*\s*[:=]\s*["'\\]*([^\s"'\\,;]+))", is_long},
    {"bearer", {"bearer"},
     R"((?i)\bbearer\s+([A-Za-z0-9._~+/=-]{8,}))", is_random},
    {"cookie", {"cookie"},
     R"((?i)\bcookie["'\\]*\s*:\s*["'\\]*([\w.-]+=[^"'\\]+))"},
    {"huggingface-token", {"hf_", "api_org_"},
     R"(\b((?:hf|api_org)_[A-Za-z0-9]{20,})\b)", is_random},
    {"github-token", {"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"},
     R"(\b((?:gh[pousr]|github_pat)_[A-Za-z0-9_]{20,}))"},
    {"gitlab-token", {"glpat-"},
     R"(\b(glpat-[A-Za-z0-9_-]{20,}))"},
    {"api-key", {"sk-"},
     R"(\b(sk-[A-Za-z0-9_-]{20,}))", is_random},
    {"api-key", {"k_live_", "k_test_"},
     R"(\b([sr]k_(?:live|test)_[A-Za-z0-9]{16,}))"},
    {"api-key", {"nvapi-", "aiza", "r8_"},
     R"(\b(nvapi-[A-Za-z0-9_-]{40,}|AIza[A-Za-z0-9_-]{35,}|r8_[A-Za-z0-9]{30,}))"},
    {"access-token", {"ya29.", "dckr_pat_", "hvs."},
     R"(\b(ya29\.[A-Za-z0-9_-]{20,}|dckr_pat_[A-Za-z0-9_-]{20,}|hvs\.[A-Za-z0-9_-]{20,}))"},
    {"aws-key-id", {"akia", "asia"},
     R"(\b((?:AKIA|ASIA)[A-Z0-9]{16})\b)"},
    {"slack-token", {"xoxa-", "xoxb-", "xoxc-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"},
     R"(\b(xox[abceoprs]-[A-Za-z0-9-]{10,}))"},
    {"npm-token", {"npm_"},
     R"(\b(npm_[A-Za-z0-9]{30,}))", is_random},
    {"pypi-token", {"pypi-"},
     R"(\b(pypi-[A-Za-z0-9_-]{32,}))", is_random},
    {"jwt", {"eyj"},
     R"(\b(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?))"},
    {"signature", {"x-amz-", "x-goog-", "awsaccesskeyid"},
     R"((?i)\b(?:x-(?:amz|goog)-(?:signature|credential|security-token))"
     R"(|awsaccesskeyid)=([^&\s"'<>]+))"},
    {"signature", {"sig=", "signature="},
     R"((?i)\b(?:sig|signature)=([A-Za-z0-9+/%_=-]{16,}))", is_random},
    {"wandb-key", {"wandb"},
     R"((?i)\bwandb\b.*\b(?:key\b["'\\]*\s*[:=(]|login)\s*["'\\]*([0-9a-f]{40})\b)"},
    {"password", {"machine"},
     R"((?i)\bmachine\s+\S+\s+login\s+\S+\s+password\s+(\S+))"},
    {"password", {"auth"},
     R"((?i)\bauth\s*=\s*\(\s*[rbu]?["'][^"']*["']\s*,\s*[rbu]?["']([^"']+))"},
    {"password", {"pwd"},
     R"((?i);\s*pwd\s*=\s*([^;"'\s]+))"},
    {"password", {"curl"},
     R"(\bcurl\b.*\s(?:-u|--user)[\s=]+["']?[^\s:"']+:([^\s"']+))"},
    {"password", {"sshpass"},
     R"(\bsshpass\s+-p\s*["']?([^\s"']+))"},
  };
  return kShapes;
}
// clang-format on

const std::vector<std::string>& name_literals() {
  static const std::vector<std::string> kLiterals = {"passw", "passphrase", "secret", "token",
                                                     "key"};
  return kLiterals;
}

struct Compiled {
  explicit Compiled(const Shape& of) : shape(&of), pattern(of.pattern, pattern_options()) {}
  const Shape* shape;
  re2::RE2 pattern;
};

// Everything that is made once.
struct Tables {
  Tables() {
    std::vector<std::string> literals;
    const auto add = [&](const std::vector<std::string>& more, std::size_t owner) {
      for (const std::string& literal : more) {
        literals.push_back(literal);
        owner_of_literal.push_back(owner);
      }
    };
    for (const Shape& shape : shapes()) {
      add(shape.literals, compiled.size());
      compiled.push_back(std::make_unique<Compiled>(shape));
    }
    add(name_literals(), compiled.size());
    literal_set = std::make_unique<LiteralSet>(std::move(literals));
  }

  std::vector<std::unique_ptr<Compiled>> compiled;
  std::vector<std::size_t> owner_of_literal;  // a shape, or compiled.size(): a name
  std::unique_ptr<LiteralSet> literal_set;
};

const Tables& tables() {
  static const Tables kTables;
  return kTables;
}

std::optional<Secret> find_shape(std::string_view text, const Compiled& compiled) {
  const re2::StringPiece whole(text.data(), text.size());
  std::array<re2::StringPiece, 2> groups;
  for (std::size_t from = 0; from < text.size();) {
    if (!compiled.pattern.Match(whole, from, text.size(), re2::RE2::UNANCHORED, groups.data(), 2)) {
      return std::nullopt;
    }
    const auto begin = static_cast<std::size_t>(groups[1].data() - text.data());
    const Value value{begin, begin + groups[1].size(), false};
    if (value.end > value.begin && compiled.shape->is_secret(text, value)) {
      return Secret{value.begin, value.end, compiled.shape->kind};
    }
    from = std::max(from + 1, value.end);
  }
  return std::nullopt;
}

// Names of tokens that models read and write, not of tokens that open doors.
bool is_model_token(std::string_view key) {
  static const re2::RE2 kModel(
      R"((?i)(?:^|[_.-])(?:pad|eos|bos|unk|mask|sep|cls|image|img|video|audio|start|end|stop)"
      R"(|next|last|first|prev|previous|current|special|per|new|input|output|prompt|each|every)"
      R"(|text|tool|think|label|extra|sub|by)[_-]?token$)",
      pattern_options());
  return re2::RE2::PartialMatch(re2::StringPiece(key.data(), key.size()), kModel);
}

// A token that opens doors by its name alone: HF_TOKEN, accessToken, auth-token.
bool is_access_token(std::string_view key) {
  static const re2::RE2 kAccess(
      R"([A-Z0-9_]+_TOKEN|(?i:.*(?:access|auth|refresh|bearer|id|session|security|api|hf|hub)"
      R"(|github|gitlab|slack|csrf|xsrf|bot|login|user|secret|personal|deploy|wandb)"
      R"(|registry)[_.-]?token))",
      pattern_options());
  return re2::RE2::FullMatch(re2::StringPiece(key.data(), key.size()), kAccess);
}

bool ends_in_token(std::string_view key) {
  constexpr std::string_view kToken = "token";
  return key.size() >= kToken.size() &&
         std::equal(kToken.begin(), kToken.end(), key.end() - kToken.size(), [](char a, char b) {
           return a == std::tolower(static_cast<unsigned char>(b));
         });
}

std::string_view kind_of(std::string_view key) {
  std::string lowered(key);
  for (char& c : lowered) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (ends_in_token(key)) return "token";
  if (lowered.find("pass") != std::string::npos) return "password";
  return lowered.ends_with("secret") ? "secret" : "key";
}

bool holds_secret(std::string_view key, std::string_view separator, std::string_view text,
                  const Value& value) {
  constexpr std::size_t assigned_token_bytes_min = 8;
  const std::string_view content = text.substr(value.begin, value.end - value.begin);
  if (is_placeholder(content, key, value.quoted)) return false;
  if (!ends_in_token(key)) return true;
  if (is_model_token(key) || is_number(content) || content.starts_with('<')) return false;
  if (is_access_token(key) || separator == " ") return true;
  if (separator == "=") return content.size() >= assigned_token_bytes_min;
  return looks_random(content);
}

// In YAML a password may hold spaces: `password: correct horse`, alone on its line.
bool fills_line(std::string_view text, std::size_t key_begin, std::string_view separator,
                const Value& value) {
  const bool first = text.find_first_not_of(" \t-") == key_begin;
  return first && separator == ":" && !value.quoted && value.end > value.begin;
}

// key=value in its many notations; `--key value` too.
std::optional<Secret> find_named(std::string_view text) {
  static const re2::RE2 kNamed(std::string(R"((?i)([\w.-]*)") + kNames +
                                   R"()(?:["'\\\]]*[ \t]{0,4}(:=|=>|[:=])[ \t]{0,16}))",
                               pattern_options());
  static const re2::RE2 kOption(std::string(R"((?i)(?:^|[\s"'\[,(])--?((?:[a-z0-9]+[-_])*)") +
                                    kNames + R"()(?:["']?[ \t]*,[ \t]*|[ \t]+)["']?)",
                                pattern_options());
  const re2::StringPiece whole(text.data(), text.size());
  for (const re2::RE2* pattern : {&kNamed, &kOption}) {
    const int groups_max = pattern == &kNamed ? 3 : 2;
    std::array<re2::StringPiece, 3> groups;
    for (std::size_t from = 0; from < text.size();) {
      if (!pattern->Match(whole, from, text.size(), re2::RE2::UNANCHORED, groups.data(),
                          groups_max)) {
        break;
      }
      const auto key_begin = static_cast<std::size_t>(groups[1].data() - text.data());
      const std::string_view key = text.substr(key_begin, groups[1].size());
      auto at = static_cast<std::size_t>(groups[0].data() + groups[0].size() - text.data());
      std::string_view separator = " ";
      if (pattern == &kNamed) separator = {groups[2].data(), groups[2].size()};
      // The option's own pattern has taken the quote; value_at() wants to see it.
      if (pattern == &kOption && (text[at - 1] == '"' || text[at - 1] == '\'')) --at;
      Value value = value_at(text, at);
      const bool option =
          pattern == &kOption && value.begin < text.size() && text[value.begin] == '-';
      if (!option && holds_secret(key, separator, text, value)) {
        if (kind_of(key) == "password" && fills_line(text, key_begin, separator, value)) {
          value.end = text.size();
        }
        return Secret{value.begin, value.end, kind_of(key)};
      }
      from = at;
    }
  }
  return std::nullopt;
}

}  // namespace

bool may_hold_secret(std::string_view text) {
  return tables().literal_set->any(text);
}

std::optional<Secret> find_secret(std::string_view piece) {
  const Tables& all = tables();
  std::vector<int> literals;
  all.literal_set->find(piece, literals);
  if (literals.empty()) return std::nullopt;
  std::vector<std::size_t> owners;
  for (const int literal : literals) {
    owners.push_back(all.owner_of_literal[static_cast<std::size_t>(literal)]);
  }
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  for (const std::size_t owner : owners) {
    const auto found =
        owner == all.compiled.size() ? find_named(piece) : find_shape(piece, *all.compiled[owner]);
    if (found) return found;
  }
  return std::nullopt;
}

bool opens_private_key(std::string_view text) {
  static const re2::RE2 kOpen(R"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)",
                              pattern_options());
  if (text.find("-----BEGIN ") == std::string_view::npos) return false;
  const std::size_t last = text.rfind("-----BEGIN ");
  const std::string_view rest = text.substr(last);
  return re2::RE2::PartialMatch(re2::StringPiece(rest.data(), rest.size()), kOpen) &&
         rest.find("-----END ") == std::string_view::npos;
}

}  // namespace headway::failure
