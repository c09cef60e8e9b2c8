CREATE DATABASE IF NOT EXISTS `rocelens`;

CREATE TABLE IF NOT EXISTS `rocelens`.`sessions`
(
    `probe` LowCardinality(String) COMMENT 'Who captured or read it' CODEC(ZSTD(1)),
    `run` LowCardinality(String) COMMENT 'The run that wrote it, see runs' CODEC(ZSTD(1)),
    `tap` LowCardinality(String) COMMENT 'Where: the file or the interface' CODEC(ZSTD(1)),
    `updated` DateTime64(9, 'UTC') COMMENT 'When this was known, in time of the capture' CODEC(DoubleDelta, ZSTD(1)),
    `final` Bool COMMENT 'Nothing more will come of it in this run' CODEC(ZSTD(1)),
    `session` String COMMENT 'Id of the session' CODEC(ZSTD(1)),
    `version` LowCardinality(String) COMMENT 'How it is carried: v1, v2 or ib' CODEC(ZSTD(1)),
    `service` LowCardinality(String) COMMENT 'Transport service: RC, UC, RD, UD, XRC or unknown' CODEC(ZSTD(1)),
    `vni` Int32 COMMENT 'VNI of the tunnel that it is inside, or -1' CODEC(ZSTD(1)),
    `incarnation` UInt32 COMMENT 'Counts the lives of the same pair of QPNs, from 1' CODEC(ZSTD(1)),
    `a_addr` IPv6 COMMENT 'Address of side a. IPv4 addresses are mapped (::ffff:10.0.0.1); a GID is written as one; a LID is the last 16 bits' CODEC(ZSTD(1)),
    `a_qpn` UInt32 COMMENT 'QPN of side a, 0 where it is not known' CODEC(ZSTD(1)),
    `b_addr` IPv6 COMMENT 'Address of side b' CODEC(ZSTD(1)),
    `b_qpn` UInt32 COMMENT 'QPN of side b, 0 where it is not known' CODEC(ZSTD(1)),
    `a_flow` UInt64 COMMENT 'The flow from a to b, as in flow_intervals' CODEC(ZSTD(1)),
    `b_flow` UInt64 COMMENT 'The flow from b to a; 0 where the QPN of a is not known' CODEC(ZSTD(1)),
    `pairing` LowCardinality(String) COMMENT 'How the two flows were found to belong together: cm, ack, port, only or none' CODEC(ZSTD(1)),
    `confidence` Float32 COMMENT 'How sure that is, 0 to 1' CODEC(ZSTD(1)),
    `state` LowCardinality(String) COMMENT 'open, closed, failed or unanswered' CODEC(ZSTD(1)),
    `failure` LowCardinality(String) COMMENT 'Why it failed, or empty' CODEC(ZSTD(1)),
    `failed_stream` LowCardinality(String) COMMENT 'Whose requests failed, a or b, or empty' CODEC(ZSTD(1)),
    `one_sided` Bool COMMENT 'Nothing from b to a is in the capture' CODEC(ZSTD(1)),
    `vantage` LowCardinality(String) COMMENT 'Where the tap was: requester, responder, between, or empty' CODEC(ZSTD(1)),
    `application` LowCardinality(String) COMMENT 'What the service id or the port says, or empty' CODEC(ZSTD(1)),
    `first` DateTime64(9, 'UTC') COMMENT 'Time of the first packet' CODEC(DoubleDelta, ZSTD(1)),
    `last` DateTime64(9, 'UTC') COMMENT 'Time of the last packet' CODEC(DoubleDelta, ZSTD(1)),
    `first_frame` UInt64 COMMENT 'Number of the first frame in its input, from 1' CODEC(ZSTD(1)),
    `path_mtu` UInt32 COMMENT 'Path MTU in bytes, 0 where nothing tells it' CODEC(ZSTD(1)),
    `a_ack_timeout_ns` Int64 COMMENT 'ACK timeout of side a, 0 where nothing tells it' CODEC(ZSTD(1)),
    `b_ack_timeout_ns` Int64 COMMENT 'ACK timeout of side b, 0 where nothing tells it' CODEC(ZSTD(1)),
    `cm` Bool COMMENT 'Connection management was seen' CODEC(ZSTD(1)),
    `cm_service_id` UInt64 COMMENT 'Service id of the REQ' CODEC(ZSTD(1)),
    `cm_requests` UInt32 COMMENT 'REQs seen, repetitions included' CODEC(ZSTD(1)),
    `cm_retry_count` UInt8 COMMENT 'Retry count of both sides' CODEC(ZSTD(1)),
    `cm_reject_reason` UInt16 COMMENT 'Why the connection was rejected, 0 where it was not' CODEC(ZSTD(1)),
    `cm_requested` DateTime64(9, 'UTC') COMMENT 'Time of the first REQ, or the epoch' CODEC(DoubleDelta, ZSTD(1)),
    `cm_established` DateTime64(9, 'UTC') COMMENT 'Time of the RTU, or the epoch' CODEC(DoubleDelta, ZSTD(1)),
    `cm_disconnected` DateTime64(9, 'UTC') COMMENT 'Time of the DREQ, or the epoch' CODEC(DoubleDelta, ZSTD(1)),
    `a_first` DateTime64(9, 'UTC') COMMENT 'Time of the first packet of this side: flow_start in flow_intervals' CODEC(DoubleDelta, ZSTD(1)),
    `a_packets` UInt64 COMMENT 'Packets sent, copies aside' CODEC(ZSTD(1)),
    `a_wire_bytes` UInt64 COMMENT 'All bytes of them' CODEC(ZSTD(1)),
    `a_payload_bytes` UInt64 COMMENT 'Payload of them' CODEC(ZSTD(1)),
    `a_goodput_bytes` UInt64 COMMENT 'Payload of PSNs seen for the first time' CODEC(ZSTD(1)),
    `a_messages_completed` UInt64 COMMENT 'Requests seen to be completed' CODEC(ZSTD(1)),
    `a_retransmitted_packets` UInt64 COMMENT 'Packets sent again' CODEC(ZSTD(1)),
    `a_retransmitted_bytes` UInt64 COMMENT 'Payload of them' CODEC(ZSTD(1)),
    `a_lost_before_tap` UInt64 COMMENT 'Packets lost before the tap' CODEC(ZSTD(1)),
    `a_lost_after_tap` UInt64 COMMENT 'Packets lost behind the tap, at least' CODEC(ZSTD(1)),
    `a_cnps_received` UInt64 COMMENT 'CNPs that told this side to slow down' CODEC(ZSTD(1)),
    `a_peak_packets` UInt64 COMMENT 'Peak of packets sent and not yet acknowledged' CODEC(ZSTD(1)),
    `a_peak_bytes` UInt64 COMMENT 'Peak of bytes sent and not yet acknowledged' CODEC(ZSTD(1)),
    `a_dscp` Map(UInt8, UInt64) COMMENT 'Packets by DSCP' CODEC(ZSTD(1)),
    `a_counters` Map(LowCardinality(String), Int64) COMMENT 'All other counters that are not 0, by name: acks, rnr_naks, not_ect, ect0, ect1, ce, fills, repeats, wasted_packets, wasted_bytes, read_responses, read_responses_retransmitted, read_responses_lost, episodes, lost_capture, lost_corrupt, reordered, undecided, gaps, jumped, duplicates_capture, duplicates_network, duplicate_requests, silences, silence_ns, rnr_ns, icrc_bad, truncated, port_changes, protocol_errors, cnps_unmarked, data_marked, acks_marked, cnps_marked, slowed, recovered, sends, writes, reads, atomics, naks_sequence, naks_invalid_request, naks_remote_access, naks_remote_operational, naks_invalid_rd_request, tries_nak, tries_rnr, tries_read, tries_timeout, tries_unknown, places_before_tap, places_after_tap, places_answer, places_refused, places_unknown, modes_unknown, modes_go_back_n, modes_selective, modes_go_back_0' CODEC(ZSTD(1)),
    `a_ack_latency` Map(UInt16, UInt64) COMMENT 'First transmission of a packet to the first answer that advances past it. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `a_message_latency` Map(UInt16, UInt64) COMMENT 'Messages: first packet to the answer that completes it. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `a_send_latency` Map(UInt16, UInt64) COMMENT 'SENDs, likewise. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `a_write_latency` Map(UInt16, UInt64) COMMENT 'WRITEs, likewise. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `a_read_latency` Map(UInt16, UInt64) COMMENT 'READs, likewise. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `a_atomic_latency` Map(UInt16, UInt64) COMMENT 'Atomics, likewise. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `a_nak_reaction` Map(UInt16, UInt64) COMMENT 'NAK at the tap to the first packet sent again. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `a_np_delay` Map(UInt16, UInt64) COMMENT 'Lag: last marked data packet to the CNP. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `a_mark_wait` Map(UInt16, UInt64) COMMENT 'Lag: first marked data packet since the CNP before, to the CNP. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `a_cnp_to_slow` Map(UInt16, UInt64) COMMENT 'Lag: CNP to the end of the first slow window. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `a_slow_to_recover` Map(UInt16, UInt64) COMMENT 'Lag: from there to the end of the first window that is not slow. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `b_first` DateTime64(9, 'UTC') COMMENT 'Time of the first packet of this side: flow_start in flow_intervals' CODEC(DoubleDelta, ZSTD(1)),
    `b_packets` UInt64 COMMENT 'Packets sent, copies aside' CODEC(ZSTD(1)),
    `b_wire_bytes` UInt64 COMMENT 'All bytes of them' CODEC(ZSTD(1)),
    `b_payload_bytes` UInt64 COMMENT 'Payload of them' CODEC(ZSTD(1)),
    `b_goodput_bytes` UInt64 COMMENT 'Payload of PSNs seen for the first time' CODEC(ZSTD(1)),
    `b_messages_completed` UInt64 COMMENT 'Requests seen to be completed' CODEC(ZSTD(1)),
    `b_retransmitted_packets` UInt64 COMMENT 'Packets sent again' CODEC(ZSTD(1)),
    `b_retransmitted_bytes` UInt64 COMMENT 'Payload of them' CODEC(ZSTD(1)),
    `b_lost_before_tap` UInt64 COMMENT 'Packets lost before the tap' CODEC(ZSTD(1)),
    `b_lost_after_tap` UInt64 COMMENT 'Packets lost behind the tap, at least' CODEC(ZSTD(1)),
    `b_cnps_received` UInt64 COMMENT 'CNPs that told this side to slow down' CODEC(ZSTD(1)),
    `b_peak_packets` UInt64 COMMENT 'Peak of packets sent and not yet acknowledged' CODEC(ZSTD(1)),
    `b_peak_bytes` UInt64 COMMENT 'Peak of bytes sent and not yet acknowledged' CODEC(ZSTD(1)),
    `b_dscp` Map(UInt8, UInt64) COMMENT 'Packets by DSCP' CODEC(ZSTD(1)),
    `b_counters` Map(LowCardinality(String), Int64) COMMENT 'All other counters that are not 0, by name: acks, rnr_naks, not_ect, ect0, ect1, ce, fills, repeats, wasted_packets, wasted_bytes, read_responses, read_responses_retransmitted, read_responses_lost, episodes, lost_capture, lost_corrupt, reordered, undecided, gaps, jumped, duplicates_capture, duplicates_network, duplicate_requests, silences, silence_ns, rnr_ns, icrc_bad, truncated, port_changes, protocol_errors, cnps_unmarked, data_marked, acks_marked, cnps_marked, slowed, recovered, sends, writes, reads, atomics, naks_sequence, naks_invalid_request, naks_remote_access, naks_remote_operational, naks_invalid_rd_request, tries_nak, tries_rnr, tries_read, tries_timeout, tries_unknown, places_before_tap, places_after_tap, places_answer, places_refused, places_unknown, modes_unknown, modes_go_back_n, modes_selective, modes_go_back_0' CODEC(ZSTD(1)),
    `b_ack_latency` Map(UInt16, UInt64) COMMENT 'First transmission of a packet to the first answer that advances past it. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `b_message_latency` Map(UInt16, UInt64) COMMENT 'Messages: first packet to the answer that completes it. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `b_send_latency` Map(UInt16, UInt64) COMMENT 'SENDs, likewise. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `b_write_latency` Map(UInt16, UInt64) COMMENT 'WRITEs, likewise. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `b_read_latency` Map(UInt16, UInt64) COMMENT 'READs, likewise. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `b_atomic_latency` Map(UInt16, UInt64) COMMENT 'Atomics, likewise. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `b_nak_reaction` Map(UInt16, UInt64) COMMENT 'NAK at the tap to the first packet sent again. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `b_np_delay` Map(UInt16, UInt64) COMMENT 'Lag: last marked data packet to the CNP. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `b_mark_wait` Map(UInt16, UInt64) COMMENT 'Lag: first marked data packet since the CNP before, to the CNP. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `b_cnp_to_slow` Map(UInt16, UInt64) COMMENT 'Lag: CNP to the end of the first slow window. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `b_slow_to_recover` Map(UInt16, UInt64) COMMENT 'Lag: from there to the end of the first window that is not slow. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `loaded` DateTime('UTC') DEFAULT now() COMMENT 'When it came into the store' CODEC(ZSTD(1)),
    INDEX `b_addr` b_addr TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX `a_qpn` a_qpn TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX `b_qpn` b_qpn TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX `session` session TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(updated)
PARTITION BY toYYYYMM(first)
ORDER BY (a_addr, a_qpn, session, probe, run)
TTL loaded + toIntervalHour(8760)
SETTINGS non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 134217728, ttl_only_drop_parts = 1
COMMENT 'A session, or a UD flow: what is known of it so far, and all that was counted of it. There is one row for each probe, run and session; the newest replaces those before it, which are there until ClickHouse merges them: read the table with FINAL. Side a began the session. Columns that begin with a_ are of what side a sent, or of the stream of its requests.';

CREATE TABLE IF NOT EXISTS `rocelens`.`flow_intervals`
(
    `probe` LowCardinality(String) COMMENT 'Who captured or read it' CODEC(ZSTD(1)),
    `run` LowCardinality(String) COMMENT 'The run that wrote it, see runs' CODEC(ZSTD(1)),
    `tap` LowCardinality(String) COMMENT 'Where: the file or the interface' CODEC(ZSTD(1)),
    `time` DateTime64(9, 'UTC') COMMENT 'When the interval begins' CODEC(DoubleDelta, ZSTD(1)),
    `length_ns` Int64 COMMENT 'How long it is' CODEC(ZSTD(1)),
    `flow` UInt64 COMMENT 'The same number for all lives of the packets from one address to one QP (and VNI, and with UD the sender\'s QP)' CODEC(ZSTD(1)),
    `flow_start` DateTime64(9, 'UTC') COMMENT 'Time of the first packet of this life of the flow' CODEC(DoubleDelta, ZSTD(1)),
    `version` LowCardinality(String) COMMENT 'How it is carried: v1, v2 or ib' CODEC(ZSTD(1)),
    `service` LowCardinality(String) COMMENT 'Transport service: RC, UC, RD, UD, XRC or unknown' CODEC(ZSTD(1)),
    `src` IPv6 COMMENT 'The sender. IPv4 addresses are mapped (::ffff:10.0.0.1); a GID is written as one; a LID is the last 16 bits' CODEC(ZSTD(1)),
    `dst` IPv6 COMMENT 'The receiver' CODEC(ZSTD(1)),
    `src_qpn` UInt32 COMMENT 'QPN of the sender, 0 where it is not known' CODEC(ZSTD(1)),
    `dst_qpn` UInt32 COMMENT 'QPN of the receiver' CODEC(ZSTD(1)),
    `vni` Int32 COMMENT 'VNI of the tunnel that it is inside, or -1' CODEC(ZSTD(1)),
    `incarnation` UInt32 COMMENT 'Counts the lives of the same pair of QPNs, from 1' CODEC(ZSTD(1)),
    `pairing` LowCardinality(String) COMMENT 'How the flow the other way was found: cm, ack, port, only or none' CODEC(ZSTD(1)),
    `application` LowCardinality(String) COMMENT 'What the service id or the port says, or empty' CODEC(ZSTD(1)),
    `interface` LowCardinality(String) COMMENT 'Where the first packet of the interval was captured' CODEC(ZSTD(1)),
    `src_mac` LowCardinality(String) COMMENT 'MAC of the sender or of the router before the tap; zeros where there is none or there are many' CODEC(ZSTD(1)),
    `dst_mac` LowCardinality(String) COMMENT 'MAC of the receiver or of the router behind the tap; likewise' CODEC(ZSTD(1)),
    `src_port` UInt16 COMMENT 'UDP source port of the last packet' CODEC(ZSTD(1)),
    `dscp` UInt8 COMMENT 'DSCP of most packets, CNPs aside' CODEC(ZSTD(1)),
    `priority` Int8 COMMENT 'Priority of most packets: of the VLAN tag, or what the DSCP stands for, or -1' CODEC(ZSTD(1)),
    `packets` UInt64 COMMENT 'Packets sent, copies aside' CODEC(ZSTD(1)),
    `wire_bytes` UInt64 COMMENT 'All bytes of them' CODEC(ZSTD(1)),
    `payload_bytes` UInt64 COMMENT 'Payload of them' CODEC(ZSTD(1)),
    `goodput_bytes` UInt64 COMMENT 'Payload of PSNs seen for the first time' CODEC(ZSTD(1)),
    `not_ect` UInt64 COMMENT 'Packets by ECN: not ECN-capable' CODEC(ZSTD(1)),
    `ect0` UInt64 COMMENT 'Packets by ECN: ECT(0)' CODEC(ZSTD(1)),
    `ect1` UInt64 COMMENT 'Packets by ECN: ECT(1)' CODEC(ZSTD(1)),
    `ce` UInt64 COMMENT 'Packets by ECN: CE, congestion experienced' CODEC(ZSTD(1)),
    `acks` UInt64 COMMENT 'ACKs sent' CODEC(ZSTD(1)),
    `naks` UInt64 COMMENT 'NAKs sent, of all codes' CODEC(ZSTD(1)),
    `rnr_naks` UInt64 COMMENT 'RNR NAKs sent' CODEC(ZSTD(1)),
    `read_responses` UInt64 COMMENT 'Responses to READs and atomics sent' CODEC(ZSTD(1)),
    `sends` UInt64 COMMENT 'SENDs requested, each once' CODEC(ZSTD(1)),
    `writes` UInt64 COMMENT 'WRITEs requested' CODEC(ZSTD(1)),
    `reads` UInt64 COMMENT 'READs requested' CODEC(ZSTD(1)),
    `atomics` UInt64 COMMENT 'Atomics requested' CODEC(ZSTD(1)),
    `messages_completed` UInt64 COMMENT 'Requests seen to be completed' CODEC(ZSTD(1)),
    `retransmitted_packets` UInt64 COMMENT 'Packets sent again' CODEC(ZSTD(1)),
    `retransmitted_bytes` UInt64 COMMENT 'Payload of them' CODEC(ZSTD(1)),
    `tries` Int64 COMMENT 'Steps back to send again' CODEC(ZSTD(1)),
    `lost_before_tap` Int64 COMMENT 'Packets lost before the tap' CODEC(ZSTD(1)),
    `lost_after_tap` Int64 COMMENT 'Packets lost behind the tap, at least' CODEC(ZSTD(1)),
    `cnps_sent` UInt64 COMMENT 'CNPs sent, which are among the packets' CODEC(ZSTD(1)),
    `cnps_received` UInt64 COMMENT 'CNPs that told this sender to slow down' CODEC(ZSTD(1)),
    `peak_packets` UInt64 COMMENT 'Peak of packets sent and not yet acknowledged' CODEC(ZSTD(1)),
    `peak_bytes` UInt64 COMMENT 'Peak of bytes sent and not yet acknowledged' CODEC(ZSTD(1)),
    `rare` Map(LowCardinality(String), Int64) COMMENT 'What is 0 in most intervals, by name: truncated, icrc_bad, other_dscp, port_changes, read_responses_retransmitted, read_responses_lost, fills, repeats, wasted_packets, wasted_bytes, episodes, lost_capture, lost_corrupt, reordered, undecided, gaps, jumped, duplicates_capture, duplicates_network, duplicate_requests, silences, silence_ns, rnr_ns, protocol_errors, cnps_unmarked, data_marked, acks_marked, cnps_marked, slowed, recovered, naks_sequence, naks_invalid_request, naks_remote_access, naks_remote_operational, naks_invalid_rd_request, tries_nak, tries_rnr, tries_read, tries_timeout, tries_unknown, places_before_tap, places_after_tap, places_answer, places_refused, places_unknown, modes_unknown, modes_go_back_n, modes_selective, modes_go_back_0' CODEC(ZSTD(1)),
    `ack_latency` Map(UInt16, UInt64) COMMENT 'First transmission of a packet to the first answer that advances past it. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `send_latency` Map(UInt16, UInt64) COMMENT 'SENDs: first packet to the answer that completes it. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `write_latency` Map(UInt16, UInt64) COMMENT 'WRITEs, likewise. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `read_latency` Map(UInt16, UInt64) COMMENT 'READs, likewise. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `atomic_latency` Map(UInt16, UInt64) COMMENT 'Atomics, likewise. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `nak_reaction` Map(UInt16, UInt64) COMMENT 'NAK at the tap to the first packet sent again. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `np_delay` Map(UInt16, UInt64) COMMENT 'Lag: last marked data packet to the CNP. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `mark_wait` Map(UInt16, UInt64) COMMENT 'Lag: first marked data packet since the CNP before, to the CNP. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `cnp_to_slow` Map(UInt16, UInt64) COMMENT 'Lag: CNP to the end of the first slow window. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `slow_to_recover` Map(UInt16, UInt64) COMMENT 'Lag: from there to the end of the first window that is not slow. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `loaded` DateTime('UTC') DEFAULT now() COMMENT 'When it came into the store' CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toMonday(time)
ORDER BY (toStartOfHour(time), flow, time)
TTL loaded + toIntervalHour(720)
SETTINGS non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 134217728, ttl_only_drop_parts = 1
COMMENT 'What one flow did in one interval: the packets of one sender to one QP. The counters of all intervals of a flow sum up to those of its session. What is found out later than it happened counts where it was found out, and what turns out to be something else is taken back there: counters of type Int64 can be negative.';

CREATE TABLE IF NOT EXISTS `rocelens`.`events`
(
    `probe` LowCardinality(String) COMMENT 'Who captured or read it' CODEC(ZSTD(1)),
    `run` LowCardinality(String) COMMENT 'The run that wrote it, see runs' CODEC(ZSTD(1)),
    `tap` LowCardinality(String) COMMENT 'Where: the file or the interface' CODEC(ZSTD(1)),
    `time` DateTime64(9, 'UTC') COMMENT 'When' CODEC(DoubleDelta, ZSTD(1)),
    `kind` LowCardinality(String) COMMENT 'What' CODEC(ZSTD(1)),
    `session` String COMMENT 'Id of the session, or empty' CODEC(ZSTD(1)),
    `stream` LowCardinality(String) COMMENT 'a for the requests of side a and the answers to them, b for those of b, or empty' CODEC(ZSTD(1)),
    `interface` LowCardinality(String) COMMENT 'Of pause and storm: where' CODEC(ZSTD(1)),
    `frame` UInt64 COMMENT 'Number of the frame in its input, from 1, or 0' CODEC(ZSTD(1)),
    `count` UInt64 COMMENT 'How many, of a run of the same' CODEC(ZSTD(1)),
    `psn` Int32 COMMENT 'First PSN, or -1' CODEC(ZSTD(1)),
    `psn_last` Int32 COMMENT 'Last PSN of a range, else as psn' CODEC(ZSTD(1)),
    `cause` LowCardinality(String) COMMENT 'Of try and episode: why' CODEC(ZSTD(1)),
    `place` LowCardinality(String) COMMENT 'Of try and episode: where the packets went' CODEC(ZSTD(1)),
    `mode` LowCardinality(String) COMMENT 'Of try: what was sent again' CODEC(ZSTD(1)),
    `figures` Map(LowCardinality(String), Float64) COMMENT 'Numbers by name' CODEC(ZSTD(1)),
    `words` Map(LowCardinality(String), String) COMMENT 'Text by name' CODEC(ZSTD(1)),
    `loaded` DateTime('UTC') DEFAULT now() COMMENT 'When it came into the store' CODEC(ZSTD(1)),
    INDEX `session` session TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toMonday(time)
ORDER BY (toStartOfHour(time), kind, session, time)
TTL loaded + toIntervalHour(8760)
SETTINGS non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 134217728, ttl_only_drop_parts = 1
COMMENT 'A thing that happened, on a session or, with pause and storm, on a link. Kinds and their figures are those of events.md: what several kinds have is in columns, the rest in the maps figures (numbers; true is 1) and words (text), by the names that they have there. A figure that can\'t be told is not in the map.';

CREATE TABLE IF NOT EXISTS `rocelens`.`pause_intervals`
(
    `probe` LowCardinality(String) COMMENT 'Who captured or read it' CODEC(ZSTD(1)),
    `run` LowCardinality(String) COMMENT 'The run that wrote it, see runs' CODEC(ZSTD(1)),
    `tap` LowCardinality(String) COMMENT 'Where: the file or the interface' CODEC(ZSTD(1)),
    `time` DateTime64(9, 'UTC') COMMENT 'When it begins' CODEC(DoubleDelta, ZSTD(1)),
    `interface` LowCardinality(String) COMMENT 'Where' CODEC(ZSTD(1)),
    `src_mac` LowCardinality(String) COMMENT 'Who told the other end of the link to stop' CODEC(ZSTD(1)),
    `type` LowCardinality(String) COMMENT 'pfc, or 802.3x, which stops all traffic' CODEC(ZSTD(1)),
    `priority` UInt8 COMMENT 'Which priority, 0 with 802.3x' CODEC(ZSTD(1)),
    `paused_ns` Int64 COMMENT 'For how long' CODEC(ZSTD(1)),
    `frames` UInt64 COMMENT 'Frames that stop it, the first one included' CODEC(ZSTD(1)),
    `quanta` UInt64 COMMENT 'The times in them, summed up, in units of 512 bit times' CODEC(ZSTD(1)),
    `end` LowCardinality(String) COMMENT 'What ended it: xon, expired or capture_end' CODEC(ZSTD(1)),
    `storm` Bool COMMENT 'It is part of a storm' CODEC(ZSTD(1)),
    `frame` UInt64 COMMENT 'Number of the first frame in its input, from 1' CODEC(ZSTD(1)),
    `loaded` DateTime('UTC') DEFAULT now() COMMENT 'When it came into the store' CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toMonday(time)
ORDER BY (toStartOfHour(time), tap, interface, src_mac, priority, time)
TTL loaded + toIntervalHour(8760)
SETTINGS non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 134217728, ttl_only_drop_parts = 1
COMMENT 'The time from a frame of flow control that stops a priority until it may go on. A frame that comes while it is stopped replaces the time of the one before, and adds none to it.';

CREATE TABLE IF NOT EXISTS `rocelens`.`findings`
(
    `probe` LowCardinality(String) COMMENT 'Who captured or read it' CODEC(ZSTD(1)),
    `run` LowCardinality(String) COMMENT 'The run that wrote it, see runs' CODEC(ZSTD(1)),
    `tap` LowCardinality(String) COMMENT 'The tap of the run, or empty where it has several' CODEC(ZSTD(1)),
    `time` DateTime64(9, 'UTC') COMMENT 'Begin of the time that it is about' CODEC(DoubleDelta, ZSTD(1)),
    `until` DateTime64(9, 'UTC') COMMENT 'End of it' CODEC(DoubleDelta, ZSTD(1)),
    `severity` LowCardinality(String) COMMENT 'info, warning or critical' CODEC(ZSTD(1)),
    `code` LowCardinality(String) COMMENT 'What kind of finding it is' CODEC(ZSTD(1)),
    `title` String COMMENT 'What is wrong, and how much of it' CODEC(ZSTD(1)),
    `detail` String COMMENT 'What it means and what to check next' CODEC(ZSTD(1)),
    `evidence` String COMMENT 'What it rests on, a JSON object' CODEC(ZSTD(1)),
    `sessions` Array(String) COMMENT 'Ids of the sessions that it is about' CODEC(ZSTD(1)),
    `related` String COMMENT 'Other findings of the run that it has to do with, a JSON array' CODEC(ZSTD(1)),
    `loaded` DateTime('UTC') DEFAULT now() COMMENT 'When it came into the store' CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(time)
ORDER BY (toStartOfHour(time), code, time)
TTL loaded + toIntervalHour(8760)
SETTINGS non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 134217728, ttl_only_drop_parts = 1
COMMENT 'A conclusion that an engineer can act on, about all taps of its run. Codes are those of findings.md.';

CREATE TABLE IF NOT EXISTS `rocelens`.`probe_stats`
(
    `probe` LowCardinality(String) COMMENT 'Who captured or read it' CODEC(ZSTD(1)),
    `run` LowCardinality(String) COMMENT 'The run that wrote it, see runs' CODEC(ZSTD(1)),
    `tap` LowCardinality(String) COMMENT 'Where: the file or the interface, or empty where it is about none of them' CODEC(ZSTD(1)),
    `time` DateTime64(9, 'UTC') COMMENT 'When it was read' CODEC(DoubleDelta, ZSTD(1)),
    `name` LowCardinality(String) COMMENT 'Which counter' CODEC(ZSTD(1)),
    `of` LowCardinality(String) COMMENT 'What of it: a table, a reason, an interface' CODEC(ZSTD(1)),
    `value` UInt64 COMMENT 'Its value' CODEC(T64, ZSTD(1)),
    `loaded` DateTime('UTC') DEFAULT now() COMMENT 'When it came into the store' CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toMonday(time)
ORDER BY (name, of, probe, run, tap, time)
TTL loaded + toIntervalHour(720)
SETTINGS non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 134217728, ttl_only_drop_parts = 1
COMMENT 'A counter of the probe itself: what it captured, wrote, and had to drop. Values count from the beginning of the run: what happened in a time is the difference of two.';

CREATE TABLE IF NOT EXISTS `rocelens`.`flow_1m`
(
    `probe` LowCardinality(String) COMMENT 'Who captured or read it' CODEC(ZSTD(1)),
    `run` LowCardinality(String) COMMENT 'The run that wrote it, see runs' CODEC(ZSTD(1)),
    `tap` LowCardinality(String) COMMENT 'Where: the file or the interface' CODEC(ZSTD(1)),
    `time` DateTime('UTC') COMMENT 'When the minute begins' CODEC(Delta(4), ZSTD(1)),
    `length_ns` SimpleAggregateFunction(sum, Int64) COMMENT 'Length of the intervals that are summed up' CODEC(ZSTD(1)),
    `flow` UInt64 COMMENT 'The same number for all lives of the packets from one address to one QP (and VNI, and with UD the sender\'s QP)' CODEC(ZSTD(1)),
    `flow_start` DateTime64(9, 'UTC') COMMENT 'Time of the first packet of this life of the flow' CODEC(DoubleDelta, ZSTD(1)),
    `version` LowCardinality(String) COMMENT 'How it is carried: v1, v2 or ib' CODEC(ZSTD(1)),
    `service` LowCardinality(String) COMMENT 'Transport service: RC, UC, RD, UD, XRC or unknown' CODEC(ZSTD(1)),
    `src` SimpleAggregateFunction(any, IPv6) COMMENT 'The sender. IPv4 addresses are mapped (::ffff:10.0.0.1); a GID is written as one; a LID is the last 16 bits' CODEC(ZSTD(1)),
    `dst` SimpleAggregateFunction(any, IPv6) COMMENT 'The receiver' CODEC(ZSTD(1)),
    `src_qpn` SimpleAggregateFunction(max, UInt32) COMMENT 'QPN of the sender, 0 where it is not known' CODEC(ZSTD(1)),
    `dst_qpn` SimpleAggregateFunction(any, UInt32) COMMENT 'QPN of the receiver' CODEC(ZSTD(1)),
    `vni` SimpleAggregateFunction(any, Int32) COMMENT 'VNI of the tunnel that it is inside, or -1' CODEC(ZSTD(1)),
    `interface` LowCardinality(String) COMMENT 'Where the first packet of the interval was captured' CODEC(ZSTD(1)),
    `dscp` UInt8 COMMENT 'DSCP of most packets, CNPs aside' CODEC(ZSTD(1)),
    `priority` Int8 COMMENT 'Priority of most packets: of the VLAN tag, or what the DSCP stands for, or -1' CODEC(ZSTD(1)),
    `packets` SimpleAggregateFunction(sum, UInt64) COMMENT 'Packets sent, copies aside' CODEC(ZSTD(1)),
    `wire_bytes` SimpleAggregateFunction(sum, UInt64) COMMENT 'All bytes of them' CODEC(ZSTD(1)),
    `payload_bytes` SimpleAggregateFunction(sum, UInt64) COMMENT 'Payload of them' CODEC(ZSTD(1)),
    `goodput_bytes` SimpleAggregateFunction(sum, UInt64) COMMENT 'Payload of PSNs seen for the first time' CODEC(ZSTD(1)),
    `not_ect` SimpleAggregateFunction(sum, UInt64) COMMENT 'Packets by ECN: not ECN-capable' CODEC(ZSTD(1)),
    `ect0` SimpleAggregateFunction(sum, UInt64) COMMENT 'Packets by ECN: ECT(0)' CODEC(ZSTD(1)),
    `ect1` SimpleAggregateFunction(sum, UInt64) COMMENT 'Packets by ECN: ECT(1)' CODEC(ZSTD(1)),
    `ce` SimpleAggregateFunction(sum, UInt64) COMMENT 'Packets by ECN: CE, congestion experienced' CODEC(ZSTD(1)),
    `acks` SimpleAggregateFunction(sum, UInt64) COMMENT 'ACKs sent' CODEC(ZSTD(1)),
    `naks` SimpleAggregateFunction(sum, UInt64) COMMENT 'NAKs sent, of all codes' CODEC(ZSTD(1)),
    `rnr_naks` SimpleAggregateFunction(sum, UInt64) COMMENT 'RNR NAKs sent' CODEC(ZSTD(1)),
    `read_responses` SimpleAggregateFunction(sum, UInt64) COMMENT 'Responses to READs and atomics sent' CODEC(ZSTD(1)),
    `sends` SimpleAggregateFunction(sum, UInt64) COMMENT 'SENDs requested, each once' CODEC(ZSTD(1)),
    `writes` SimpleAggregateFunction(sum, UInt64) COMMENT 'WRITEs requested' CODEC(ZSTD(1)),
    `reads` SimpleAggregateFunction(sum, UInt64) COMMENT 'READs requested' CODEC(ZSTD(1)),
    `atomics` SimpleAggregateFunction(sum, UInt64) COMMENT 'Atomics requested' CODEC(ZSTD(1)),
    `messages_completed` SimpleAggregateFunction(sum, UInt64) COMMENT 'Requests seen to be completed' CODEC(ZSTD(1)),
    `retransmitted_packets` SimpleAggregateFunction(sum, UInt64) COMMENT 'Packets sent again' CODEC(ZSTD(1)),
    `retransmitted_bytes` SimpleAggregateFunction(sum, UInt64) COMMENT 'Payload of them' CODEC(ZSTD(1)),
    `tries` SimpleAggregateFunction(sum, Int64) COMMENT 'Steps back to send again' CODEC(ZSTD(1)),
    `lost_before_tap` SimpleAggregateFunction(sum, Int64) COMMENT 'Packets lost before the tap' CODEC(ZSTD(1)),
    `lost_after_tap` SimpleAggregateFunction(sum, Int64) COMMENT 'Packets lost behind the tap, at least' CODEC(ZSTD(1)),
    `cnps_sent` SimpleAggregateFunction(sum, UInt64) COMMENT 'CNPs sent, which are among the packets' CODEC(ZSTD(1)),
    `cnps_received` SimpleAggregateFunction(sum, UInt64) COMMENT 'CNPs that told this sender to slow down' CODEC(ZSTD(1)),
    `peak_packets` SimpleAggregateFunction(max, UInt64) COMMENT 'Peak of packets sent and not yet acknowledged' CODEC(ZSTD(1)),
    `peak_bytes` SimpleAggregateFunction(max, UInt64) COMMENT 'Peak of bytes sent and not yet acknowledged' CODEC(ZSTD(1)),
    `rare` SimpleAggregateFunction(sumMap, Map(String, Int64)) COMMENT 'What is 0 in most intervals, by name: truncated, icrc_bad, other_dscp, port_changes, read_responses_retransmitted, read_responses_lost, fills, repeats, wasted_packets, wasted_bytes, episodes, lost_capture, lost_corrupt, reordered, undecided, gaps, jumped, duplicates_capture, duplicates_network, duplicate_requests, silences, silence_ns, rnr_ns, protocol_errors, cnps_unmarked, data_marked, acks_marked, cnps_marked, slowed, recovered, naks_sequence, naks_invalid_request, naks_remote_access, naks_remote_operational, naks_invalid_rd_request, tries_nak, tries_rnr, tries_read, tries_timeout, tries_unknown, places_before_tap, places_after_tap, places_answer, places_refused, places_unknown, modes_unknown, modes_go_back_n, modes_selective, modes_go_back_0' CODEC(ZSTD(1)),
    `ack_latency` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'First transmission of a packet to the first answer that advances past it. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `send_latency` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'SENDs: first packet to the answer that completes it. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `write_latency` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'WRITEs, likewise. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `read_latency` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'READs, likewise. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `atomic_latency` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'Atomics, likewise. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `nak_reaction` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'NAK at the tap to the first packet sent again. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `np_delay` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'Lag: last marked data packet to the CNP. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `mark_wait` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'Lag: first marked data packet since the CNP before, to the CNP. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `cnp_to_slow` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'Lag: CNP to the end of the first slow window. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `slow_to_recover` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'Lag: from there to the end of the first window that is not slow. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `loaded` SimpleAggregateFunction(max, DateTime('UTC')) COMMENT 'When it came into the store' CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(time)
PRIMARY KEY (toStartOfHour(time), flow, time)
ORDER BY (toStartOfHour(time), flow, time, flow_start, version, service, dscp, priority, tap, interface, probe, run)
TTL loaded + toIntervalHour(2160)
SETTINGS non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 134217728, ttl_only_drop_parts = 1
COMMENT 'flow_intervals, summed up for each minute, flow, DSCP, priority and tap, as they come in. Rows of the same key are added up when ClickHouse merges them, so sum them up when you read them.';

CREATE MATERIALIZED VIEW IF NOT EXISTS `rocelens`.`flow_1m_view` TO `rocelens`.`flow_1m` AS
SELECT
    s.probe AS `probe`,
    s.run AS `run`,
    s.tap AS `tap`,
    toStartOfMinute(s.time) AS `time`,
    sum(s.length_ns) AS `length_ns`,
    s.flow AS `flow`,
    s.flow_start AS `flow_start`,
    s.version AS `version`,
    s.service AS `service`,
    any(s.src) AS `src`,
    any(s.dst) AS `dst`,
    max(s.src_qpn) AS `src_qpn`,
    any(s.dst_qpn) AS `dst_qpn`,
    any(s.vni) AS `vni`,
    s.interface AS `interface`,
    s.dscp AS `dscp`,
    s.priority AS `priority`,
    sum(s.packets) AS `packets`,
    sum(s.wire_bytes) AS `wire_bytes`,
    sum(s.payload_bytes) AS `payload_bytes`,
    sum(s.goodput_bytes) AS `goodput_bytes`,
    sum(s.not_ect) AS `not_ect`,
    sum(s.ect0) AS `ect0`,
    sum(s.ect1) AS `ect1`,
    sum(s.ce) AS `ce`,
    sum(s.acks) AS `acks`,
    sum(s.naks) AS `naks`,
    sum(s.rnr_naks) AS `rnr_naks`,
    sum(s.read_responses) AS `read_responses`,
    sum(s.sends) AS `sends`,
    sum(s.writes) AS `writes`,
    sum(s.reads) AS `reads`,
    sum(s.atomics) AS `atomics`,
    sum(s.messages_completed) AS `messages_completed`,
    sum(s.retransmitted_packets) AS `retransmitted_packets`,
    sum(s.retransmitted_bytes) AS `retransmitted_bytes`,
    sum(s.tries) AS `tries`,
    sum(s.lost_before_tap) AS `lost_before_tap`,
    sum(s.lost_after_tap) AS `lost_after_tap`,
    sum(s.cnps_sent) AS `cnps_sent`,
    sum(s.cnps_received) AS `cnps_received`,
    max(s.peak_packets) AS `peak_packets`,
    max(s.peak_bytes) AS `peak_bytes`,
    sumMap(s.rare) AS `rare`,
    sumMap(s.ack_latency) AS `ack_latency`,
    sumMap(s.send_latency) AS `send_latency`,
    sumMap(s.write_latency) AS `write_latency`,
    sumMap(s.read_latency) AS `read_latency`,
    sumMap(s.atomic_latency) AS `atomic_latency`,
    sumMap(s.nak_reaction) AS `nak_reaction`,
    sumMap(s.np_delay) AS `np_delay`,
    sumMap(s.mark_wait) AS `mark_wait`,
    sumMap(s.cnp_to_slow) AS `cnp_to_slow`,
    sumMap(s.slow_to_recover) AS `slow_to_recover`,
    max(s.loaded) AS `loaded`
FROM `rocelens`.`flow_intervals` AS s
GROUP BY `probe`, `run`, `tap`, `time`, `flow`, `flow_start`, `version`, `service`, `interface`, `dscp`, `priority`
COMMENT 'made by rocelens, query 0aebcdef623d07b8';

CREATE TABLE IF NOT EXISTS `rocelens`.`flow_1h`
(
    `probe` LowCardinality(String) COMMENT 'Who captured or read it' CODEC(ZSTD(1)),
    `run` LowCardinality(String) COMMENT 'The run that wrote it, see runs' CODEC(ZSTD(1)),
    `tap` LowCardinality(String) COMMENT 'Where: the file or the interface' CODEC(ZSTD(1)),
    `time` DateTime('UTC') COMMENT 'When the hour begins' CODEC(Delta(4), ZSTD(1)),
    `length_ns` SimpleAggregateFunction(sum, Int64) COMMENT 'Length of the intervals that are summed up' CODEC(ZSTD(1)),
    `flow` UInt64 COMMENT 'The same number for all lives of the packets from one address to one QP (and VNI, and with UD the sender\'s QP)' CODEC(ZSTD(1)),
    `flow_start` DateTime64(9, 'UTC') COMMENT 'Time of the first packet of this life of the flow' CODEC(DoubleDelta, ZSTD(1)),
    `version` LowCardinality(String) COMMENT 'How it is carried: v1, v2 or ib' CODEC(ZSTD(1)),
    `service` LowCardinality(String) COMMENT 'Transport service: RC, UC, RD, UD, XRC or unknown' CODEC(ZSTD(1)),
    `src` SimpleAggregateFunction(any, IPv6) COMMENT 'The sender. IPv4 addresses are mapped (::ffff:10.0.0.1); a GID is written as one; a LID is the last 16 bits' CODEC(ZSTD(1)),
    `dst` SimpleAggregateFunction(any, IPv6) COMMENT 'The receiver' CODEC(ZSTD(1)),
    `src_qpn` SimpleAggregateFunction(max, UInt32) COMMENT 'QPN of the sender, 0 where it is not known' CODEC(ZSTD(1)),
    `dst_qpn` SimpleAggregateFunction(any, UInt32) COMMENT 'QPN of the receiver' CODEC(ZSTD(1)),
    `vni` SimpleAggregateFunction(any, Int32) COMMENT 'VNI of the tunnel that it is inside, or -1' CODEC(ZSTD(1)),
    `interface` LowCardinality(String) COMMENT 'Where the first packet of the interval was captured' CODEC(ZSTD(1)),
    `dscp` UInt8 COMMENT 'DSCP of most packets, CNPs aside' CODEC(ZSTD(1)),
    `priority` Int8 COMMENT 'Priority of most packets: of the VLAN tag, or what the DSCP stands for, or -1' CODEC(ZSTD(1)),
    `packets` SimpleAggregateFunction(sum, UInt64) COMMENT 'Packets sent, copies aside' CODEC(ZSTD(1)),
    `wire_bytes` SimpleAggregateFunction(sum, UInt64) COMMENT 'All bytes of them' CODEC(ZSTD(1)),
    `payload_bytes` SimpleAggregateFunction(sum, UInt64) COMMENT 'Payload of them' CODEC(ZSTD(1)),
    `goodput_bytes` SimpleAggregateFunction(sum, UInt64) COMMENT 'Payload of PSNs seen for the first time' CODEC(ZSTD(1)),
    `not_ect` SimpleAggregateFunction(sum, UInt64) COMMENT 'Packets by ECN: not ECN-capable' CODEC(ZSTD(1)),
    `ect0` SimpleAggregateFunction(sum, UInt64) COMMENT 'Packets by ECN: ECT(0)' CODEC(ZSTD(1)),
    `ect1` SimpleAggregateFunction(sum, UInt64) COMMENT 'Packets by ECN: ECT(1)' CODEC(ZSTD(1)),
    `ce` SimpleAggregateFunction(sum, UInt64) COMMENT 'Packets by ECN: CE, congestion experienced' CODEC(ZSTD(1)),
    `acks` SimpleAggregateFunction(sum, UInt64) COMMENT 'ACKs sent' CODEC(ZSTD(1)),
    `naks` SimpleAggregateFunction(sum, UInt64) COMMENT 'NAKs sent, of all codes' CODEC(ZSTD(1)),
    `rnr_naks` SimpleAggregateFunction(sum, UInt64) COMMENT 'RNR NAKs sent' CODEC(ZSTD(1)),
    `read_responses` SimpleAggregateFunction(sum, UInt64) COMMENT 'Responses to READs and atomics sent' CODEC(ZSTD(1)),
    `sends` SimpleAggregateFunction(sum, UInt64) COMMENT 'SENDs requested, each once' CODEC(ZSTD(1)),
    `writes` SimpleAggregateFunction(sum, UInt64) COMMENT 'WRITEs requested' CODEC(ZSTD(1)),
    `reads` SimpleAggregateFunction(sum, UInt64) COMMENT 'READs requested' CODEC(ZSTD(1)),
    `atomics` SimpleAggregateFunction(sum, UInt64) COMMENT 'Atomics requested' CODEC(ZSTD(1)),
    `messages_completed` SimpleAggregateFunction(sum, UInt64) COMMENT 'Requests seen to be completed' CODEC(ZSTD(1)),
    `retransmitted_packets` SimpleAggregateFunction(sum, UInt64) COMMENT 'Packets sent again' CODEC(ZSTD(1)),
    `retransmitted_bytes` SimpleAggregateFunction(sum, UInt64) COMMENT 'Payload of them' CODEC(ZSTD(1)),
    `tries` SimpleAggregateFunction(sum, Int64) COMMENT 'Steps back to send again' CODEC(ZSTD(1)),
    `lost_before_tap` SimpleAggregateFunction(sum, Int64) COMMENT 'Packets lost before the tap' CODEC(ZSTD(1)),
    `lost_after_tap` SimpleAggregateFunction(sum, Int64) COMMENT 'Packets lost behind the tap, at least' CODEC(ZSTD(1)),
    `cnps_sent` SimpleAggregateFunction(sum, UInt64) COMMENT 'CNPs sent, which are among the packets' CODEC(ZSTD(1)),
    `cnps_received` SimpleAggregateFunction(sum, UInt64) COMMENT 'CNPs that told this sender to slow down' CODEC(ZSTD(1)),
    `peak_packets` SimpleAggregateFunction(max, UInt64) COMMENT 'Peak of packets sent and not yet acknowledged' CODEC(ZSTD(1)),
    `peak_bytes` SimpleAggregateFunction(max, UInt64) COMMENT 'Peak of bytes sent and not yet acknowledged' CODEC(ZSTD(1)),
    `rare` SimpleAggregateFunction(sumMap, Map(String, Int64)) COMMENT 'What is 0 in most intervals, by name: truncated, icrc_bad, other_dscp, port_changes, read_responses_retransmitted, read_responses_lost, fills, repeats, wasted_packets, wasted_bytes, episodes, lost_capture, lost_corrupt, reordered, undecided, gaps, jumped, duplicates_capture, duplicates_network, duplicate_requests, silences, silence_ns, rnr_ns, protocol_errors, cnps_unmarked, data_marked, acks_marked, cnps_marked, slowed, recovered, naks_sequence, naks_invalid_request, naks_remote_access, naks_remote_operational, naks_invalid_rd_request, tries_nak, tries_rnr, tries_read, tries_timeout, tries_unknown, places_before_tap, places_after_tap, places_answer, places_refused, places_unknown, modes_unknown, modes_go_back_n, modes_selective, modes_go_back_0' CODEC(ZSTD(1)),
    `ack_latency` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'First transmission of a packet to the first answer that advances past it. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `send_latency` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'SENDs: first packet to the answer that completes it. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `write_latency` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'WRITEs, likewise. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `read_latency` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'READs, likewise. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `atomic_latency` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'Atomics, likewise. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `nak_reaction` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'NAK at the tap to the first packet sent again. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `np_delay` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'Lag: last marked data packet to the CNP. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `mark_wait` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'Lag: first marked data packet since the CNP before, to the CNP. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `cnp_to_slow` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'Lag: CNP to the end of the first slow window. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `slow_to_recover` SimpleAggregateFunction(sumMap, Map(UInt16, UInt64)) COMMENT 'Lag: from there to the end of the first window that is not slow. How many durations by bucket of the histogram' CODEC(ZSTD(1)),
    `loaded` SimpleAggregateFunction(max, DateTime('UTC')) COMMENT 'When it came into the store' CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(time)
PRIMARY KEY (toDate(time), flow, time)
ORDER BY (toDate(time), flow, time, flow_start, version, service, dscp, priority, tap, interface, probe, run)
TTL loaded + toIntervalHour(17520)
SETTINGS non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 134217728, ttl_only_drop_parts = 1
COMMENT 'flow_intervals, summed up for each hour, flow, DSCP, priority and tap, as they come in. Rows of the same key are added up when ClickHouse merges them, so sum them up when you read them.';

CREATE MATERIALIZED VIEW IF NOT EXISTS `rocelens`.`flow_1h_view` TO `rocelens`.`flow_1h` AS
SELECT
    s.probe AS `probe`,
    s.run AS `run`,
    s.tap AS `tap`,
    toStartOfHour(s.time) AS `time`,
    sum(s.length_ns) AS `length_ns`,
    s.flow AS `flow`,
    s.flow_start AS `flow_start`,
    s.version AS `version`,
    s.service AS `service`,
    any(s.src) AS `src`,
    any(s.dst) AS `dst`,
    max(s.src_qpn) AS `src_qpn`,
    any(s.dst_qpn) AS `dst_qpn`,
    any(s.vni) AS `vni`,
    s.interface AS `interface`,
    s.dscp AS `dscp`,
    s.priority AS `priority`,
    sum(s.packets) AS `packets`,
    sum(s.wire_bytes) AS `wire_bytes`,
    sum(s.payload_bytes) AS `payload_bytes`,
    sum(s.goodput_bytes) AS `goodput_bytes`,
    sum(s.not_ect) AS `not_ect`,
    sum(s.ect0) AS `ect0`,
    sum(s.ect1) AS `ect1`,
    sum(s.ce) AS `ce`,
    sum(s.acks) AS `acks`,
    sum(s.naks) AS `naks`,
    sum(s.rnr_naks) AS `rnr_naks`,
    sum(s.read_responses) AS `read_responses`,
    sum(s.sends) AS `sends`,
    sum(s.writes) AS `writes`,
    sum(s.reads) AS `reads`,
    sum(s.atomics) AS `atomics`,
    sum(s.messages_completed) AS `messages_completed`,
    sum(s.retransmitted_packets) AS `retransmitted_packets`,
    sum(s.retransmitted_bytes) AS `retransmitted_bytes`,
    sum(s.tries) AS `tries`,
    sum(s.lost_before_tap) AS `lost_before_tap`,
    sum(s.lost_after_tap) AS `lost_after_tap`,
    sum(s.cnps_sent) AS `cnps_sent`,
    sum(s.cnps_received) AS `cnps_received`,
    max(s.peak_packets) AS `peak_packets`,
    max(s.peak_bytes) AS `peak_bytes`,
    sumMap(s.rare) AS `rare`,
    sumMap(s.ack_latency) AS `ack_latency`,
    sumMap(s.send_latency) AS `send_latency`,
    sumMap(s.write_latency) AS `write_latency`,
    sumMap(s.read_latency) AS `read_latency`,
    sumMap(s.atomic_latency) AS `atomic_latency`,
    sumMap(s.nak_reaction) AS `nak_reaction`,
    sumMap(s.np_delay) AS `np_delay`,
    sumMap(s.mark_wait) AS `mark_wait`,
    sumMap(s.cnp_to_slow) AS `cnp_to_slow`,
    sumMap(s.slow_to_recover) AS `slow_to_recover`,
    max(s.loaded) AS `loaded`
FROM `rocelens`.`flow_1m` AS s
GROUP BY `probe`, `run`, `tap`, `time`, `flow`, `flow_start`, `version`, `service`, `interface`, `dscp`, `priority`
COMMENT 'made by rocelens, query 1abd62b544748fec';

CREATE TABLE IF NOT EXISTS `rocelens`.`runs`
(
    `probe` LowCardinality(String) COMMENT 'Who captured or read it' CODEC(ZSTD(1)),
    `run` LowCardinality(String) COMMENT 'The run that wrote it, see runs' CODEC(ZSTD(1)),
    `tap` LowCardinality(String) COMMENT 'The tap of the run, or empty where it has several' CODEC(ZSTD(1)),
    `updated` DateTime64(9, 'UTC') COMMENT 'When this was so' CODEC(DoubleDelta, ZSTD(1)),
    `state` LowCardinality(String) COMMENT 'begun, finished, removed or broken (off)' CODEC(ZSTD(1)),
    `attempt` String COMMENT 'Which attempt to load it' CODEC(ZSTD(1)),
    `tool` LowCardinality(String) COMMENT 'Version of rocelens' CODEC(ZSTD(1)),
    `inputs` Array(String) COMMENT 'What it read' CODEC(ZSTD(1)),
    `options` String COMMENT 'How, a JSON object' CODEC(ZSTD(1)),
    `rows` UInt64 COMMENT 'Rows written' CODEC(ZSTD(1)),
    `dropped` UInt64 COMMENT 'Rows that could not be written' CODEC(ZSTD(1)),
    `loaded` DateTime('UTC') DEFAULT now() COMMENT 'When it came into the store' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(updated)
ORDER BY (run, probe)
SETTINGS non_replicated_deduplication_window = 10000, min_bytes_for_wide_part = 134217728
COMMENT 'One run of rocelens over its inputs. The id of a run of files is a hash of them and of the options, so that the same is not loaded twice. The newest row of a run counts: read the table with FINAL. Made by rocelens, schema 1';
