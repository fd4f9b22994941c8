// For tests: a store that can be told to fail, to wait, or to have heard of jobs at odd times.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace headway::collector {

// Another store's, until it is told to fail, or to say something else of when a job was heard of.
class OddStore final : public store::Store {
 public:
  explicit OddStore(store::Store& real) : real_(real) {}

  bool fails = false, shared = false;
  std::int64_t ahead_ns = 0;
  std::function<void()> before_alerts;  // are asked for

  bool is_shared() const override { return shared; }
  base::Status batches(store::JobKey job, std::optional<std::uint64_t> attempt, std::int64_t after,
                       const std::function<bool(const store::BatchRow&)>& take) override {
    if (fails) return base::Status::corrupt("stored batch 1: is damaged");
    return real_.batches(job, attempt, after, take);
  }
  base::Result<std::optional<store::JobRow>> find_job(const std::string& tenant,
                                                      const std::string& name) override {
    auto row = real_.find_job(tenant, name);
    if (row.ok() && row->has_value()) row->value().heard_ns += ahead_ns;
    return row;
  }
  base::Result<std::vector<store::Appended>> append(std::span<const store::Append> all) override {
    return real_.append(all);
  }
  base::Result<std::vector<store::JobRow>> jobs(const std::string& tenant,
                                                std::size_t rows_max) override {
    return real_.jobs(tenant, rows_max);
  }
  base::Result<std::vector<store::JournalRow>> journals(store::JobKey job) override {
    return real_.journals(job);
  }
  base::Result<std::int64_t> newest_seq(store::JobKey job) override {
    return real_.newest_seq(job);
  }
  base::Status put_facts(std::span<const store::FactPut> facts) override {
    return real_.put_facts(facts);
  }
  base::Status facts(std::int64_t after,
                     const std::function<bool(const store::FactRow&)>& take) override {
    return real_.facts(after, take);
  }
  base::Result<std::optional<store::AlertRow>> put_alert(store::AlertRow alert,
                                                         const std::string& before) override {
    return real_.put_alert(std::move(alert), before);
  }
  base::Result<std::vector<store::AlertRow>> alerts(const std::string& tenant,
                                                    std::size_t rows_max) override {
    if (before_alerts) before_alerts();
    return real_.alerts(tenant, rows_max);
  }
  base::Result<std::uint64_t> forget_batches(std::int64_t before_ns) override {
    return real_.forget_batches(before_ns);
  }
  base::Result<std::uint64_t> forget_facts(std::int64_t before_ns) override {
    return real_.forget_facts(before_ns);
  }
  base::Status jobs_without_facts(
      std::int64_t before_ns,
      const std::function<void(const std::string&, const std::string&)>& take) override {
    return real_.jobs_without_facts(before_ns, take);
  }
  base::Result<std::vector<store::Token>> tokens() override { return real_.tokens(); }
  base::Result<bool> has_had_tokens() override { return real_.has_had_tokens(); }
  base::Result<store::Token> add_token(store::Token token) override {
    return real_.add_token(std::move(token));
  }
  base::Result<bool> remove_token(std::int64_t id) override { return real_.remove_token(id); }
  base::Result<std::vector<std::string>> check() override { return real_.check(); }
  base::Status back_up(const std::string& path) override { return real_.back_up(path); }

 private:
  store::Store& real_;
};

}  // namespace headway::collector
