/* Headway's C ABI: the recorder inside a trainer process.
 *
 * What it is. A process calls hw_init() once; from then on every call below writes one 32-byte
 * record into a journal file that is mapped shared, so whatever was committed is read back even
 * after SIGKILL. docs/formats/journal.md describes the bytes.
 *
 * What it promises the trainer. No call blocks, throws, prints or changes errno. After hw_init()
 * the record calls (hw_begin … hw_device_done) make no system call, take no lock and allocate
 * nothing. Before hw_init(), after hw_shutdown(), or when the journal is full, they do nothing but
 * (in the last case) count a drop.
 *
 * Threads and forks. Any thread may call anything. Each thread gets a lane on its first record;
 * the thread that called hw_init() has lane 0, the training thread's. A forked child keeps
 * recording into the same journal on lanes of its own.
 *
 * Growth. Structures begin with struct_size, set by the caller to sizeof(the structure it was
 * compiled with). Numbers of enumerators never change meaning.
 */
#ifndef HEADWAY_HEADWAY_H_
#define HEADWAY_HEADWAY_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HW_API __attribute__((visibility("default")))
#define HW_ABI_VERSION 1u
#define HW_NO_DATA INT64_MIN /* `data` is not known: the step number serves */

/* Spans with a meaning to the attribution. Ids of the user's own phases come from hw_phase_id(). */
enum hw_phase {
  HW_PHASE_NONE = 0,
  HW_PHASE_IMPORTS = 1,
  HW_PHASE_DEVICE_INIT = 2,
  HW_PHASE_PROCESS_GROUP_INIT = 3,
  HW_PHASE_PREPROC_CREATION = 4,
  HW_PHASE_TRAIN_MODULE_CREATION = 5,
  HW_PHASE_INIT_PLUGINS = 6,
  HW_PHASE_PRE_TRAIN = 7,
  HW_PHASE_GET_FIRST_BATCH_DATA = 8,
  HW_PHASE_RESTORE = 9,
  HW_PHASE_COMPILE = 10,
  HW_PHASE_CHECKPOINT_BLOCKED = 11,
  HW_PHASE_DATA_WAIT = 12,
  HW_PHASE_EVAL = 13,
  HW_PHASE_PUBLISH = 14,
  HW_PHASE_JOIN = 15, /* this lane only waits for others: the earliest-declared open stage counts */
  HW_PHASE_USER_FIRST = 64
};

enum hw_mark {
  HW_MARK_SUBMITTED = 1,
  HW_MARK_RESOURCES_AVAILABLE = 2,
  HW_MARK_ALLOCATED = 3,
  HW_MARK_LAUNCHER_START = 4,
  HW_MARK_TRAINER_START = 5,
  HW_MARK_PREEMPT_NOTICE = 6,
  HW_MARK_FAILURE = 7,
  HW_MARK_EXIT = 8,
  HW_MARK_JOB_END = 9
};

enum hw_origin {
  HW_ORIGIN_NONE = 0, /* exit: a clean one; failure: not stated, counts as unknown */
  HW_ORIGIN_INFRA = 1,
  HW_ORIGIN_PREEMPTION = 2,
  HW_ORIGIN_USER = 3,
  HW_ORIGIN_UNKNOWN = 4
};

enum hw_checkpoint_state {
  HW_CHECKPOINT_STAGED = 1,
  HW_CHECKPOINT_DURABLE = 2,
  HW_CHECKPOINT_UPLOADED = 3, /* durable before, and now also outside of the machine's reach */
  HW_CHECKPOINT_FAILED = 4    /* it came to nothing: the one before is still the newest */
};

#define HW_RANK_AGENT UINT32_MAX   /* the launcher's own journal */
#define HW_RANK_UNKNOWN UINT32_MAX /* a failure that no rank can be named for */

typedef struct hw_options {
  uint32_t struct_size;
  uint32_t rank;
  uint32_t local_rank;
  uint32_t world_size;
  uint64_t attempt;   /* allocation * 65536 + launch */
  uint64_t max_bytes; /* bound of the journal file; 0: 1 GiB */
  const char* dir;    /* the folder of this attempt; made if missing */
  const char* job;
  const char* host; /* NULL: the machine's name */
} hw_options;

typedef struct hw_stats {
  uint32_t struct_size;
  uint32_t active;  /* 1 while recording */
  uint64_t records; /* reserved slots, names and anchors included */
  uint64_t dropped; /* records that found no room */
  uint64_t bytes;   /* of the file, allocated */
  uint64_t names;
  uint64_t names_dropped; /* names beyond the table: recorded as "~other" */
} hw_stats;

/* Opens this process's journal. options == NULL: from the environment (HEADWAY_DIR, HEADWAY_JOB,
 * HEADWAY_ATTEMPT, RANK, LOCAL_RANK, WORLD_SIZE; docs/formats/journal.md). Returns 0, or a positive
 * errno; EALREADY when it is open. A failure leaves the process unharmed and unrecorded. */
HW_API int hw_init(const hw_options* options);
/* Writes the closing anchor and stops recording; the file stays. Safe to call twice. */
HW_API void hw_shutdown(void);
/* Stops the background thread that keeps room in the journal, and starts it again. For runtimes
 * that object to a fork() while the process has several threads (Python from 3.12 on): pause before
 * it, resume after it in the parent. Recording goes on meanwhile, in the room that there is. */
HW_API void hw_pause(void);
HW_API void hw_resume(void);
/* The journal's path, or "" when there is none. Valid until the next hw_init(). */
HW_API const char* hw_journal_path(void);
HW_API void hw_get_stats(hw_stats* stats);

/* Ids are stable for the life of the journal. Not for the hot path: takes a lock, may allocate. */
HW_API uint16_t hw_phase_id(const char* name);
HW_API uint16_t hw_name_id(const char* text);
HW_API void hw_attr(const char* key, const char* value);

/* Ticks of the journal's clock, for the *_at calls. */
HW_API uint64_t hw_now(void);
/* The tick that corresponds to a CLOCK_MONOTONIC reading, for events that began before hw_init().
 */
HW_API uint64_t hw_ticks_from_monotonic_ns(int64_t monotonic_ns);

/* The hot path. */
HW_API void hw_begin(uint16_t phase);
HW_API void hw_end(uint16_t phase);
HW_API void hw_begin_at(uint16_t phase, uint64_t ticks);
HW_API void hw_end_at(uint16_t phase, uint64_t ticks);
HW_API void hw_end_compile(int warm); /* warm: every artefact came from a cache */
HW_API void hw_step(int64_t step, int64_t data);
HW_API void hw_step_end(int64_t step, int64_t data);
HW_API void hw_checkpoint(int64_t step, int64_t data, int state);
HW_API void hw_restore(int64_t step, int64_t data, uint16_t tier_name_id);
HW_API void hw_mark(uint16_t mark);
HW_API void hw_mark_at(uint16_t mark, uint64_t ticks);
/* failure and exit. `reason` is an id from hw_name_id() or 0. */
HW_API void hw_mark_end(uint16_t mark, int32_t exit_code, int32_t signal, int origin, uint32_t rank,
                        uint16_t reason);
/* From the launcher only: no progress since `since_ticks`. */
HW_API void hw_hang(uint64_t since_ticks, uint32_t rank);
/* Shall this rank save and end, because its launcher was asked to stop? To be called on every rank
 * after every step; then all ranks get their 1 after the same one. Waits a moment while that step
 * is being agreed on; otherwise two memory accesses. 0 outside `headway run`. Not of the hot path.
 */
HW_API int hw_should_stop(int64_t step);
/* The accelerator finished `step` at `ticks`; learnt later by a query, never by a wait. */
HW_API void hw_device_done(int64_t step, uint64_t ticks);

#ifdef __cplusplus
}
#endif
#endif
