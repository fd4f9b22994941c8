// For tests: a PostgreSQL server of their own, on a socket in a folder that goes away with it. It
// dies with the test's process, whatever becomes of that.
#pragma once

#include <grp.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/temp_dir.h"

namespace headway::store {

class PostgresServer {
 public:
  // Where the server's programs are; empty: nowhere.
  static std::string programs() {
    std::vector<std::string> found;
    std::error_code ignored;
    for (const auto& each : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
      const std::string bin = each.path().string() + "/bin";
      if (std::filesystem::exists(bin + "/initdb")) found.push_back(bin);
    }
    return found.empty() ? "" : *std::ranges::max_element(found);
  }

  // The one of this process, started when it is first asked for.
  static PostgresServer& shared() {
    static PostgresServer server;
    return server;
  }

  PostgresServer() {
    account_ = ::geteuid() == 0 ? ::getpwnam("postgres") : nullptr;
    if (account_ != nullptr) {
      EXPECT_EQ(::chown(dir_.path().c_str(), account_->pw_uid, account_->pw_gid), 0);
    }
    const pid_t made = spawn({programs() + "/initdb", "-D", data(), "-U", "headway", "-A", "trust",
                              "-E", "UTF8", "--no-locale", "--no-sync"},
                             false);
    EXPECT_EQ(wait_for(made), 0) << log();
    std::ofstream(data() + "/pg_hba.conf")
        << "local all locked scram-sha-256\nlocal all all trust\n";
    start();
  }
  ~PostgresServer() { stop(SIGQUIT); }
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  void start() {
    server_ = spawn({programs() + "/postgres", "-D", data(), "-k", dir_.path(), "-h", "", "-c",
                     "fsync=off", "-c", "max_connections=60", "-c", "shared_buffers=32MB"},
                    true);
    const std::string where = "host=" + dir_.path() + " dbname=postgres user=headway";
    while (PQping(where.c_str()) != PQPING_OK) {
      ASSERT_EQ(::waitpid(server_, nullptr, WNOHANG), 0) << log();
      ::usleep(20'000);
    }
  }
  void stop(int signal) {
    if (server_ <= 0) return;
    ::kill(server_, signal);
    wait_for(server_);
    server_ = 0;
  }
  [[nodiscard]] pid_t pid() const { return server_; }

  // Made when it is first named.
  std::string url(const std::string& database, const std::string& user = "headway",
                  const std::string& more = "") {
    if (databases_.insert(database).second) sql("postgres", "CREATE DATABASE \"" + database + "\"");
    return url_of(database, user, more);
  }
  // As it is.
  [[nodiscard]] std::string url_of(const std::string& database, const std::string& user = "headway",
                                   const std::string& more = "") const {
    return "postgres://" + user + "@/" + database + "?host=" + dir_.path() + more;
  }
  [[nodiscard]] const std::string& dir() const { return dir_.path(); }

  // As the owner of everything. The first value of the answer.
  std::string sql(const std::string& database, const std::string& statement) {
    const std::string where = "host=" + dir_.path() + " dbname=" + database + " user=headway";
    const std::unique_ptr<PGconn, void (*)(PGconn*)> db(PQconnectdb(where.c_str()), &PQfinish);
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(db.get(), statement.c_str()),
                                                                &PQclear);
    const auto status = PQresultStatus(result.get());
    EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        << statement << ": " << PQerrorMessage(db.get());
    return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
  }

 private:
  [[nodiscard]] std::string data() const { return dir_.path() + "/data"; }
  [[nodiscard]] std::string log() const {
    std::ifstream file(dir_.path() + "/log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static int wait_for(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }
  // Not as root: the server refuses that.
  pid_t spawn(const std::vector<std::string>& words, bool dies_with_us) {
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const std::string out = dir_.path() + "/log";
    const pid_t child = ::fork();
    if (child != 0) return child;
    if (account_ != nullptr && (::setgroups(0, nullptr) != 0 || ::setgid(account_->pw_gid) != 0 ||
                                ::setuid(account_->pw_uid) != 0)) {
      ::_exit(126);
    }
    if (dies_with_us) ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (::chdir("/") != 0 || std::freopen(out.c_str(), "a", stdout) == nullptr) ::_exit(126);
    ::dup2(1, 2);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }

  base::TempDir dir_;
  const passwd* account_ = nullptr;
  pid_t server_ = 0;
  std::set<std::string> databases_;
};

}  // namespace headway::store
