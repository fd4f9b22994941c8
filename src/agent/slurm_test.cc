#include "agent/slurm.h"

#include <gtest/gtest.h>

#include "headway/headway.h"

namespace headway::agent {
namespace {

// As Slurm 22.05 writes it, shortened; a job in its grace time.
constexpr const char* kInGrace =
    "JobId=7 JobName=train UserId=ada(1000) GroupId=ada(1000) MCS_label=N/A Priority=1 Nice=0 "
    "Account=(null) QOS=(null) JobState=RUNNING Reason=None Dependency=(null) Requeue=1 Restarts=2 "
    "BatchFlag=1 Reboot=0 ExitCode=0:0 RunTime=00:00:02 TimeLimit=1-00:00:00 TimeMin=N/A "
    "SubmitTime=1794813604 EligibleTime=1794813610 AccrueTime=1794813610 StartTime=1794813700 "
    "EndTime=1794813714 Deadline=N/A PreemptEligibleTime=1794813700 PreemptTime=1794813706 "
    "SuspendTime=None Partition=low AllocNode:Sid=login:16079 Command=/home/ada/a b.sh "
    "WorkDir=/home/ada StdErr=/home/ada/slurm-7.out StdIn=/dev/null StdOut=/home/ada/slurm-7.out\n";

constexpr std::int64_t kNow = 1794813707;

SlurmJob job_in(const char* state, std::uint64_t restarts = 0) {
  SlurmJob job;
  job.state = state;
  job.restarts = restarts;
  job.batch = true;
  job.requeue_allowed = true;
  return job;
}

TEST(ParseSlurmJob, TakesWhatItKnows) {
  const auto job = parse_slurm_job(kInGrace);
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->state, "RUNNING");
  EXPECT_TRUE(job->batch);
  EXPECT_TRUE(job->requeue_allowed);
  EXPECT_EQ(job->restarts, 2u);
  EXPECT_EQ(job->submit_s, 1794813604);
  EXPECT_EQ(job->eligible_s, 1794813610);
  EXPECT_EQ(job->start_s, 1794813700);
  EXPECT_EQ(job->preempt_s, 1794813706) << "not PreemptEligibleTime";
  EXPECT_EQ(job->partition, "low");
  EXPECT_EQ(job->error_path, "/home/ada/slurm-7.out");
}

TEST(ParseSlurmJob, UnknownTimesAreNone) {
  const auto job = parse_slurm_job("JobState=COMPLETING EndTime=Unknown PreemptTime=None\n");
  ASSERT_TRUE(job.has_value());
  EXPECT_FALSE(job->end_s.has_value());
  EXPECT_FALSE(job->preempt_s.has_value());
  EXPECT_FALSE(job->submit_s.has_value());
}

TEST(ParseSlurmJob, GarbageIsNoAnswer) {
  EXPECT_FALSE(parse_slurm_job("").has_value());
  EXPECT_FALSE(parse_slurm_job("slurm_load_jobs error: Unable to contact").has_value());
  EXPECT_FALSE(parse_slurm_job("XJobState=RUNNING").has_value());
}

TEST(ParseSlurmJob, WhatSlurmIsJustDoingToAJobIsNotItsState) {
  EXPECT_EQ(parse_slurm_job("JobId=1 JobState=SIGNALING Reason=None")->state, "RUNNING");
  EXPECT_EQ(parse_slurm_job("JobId=1 JobState=COMPLETING Reason=None")->state, "COMPLETING");
}

TEST(AllocationTimes, AHoldIsNotTheQueue) {
  SlurmJob job = job_in("RUNNING");
  job.submit_s = 100;
  job.eligible_s = 160;
  job.start_s = 200;
  EXPECT_EQ(allocation_times(job, 0).submitted_s, 160);
  EXPECT_EQ(allocation_times(job, 0).allocated_s, 200);
}

TEST(AllocationTimes, ThePauseAfterARequeueIsTheQueue) {
  SlurmJob job = job_in("RUNNING", 1);
  job.submit_s = 100;
  job.eligible_s = 220;
  job.start_s = 230;
  EXPECT_EQ(allocation_times(job, 1).submitted_s, 100);
}

TEST(AllocationTimes, OfAnotherLifeAreNotOurs) {
  SlurmJob job = job_in("PENDING", 1);
  job.submit_s = 100;
  job.start_s = 500;
  EXPECT_FALSE(allocation_times(job, 0).submitted_s.has_value());
  EXPECT_FALSE(allocation_times(job, 0).allocated_s.has_value());
}

TEST(CauseOfStop, TheControllerKnowsAPreemptionWhileTheGraceTimeRuns) {
  EXPECT_EQ(cause_of_stop(*parse_slurm_job(kInGrace), 2, kNow, ""), StopCause::preemption);
}

TEST(CauseOfStop, AfterARequeueOnlySlurmstepdKnows) {
  const SlurmJob requeued = job_in("COMPLETING", 1);
  EXPECT_EQ(cause_of_stop(requeued, 0, kNow, ""), StopCause::unknown);
  EXPECT_EQ(cause_of_stop(requeued, 0, kNow,
                          "step 9\nslurmstepd-n1: error: *** JOB 7 ON n1 CANCELLED AT "
                          "2026-11-16T07:20:27 DUE TO PREEMPTION ***\n"),
            StopCause::preemption);
  EXPECT_EQ(
      cause_of_stop(requeued, 0, kNow, "*** JOB 7 ON n1 CANCELLED AT x DUE TO JOB REQUEUE ***"),
      StopCause::requeue);
  EXPECT_EQ(
      cause_of_stop(requeued, 0, kNow, "*** JOB 7 ON n1 CANCELLED AT x DUE TO NODE FAILURE ***"),
      StopCause::node_failure);
}

TEST(CauseOfStop, TheScriptsOwnWordsAreNotSlurms) {
  EXPECT_EQ(
      cause_of_stop(job_in("COMPLETING", 1), 0, kNow, "order 3 CANCELLED AT DUE TO PREEMPTION"),
      StopCause::unknown);
}

TEST(CauseOfStop, ScancelIsNotAPreemption) {
  const char* words = "slurmstepd-n1: error: *** JOB 13 ON n1 CANCELLED AT 2026-11-16T07:22:33 ***";
  EXPECT_EQ(cause_of_stop(job_in("COMPLETING"), 0, kNow, words), StopCause::cancelled);
  EXPECT_EQ(cause_of_stop(job_in("CANCELLED"), 0, kNow, ""), StopCause::cancelled);
}

TEST(CauseOfStop, TheTimeLimit) {
  SlurmJob job = job_in("COMPLETING");
  job.reason = "TimeLimit";
  EXPECT_EQ(cause_of_stop(job, 0, kNow, ""), StopCause::time_limit);
}

TEST(CauseOfStop, AWarningBeforeTheTimeLimit) {
  SlurmJob job = job_in("RUNNING");
  job.end_s = kNow + 60;
  EXPECT_EQ(cause_of_stop(job, 0, kNow, ""), StopCause::time_limit);
  job.end_s = kNow + warning_s_max + 1;
  EXPECT_EQ(cause_of_stop(job, 0, kNow, ""), StopCause::unknown);
}

TEST(CauseOfStop, ASignalByHandIsNobodysWord) {
  EXPECT_EQ(cause_of_stop(job_in("RUNNING"), 0, kNow, ""), StopCause::unknown);
}

TEST(Origin, FollowsTheCause) {
  EXPECT_EQ(origin_of(StopCause::preemption), HW_ORIGIN_PREEMPTION);
  EXPECT_EQ(origin_of(StopCause::cancelled), HW_ORIGIN_USER);
  EXPECT_EQ(origin_of(StopCause::time_limit), HW_ORIGIN_USER);
  EXPECT_EQ(origin_of(StopCause::node_failure), HW_ORIGIN_INFRA);
  EXPECT_EQ(origin_of(StopCause::requeue), HW_ORIGIN_UNKNOWN);
  EXPECT_EQ(origin_of(StopCause::unknown), HW_ORIGIN_UNKNOWN);
}

TEST(ShouldRequeue, OnlyInsideTheGraceTimeOfAPreemption) {
  const SlurmJob in_grace = *parse_slurm_job(kInGrace);
  EXPECT_TRUE(should_requeue(in_grace, 2, StopCause::preemption, RequeueWhen::preempted));
  EXPECT_FALSE(should_requeue(in_grace, 2, StopCause::cancelled, RequeueWhen::preempted));
  EXPECT_FALSE(should_requeue(in_grace, 1, StopCause::preemption, RequeueWhen::preempted))
      << "requeued already";
  SlurmJob job = in_grace;
  job.requeue_allowed = false;
  EXPECT_FALSE(should_requeue(job, 2, StopCause::preemption, RequeueWhen::preempted))
      << "sbatch --no-requeue";
  job = in_grace;
  job.state = "COMPLETING";
  EXPECT_FALSE(should_requeue(job, 2, StopCause::preemption, RequeueWhen::preempted))
      << "Slurm has decided";
  job = in_grace;
  job.batch = false;
  EXPECT_FALSE(should_requeue(job, 2, StopCause::preemption, RequeueWhen::preempted))
      << "salloc's cannot be";
}

TEST(ShouldRequeue, AtTheTimeLimitOnlyOnRequest) {
  const SlurmJob job = job_in("RUNNING");
  EXPECT_TRUE(should_requeue(job, 0, StopCause::time_limit, RequeueWhen::time_limit));
  EXPECT_FALSE(should_requeue(job, 0, StopCause::time_limit, RequeueWhen::preempted));
  EXPECT_FALSE(should_requeue(job, 0, StopCause::preemption, RequeueWhen::never));
}

TEST(TracksAllProcesses, ByWhatTheKernelOrTheControllerShows) {
  EXPECT_TRUE(
      tracks_all_processes("0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n", ""));
  EXPECT_TRUE(tracks_all_processes("4:freezer:/slurm/uid_1000/job_7/step_batch\n", ""));
  EXPECT_TRUE(tracks_all_processes("0::/\n", "ProctrackType  = proctrack/linuxproc\n"));
  EXPECT_FALSE(tracks_all_processes("0::/\n", "ProctrackType  = proctrack/pgid\n"));
  EXPECT_FALSE(tracks_all_processes("0::/user.slice\n", "")) << "not known: better told twice";
}

TEST(PartitionCancels, ReadsItsMode) {
  EXPECT_TRUE(
      partition_cancels("PartitionName=low OverTimeLimit=NONE PreemptMode=CANCEL State=UP"));
  EXPECT_FALSE(partition_cancels("PartitionName=low PreemptMode=REQUEUE State=UP"));
  EXPECT_FALSE(partition_cancels(""));
}

}  // namespace
}  // namespace headway::agent
