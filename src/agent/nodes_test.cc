#include "agent/nodes.h"

#include <gtest/gtest.h>

#include "agent/identity.h"

namespace headway::agent {
namespace {

bool nowhere(const std::string&) {
  return false;
}
bool here(const std::string&) {
  return true;
}

TEST(Nodes, Counts) {
  EXPECT_EQ(parse_node_count("3")->min, 3U);
  EXPECT_EQ(parse_node_count("3")->max, 3U);
  EXPECT_EQ(parse_node_count("2:4")->min, 2U);
  EXPECT_EQ(parse_node_count("2:4")->max, 4U);
  for (const char* bad : {"", "0", "4:2", "2:", ":2", "x", "2:4:6", "99999", "-1"}) {
    EXPECT_FALSE(parse_node_count(bad).ok()) << bad;
  }
}

std::string refusal_of_count(const char* text) {
  return parse_node_count(text).status().message();
}

TEST(Nodes, ARefusalSaysWhatIsWanted) {
  EXPECT_EQ(refusal_of_count("3:2"), "--nnodes 3:2: MIN must not exceed MAX");
  EXPECT_EQ(refusal_of_count("0"), "--nnodes 0: want N or MIN:MAX, 1 to 16384");
  EXPECT_EQ(
      parse_endpoint("n1:99999").status().message(),
      "--rdzv n1:99999: want HOST or HOST:PORT with a port from 1 to 65535, the address of the "
      "first node");
  EXPECT_EQ(parse_node_rank("x").status().message(), "--node-rank x: want 0 to 16383");
  EXPECT_FALSE(parse_node_rank("-1").ok());
  EXPECT_EQ(parse_node_rank("3").value(), 3U);
}

TEST(Nodes, APlaceIsOneOfTheNodes) {
  NodeOptions options;
  options.count = NodeCount{1, 2};
  options.index = 1;
  EXPECT_TRUE(check_nodes(options).ok());
  options.index = 2;
  EXPECT_EQ(check_nodes(options).message(), "--node-rank 2: of 2 nodes the places are 0 to 1");
  options.count = NodeCount{1, 1};
  EXPECT_EQ(check_nodes(options).message(), "--node-rank 2: of 1 node the places are 0 to 0");
  options.count.reset();
  EXPECT_TRUE(check_nodes(options).ok()) << "the scheduler has not been asked yet";
  SlurmInfo slurm;
  slurm.step_nodes = 2;
  slurm.step_hosts = "n[1-2]";
  EXPECT_FALSE(plan_node(options, slurm, false, "n1", here).ok());
  slurm.step_nodes = 3;
  EXPECT_TRUE(plan_node(options, slurm, false, "n1", here).ok());
}

TEST(Nodes, APlaceToMeetNeedsANumber) {
  NodeOptions options;
  options.meeting_place = "n1:4000";
  EXPECT_EQ(plan_node(options, {}, true, "n1", here).status().message(),
            "--rdzv n1:4000: say with --nnodes how many nodes meet there");
  SlurmInfo slurm;
  EXPECT_FALSE(plan_node(options, slurm, true, "n1", here).ok()) << "a batch script's own machine";
  slurm.step_nodes = 2;
  EXPECT_EQ(plan_node(options, slurm, true, "n1", here).value()->meeting_place.host, "n1");
  options.count = NodeCount{1, 1};
  EXPECT_FALSE(plan_node(options, {}, true, "n1", here)->has_value()) << "asked for";
}

TEST(Nodes, MeetingPlaces) {
  EXPECT_EQ(parse_endpoint("n1:4000")->host, "n1");
  EXPECT_EQ(parse_endpoint("n1:4000")->port, 4000);
  EXPECT_EQ(parse_endpoint("n1")->port, kMeetingPort);
  EXPECT_EQ(parse_endpoint("[fe80::1]:4000")->host, "fe80::1");
  EXPECT_EQ(parse_endpoint("[fe80::1]")->port, kMeetingPort);
  for (const char* bad : {"", ":1", "n1:", "n1:0", "n1:70000", "[fe80::1", "[]:1", "a:b:c"}) {
    EXPECT_FALSE(parse_endpoint(bad).ok()) << bad;
  }
}

TEST(Nodes, FirstHostOfSlurmsList) {
  EXPECT_EQ(first_host("n1"), "n1");
  EXPECT_EQ(first_host("n2,n1"), "n2");
  EXPECT_EQ(first_host("gpu[03-07,11],login1"), "gpu03");
  EXPECT_EQ(first_host("login1,gpu[03-07]"), "login1");
  EXPECT_EQ(first_host("a[7,9]"), "a7");
  EXPECT_EQ(first_host("r[1-2]n[04-08].x"), "r1n04.x");
  EXPECT_EQ(first_host("n[1-2]-ib,m3"), "n1-ib");
  EXPECT_EQ(first_host("n[1"), "");
  EXPECT_EQ(first_host("n[]"), "");
  EXPECT_EQ(first_host(""), "");
}

TEST(Nodes, ASlurmJobsPort) {
  EXPECT_EQ(slurm_port("4711"), 24711);
  EXPECT_EQ(slurm_port("1234567_3"), 24567);
  EXPECT_NE(slurm_port("7"), slurm_port("8"));
}

TEST(Nodes, OneMachineNeedsNothing) {
  EXPECT_FALSE(plan_node({}, {}, false, "n1", here)->has_value());
  NodeOptions options;
  options.count = NodeCount{1, 1};
  SlurmInfo slurm;
  slurm.step_nodes = 2;
  EXPECT_FALSE(plan_node(options, slurm, false, "n1", here)->has_value()) << "asked for";
}

TEST(Nodes, WhoseAddressItIsCoordinatesUnlessTheOrderSaysOtherwise) {
  NodeOptions options;
  options.count = NodeCount{2, 2};
  EXPECT_FALSE(plan_node(options, {}, true, "n1", here).ok()) << "no place to meet";
  options.meeting_place = "n1:4000";
  EXPECT_FALSE(plan_node(options, {}, false, "n1", here).ok()) << "no name";
  EXPECT_TRUE(plan_node(options, {}, true, "n1", here).value()->coordinates);
  EXPECT_FALSE(plan_node(options, {}, true, "n2", nowhere).value()->coordinates);
  options.index = 0;
  EXPECT_TRUE(plan_node(options, {}, true, "n1", nowhere).value()->coordinates);
  options.index = 1;
  EXPECT_FALSE(plan_node(options, {}, true, "n1", here).value()->coordinates);
}

TEST(Nodes, AStepOfSlurmNeedsNoOption) {
  SlurmInfo slurm;
  slurm.job_id = "4711";
  slurm.step_nodes = 3;
  slurm.node_index = 2;
  slurm.step_hosts = "gpu[03-05]";
  const auto plan = plan_node({}, slurm, false, "gpu05", nowhere).value();
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->count.min, 3U);
  EXPECT_EQ(plan->index, 2U);
  EXPECT_EQ(plan->meeting_place.host, "gpu03");
  EXPECT_EQ(plan->meeting_place.port, 24711);
  EXPECT_FALSE(plan->coordinates);
  EXPECT_EQ(plan->name, "gpu05");
  slurm.node_name = "rack1-gpu05";
  EXPECT_EQ(plan_node({}, slurm, false, "gpu05", nowhere).value()->name, "rack1-gpu05");
}

}  // namespace
}  // namespace headway::agent
