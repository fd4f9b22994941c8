#include "agent/kubernetes.h"

#include <gtest/gtest.h>

#include "base/job_path.h"

namespace headway::agent {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

Environment in_cluster(Environment more) {
  more["KUBERNETES_SERVICE_HOST"] = "10.0.0.1";
  return more;
}

TEST(PodInfo, OnlyOfATrainingPod) {
  EXPECT_FALSE(pod_info({}).has_value());
  EXPECT_FALSE(pod_info({{"JOB_COMPLETION_INDEX", "0"}}).has_value());
  EXPECT_FALSE(pod_info(in_cluster({{"HOSTNAME", "notebook-0"}})).has_value());
  EXPECT_TRUE(pod_info(in_cluster({{"JOB_COMPLETION_INDEX", "0"}})).has_value());
}

TEST(PodInfo, OfAJobSet) {
  const auto pod = pod_info(in_cluster({{"JOB_COMPLETION_INDEX", "2"},
                                        {"JOBSET_NAME", "ctr"},
                                        {"JOBSET_RESTART_ATTEMPT", "3"},
                                        {"NNODES", "4"},
                                        {"MASTER_ADDR", "ctr-workers-0-0.ctr"},
                                        {"MASTER_PORT", "29500"},
                                        {"POD_NAME", "ctr-workers-0-2-x7k2p"},
                                        {"POD_NAMESPACE", "ads"},
                                        {"NODE_NAME", "gpu-17"},
                                        {"TERMINATION_GRACE_PERIOD_SECONDS", "120"}}));
  ASSERT_TRUE(pod.has_value());
  EXPECT_EQ(pod->workload, "ctr");
  EXPECT_EQ(pod->node_index, 2);
  EXPECT_EQ(pod->nnodes, 4);
  EXPECT_EQ(pod->restart_attempt, 3u);
  EXPECT_EQ(pod->master_addr, "ctr-workers-0-0.ctr");
  EXPECT_EQ(pod->master_port, 29500);
  EXPECT_EQ(pod->space, "ads");
  EXPECT_EQ(pod->node, "gpu-17");
  EXPECT_EQ(pod->termination_grace_s, 120);
}

TEST(PodInfo, OfAPyTorchJob) {
  const auto pod = pod_info(in_cluster({{"MASTER_ADDR", "ctr-master-0"},
                                        {"MASTER_PORT", "23456"},
                                        {"RANK", "1"},
                                        {"WORLD_SIZE", "2"},
                                        {"PET_NNODES", "2"},
                                        {"PET_NPROC_PER_NODE", "auto"},
                                        {"HOSTNAME", "ctr-worker-0"}}));
  ASSERT_TRUE(pod.has_value());
  EXPECT_EQ(pod->workload, "ctr-worker-0");
  EXPECT_EQ(pod->node_index, 1);
  EXPECT_EQ(pod->nnodes, 2);
  EXPECT_EQ(pod->nproc_per_node, 0);
  EXPECT_EQ(pod->master_addr, "ctr-master-0");
}

TEST(PodInfo, OfAnElasticTrainJob) {
  const auto pod = pod_info(in_cluster({{"PET_NNODES", "2:4"},
                                        {"PET_NPROC_PER_NODE", "8"},
                                        {"PET_NODE_RANK", "3"},
                                        {"JOB_COMPLETION_INDEX", "0"},
                                        {"PET_RDZV_ENDPOINT", "ctr-node-0-0.ctr:29400"}}));
  ASSERT_TRUE(pod.has_value());
  EXPECT_EQ(pod->node_index, 3);
  EXPECT_EQ(pod->nnodes, 4);
  EXPECT_EQ(pod->nproc_per_node, 8);
  EXPECT_EQ(pod->master_addr, "ctr-node-0-0.ctr");
  EXPECT_EQ(pod->master_port, 29400);
}

TEST(PodInfo, GarbageHarmsNothing) {
  const auto pod = pod_info(in_cluster({{"JOB_COMPLETION_INDEX", "x"},
                                        {"PET_NNODES", "-2:"},
                                        {"PET_NPROC_PER_NODE", "99999999999999"},
                                        {"PET_RDZV_ENDPOINT", ":"}}));
  ASSERT_TRUE(pod.has_value());
  EXPECT_EQ(pod->node_index, 0);
  EXPECT_EQ(pod->nnodes, 1);
  EXPECT_EQ(pod->nproc_per_node, 0);
  EXPECT_EQ(pod->master_port, 0);
}

TEST(DefaultPodJobName, IsTheSameInEveryRestart) {
  PodInfo pod;
  pod.workload = "ctr";
  EXPECT_EQ(default_pod_job_name("train", pod, false), "train-ctr");
  pod.node_index = 2;
  EXPECT_EQ(default_pod_job_name("train", pod, false), "train-ctr-node2");
  pod.workload = "a/b c";
  EXPECT_TRUE(base::is_job_name(default_pod_job_name("train", pod, false)));
}

TEST(PodInfo, APodsRandomSuffixIsNotAName) {
  const auto of = [](const char* name) {
    return pod_info(in_cluster({{"JOB_COMPLETION_INDEX", "0"}, {"POD_NAME", name}}))->workload;
  };
  EXPECT_EQ(of("ctr-0-x7k2p"), "ctr-0");
  EXPECT_EQ(of("ctr-worker-0"), "ctr-worker-0");
}

TEST(ShmWarning, OnlyForTheDefaultAndSeveralRanks) {
  EXPECT_TRUE(shm_warning({64 * kMiB, std::nullopt}, 2).has_value());
  EXPECT_FALSE(shm_warning({64 * kMiB, std::nullopt}, 1).has_value());
  EXPECT_FALSE(shm_warning({65 * kMiB, std::nullopt}, 2).has_value());
  EXPECT_FALSE(shm_warning({std::nullopt, std::nullopt}, 2).has_value());
  EXPECT_NE(shm_warning({64 * kMiB, 2048 * kMiB}, 2)->find("2048 MiB"), std::string::npos);
}

TEST(ParseMemoryLimit, KnowsWhatMeansNone) {
  EXPECT_EQ(parse_memory_limit("1073741824\n"), 1073741824u);
  EXPECT_FALSE(parse_memory_limit("max\n").has_value());
  EXPECT_FALSE(parse_memory_limit("9223372036854771712\n").has_value());
  EXPECT_FALSE(parse_memory_limit("").has_value());
}

TEST(PodNodes, AreWiredWhereTheControllerSaysWhereToMeet) {
  PodInfo pod;
  pod.workload = "ctr";
  pod.node_index = 2;
  pod.nnodes = 3;
  EXPECT_FALSE(pod_nodes({}, pod, true).count) << "nobody says where";
  pod.master_addr = "ctr-master-0";
  EXPECT_FALSE(pod_nodes({}, pod, false).count) << "pods would differ in the job's name";
  pod.workload_named = true;
  const NodeOptions nodes = pod_nodes({}, pod, false);
  ASSERT_TRUE(nodes.count);
  EXPECT_EQ(nodes.count->min, 3U);
  EXPECT_EQ(nodes.index, 2U);
  EXPECT_EQ(nodes.name, "node2");
  EXPECT_EQ(nodes.meeting_place, "ctr-master-0:29400");
  EXPECT_EQ(default_pod_job_name("train", pod, true), "train-ctr");
  NodeOptions own;
  own.count = NodeCount{1, 1};
  EXPECT_EQ(pod_nodes(own, pod, true).count->max, 1U) << "asked for";
  NodeOptions place;
  place.meeting_place = "n1";
  pod.nnodes = 1;
  EXPECT_EQ(pod_nodes(place, pod, true).count->max, 1U) << "one pod meets nobody";
  EXPECT_FALSE(pod_nodes({}, pod, true).count);
}

}  // namespace
}  // namespace headway::agent
