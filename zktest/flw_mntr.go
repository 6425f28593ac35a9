package zktest

import (
	"fmt"
	"strings"
)

// mntr lists what is measured, a line each. ZooKeeper's own counters and times,
// of which there is nothing here to measure, are all 0.
func (s *Server) mntr(b *strings.Builder) {
	line := func(key string, value any) { fmt.Fprintf(b, "zk_%s\t%v\n", key, value) }
	ephemerals, size := 0, 0
	for _, own := range s.tree.ephemerals {
		ephemerals += len(own)
	}
	for path, n := range s.tree.nodes {
		size += len(path) + len(n.data)
	}
	line("version", version)
	line("server_state", s.mode())
	line("ephemerals_count", ephemerals)
	line("num_alive_connections", len(s.liveConns()))
	line("avg_latency", "0.0")
	line("outstanding_requests", 0)
	line("znode_count", len(s.tree.nodes))
	line("global_sessions", len(s.sessions))
	line("non_mtls_remote_conn_count", 0)
	line("last_client_response_size", -1)
	line("packets_sent", s.sent)
	line("packets_received", s.received)
	line("max_client_response_size", -1)
	line("connection_drop_probability", "0.0")
	line("watch_count", s.dataWatches.count()+s.childWatches.count())
	line("auth_failed_count", 0)
	line("min_latency", 0)
	line("max_file_descriptor_count", 0)
	line("approximate_data_size", size)
	line("open_file_descriptor_count", 0)
	line("local_sessions", 0)
	line("uptime", s.now().Milliseconds())
	line("max_latency", 0)
	line("outstanding_tls_handshake", 0)
	line("min_client_response_size", -1)
	line("non_mtls_local_conn_count", 0)
	for _, key := range strings.Fields(mntrCounters) {
		line(key, 0)
	}
	summary := func(key string) {
		line("avg_"+key, "0.0")
		for _, part := range []string{"min", "max", "cnt", "sum"} {
			line(part+"_"+key, 0)
		}
	}
	for _, key := range strings.Fields(mntrSummaries) {
		summary(key)
	}
	for _, key := range strings.Fields(mntrPercentiles) {
		summary(key)
		for _, part := range []string{"p50", "p95", "p99", "p999"} {
			line(part+"_"+key, 0)
		}
	}
}

// The names of what a 3.8 server counts, sums up, and sums up with percentiles.
const (
	mntrCounters = `
proposal_count watch_bytes outstanding_changes_removed throttled_ops stale_requests_dropped
large_requests_rejected insecure_admin_count connection_rejected cnxn_closed_without_zk_server_running
sessionless_connections_expired looking_count dead_watchers_queued stale_requests connection_drop_count
learner_proposal_received_count digest_mismatches_count dead_watchers_cleared response_packet_cache_hits
bytes_received_count add_dead_watcher_stall_time request_throttle_wait_count
requests_not_forwarded_to_commit_processor response_packet_cache_misses ensemble_auth_success
prep_processor_request_queued learner_commit_received_count stale_replies connection_request_count
response_bytes ensemble_auth_fail diff_count response_packet_get_children_cache_misses
connection_revalidate_count quit_leading_due_to_disloyal_voter snap_count unrecoverable_error_count
unsuccessful_handshake commit_count stale_sessions_expired response_packet_get_children_cache_hits
sync_processor_request_queued outstanding_changes_queued request_commit_queued ensemble_auth_skip
skip_learner_request_to_next_processor_count tls_handshake_exceeded revalidate_count
`
	mntrSummaries = `
socket_closing_time proposal_process_time leader_unavailable_time node_created_watch_count
session_queues_drained write_commit_proc_req_queued connection_token_deficit read_commit_proc_req_queued
node_deleted_watch_count startup_txns_load_time sync_processor_queue_size follower_sync_time
prep_processor_queue_size fsynctime inflight_snap_count reads_issued_from_session_queue
learner_request_processor_queue_size snapshottime unavailable_time startup_txns_loaded
reads_after_write_in_session_queue requests_in_session_queue write_commit_proc_issued prep_process_time
pending_session_queue_size time_waiting_empty_pool_in_commit_processor_read_ms commit_process_time dbinittime
inflight_diff_count netty_queued_buffer_capacity election_time commit_commit_proc_req_queued
sync_processor_batch_size node_children_watch_count write_batch_time_in_commit_processor
read_commit_proc_issued concurrent_request_processing_in_commit_processor observer_sync_time
node_changed_watch_count sync_process_time startup_snap_load_time
`
	mntrPercentiles = `
prep_processor_queue_time_ms jvm_pause_time_ms close_session_prep_time read_commitproc_time_ms updatelatency
local_write_committed_time_ms request_throttle_queue_time_ms readlatency quorum_ack_latency
om_commit_process_time_ms read_final_proc_time_ms commit_propagation_latency dead_watchers_cleaner_latency
write_final_proc_time_ms proposal_ack_creation_latency proposal_latency om_proposal_process_time_ms
sync_processor_queue_and_flush_time_ms propagation_latency server_write_committed_time_ms
sync_processor_queue_time_ms sync_processor_queue_flush_time_ms write_commitproc_time_ms
`
)
