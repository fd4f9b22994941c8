// The promise of the record path, counted for real: no system call (a seccomp filter kills the
// child at the first one), no allocation and no lock (both interposed in front of the C library).
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/clock.h"
#include "record/test_util.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEADWAY_SANITIZED 1
#endif

namespace {
__thread bool t_armed = false;
__thread int t_allocations = 0;
__thread int t_locks = 0;
}  // namespace

#ifndef HEADWAY_SANITIZED  // sanitizers bring allocators and locks of their own
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t bytes) {
  t_allocations += t_armed;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  t_allocations += t_armed;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  t_allocations += t_armed;
  return __libc_realloc(memory, bytes);
}
void free(void* memory) {
  t_allocations += t_armed;
  __libc_free(memory);
}

#define HW_COUNT_LOCK(function, type)                                                        \
  int function(type* lock) noexcept(noexcept(::function(lock))) {                            \
    t_locks += t_armed;                                                                      \
    static auto* const real = reinterpret_cast<int (*)(type*)>(dlsym(RTLD_NEXT, #function)); \
    return real(lock);                                                                       \
  }
HW_COUNT_LOCK(pthread_mutex_lock, pthread_mutex_t)
HW_COUNT_LOCK(pthread_mutex_trylock, pthread_mutex_t)
HW_COUNT_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
HW_COUNT_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
HW_COUNT_LOCK(pthread_spin_lock, pthread_spinlock_t)
HW_COUNT_LOCK(sem_wait, sem_t)
#undef HW_COUNT_LOCK
}
#endif

namespace headway::record {
namespace {

struct Ids {
  std::uint16_t phase;
  std::uint16_t tier;
};

void record_everything(const Ids& ids, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    hw_begin(ids.phase);
    hw_end(ids.phase);
    hw_begin_at(HW_PHASE_EVAL, hw_now());
    hw_end_at(HW_PHASE_EVAL, hw_now());
    hw_begin(HW_PHASE_COMPILE);
    hw_end_compile(i & 1);
    hw_step(i, i);
    hw_step_end(i, HW_NO_DATA);
    hw_checkpoint(i, i, HW_CHECKPOINT_STAGED);
    hw_restore(i, i, ids.tier);
    hw_mark(HW_MARK_PREEMPT_NOTICE);
    hw_mark_at(HW_MARK_ALLOCATED, 5);
    hw_mark_end(HW_MARK_FAILURE, 1, 0, HW_ORIGIN_USER, 3, ids.tier);
    hw_hang(hw_now(), 1);
    hw_device_done(i, hw_now());
  }
}

Ids ids() {
  return {hw_phase_id("my own phase"), hw_name_id("replica")};
}

// From here on every system call of this thread but exit_group kills the process with SIGSYS.
bool forbid_system_calls() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog filter{std::size(program), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

constexpr int kNoSeccomp = 77;

int run_forbidden(const std::string& dir, bool disobey, bool full) {
  return in_child([&] {
    if (init_in(dir, full ? 8192 : 0) != 0) return 1;
    const Ids my_ids = ids();
    if (!full && !wait_for_room(20000)) return 2;
    if (!forbid_system_calls()) return kNoSeccomp;
    record_everything(my_ids, 1000);
    if (disobey) ::syscall(SYS_getppid);
    const hw_stats s = stats();
    return (s.dropped > 0) == full && s.records > (full ? 100u : 15000u) ? 0 : 3;
  });
}

TEST(HotPath, MakesNoSystemCall) {
#ifdef HEADWAY_SANITIZED
  GTEST_SKIP() << "sanitizers make system calls of their own";
#endif
  for (const bool full : {false, true}) {
    const TempDir dir;
    const int status = run_forbidden(dir.path(), false, full);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNoSeccomp) GTEST_SKIP() << "no seccomp here";
    ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0) << "full " << full;
  }
  const TempDir dir;
  const int status = run_forbidden(dir.path(), true, false);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) << "the filter does not work";
}

TEST(HotPath, TakesNoLockAndAllocatesNothing) {
#ifdef HEADWAY_SANITIZED
  GTEST_SKIP() << "sanitizers bring their own allocator";
#endif
  const TempDir dir;
  ASSERT_EQ(init_in(dir.path()), 0);
  ASSERT_TRUE(wait_for_room(40000));
  const Ids my_ids = ids();
  const auto count = [&my_ids](int rounds) {
    t_allocations = t_locks = 0;
    t_armed = true;
    record_everything(my_ids, rounds);
    t_armed = false;
  };
  count(1000);
  EXPECT_EQ(t_allocations, 0);
  EXPECT_EQ(t_locks, 0);
  // A thread's very first record takes its lane: that must be as cheap.
  std::thread([&count] {
    count(1);
    EXPECT_EQ(t_allocations, 0);
    EXPECT_EQ(t_locks, 0);
  }).join();
  EXPECT_EQ(stats().dropped, 0u);

  // The counters themselves work: interning is allowed to do both.
  t_armed = true;
  hw_name_id("a name that is new and too long for the small string optimisation");
  t_armed = false;
  EXPECT_GT(t_allocations, 0);
  EXPECT_GT(t_locks, 0);
  hw_shutdown();
  t_allocations = t_locks = 0;
  t_armed = true;
  record_everything(my_ids, 10);
  t_armed = false;
  EXPECT_EQ(t_allocations + t_locks, 0);
}

}  // namespace
}  // namespace headway::record
