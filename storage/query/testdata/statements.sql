-- sessions
WITH arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), arrayReduce('quantilesExactWeighted(0.5, 0.99, 0.999)', mapKeys(a_ack_latency), mapValues(a_ack_latency))) AS q_a_ack_latency,
    arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), arrayReduce('quantilesExactWeighted(0.5, 0.99, 0.999)', mapKeys(a_message_latency), mapValues(a_message_latency))) AS q_a_message_latency,
    arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), arrayReduce('quantilesExactWeighted(0.5, 0.99, 0.999)', mapKeys(a_nak_reaction), mapValues(a_nak_reaction))) AS q_a_nak_reaction,
    arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), arrayReduce('quantilesExactWeighted(0.5, 0.99, 0.999)', mapKeys(a_np_delay), mapValues(a_np_delay))) AS q_a_np_delay,
    arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), arrayReduce('quantilesExactWeighted(0.5, 0.99, 0.999)', mapKeys(a_mark_wait), mapValues(a_mark_wait))) AS q_a_mark_wait,
    arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), arrayReduce('quantilesExactWeighted(0.5, 0.99, 0.999)', mapKeys(a_cnp_to_slow), mapValues(a_cnp_to_slow))) AS q_a_cnp_to_slow,
    arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), arrayReduce('quantilesExactWeighted(0.5, 0.99, 0.999)', mapKeys(a_slow_to_recover), mapValues(a_slow_to_recover))) AS q_a_slow_to_recover,
    arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), arrayReduce('quantilesExactWeighted(0.5, 0.99, 0.999)', mapKeys(b_ack_latency), mapValues(b_ack_latency))) AS q_b_ack_latency,
    arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), arrayReduce('quantilesExactWeighted(0.5, 0.99, 0.999)', mapKeys(b_message_latency), mapValues(b_message_latency))) AS q_b_message_latency,
    arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), arrayReduce('quantilesExactWeighted(0.5, 0.99, 0.999)', mapKeys(b_nak_reaction), mapValues(b_nak_reaction))) AS q_b_nak_reaction,
    arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), arrayReduce('quantilesExactWeighted(0.5, 0.99, 0.999)', mapKeys(b_np_delay), mapValues(b_np_delay))) AS q_b_np_delay,
    arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), arrayReduce('quantilesExactWeighted(0.5, 0.99, 0.999)', mapKeys(b_mark_wait), mapValues(b_mark_wait))) AS q_b_mark_wait,
    arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), arrayReduce('quantilesExactWeighted(0.5, 0.99, 0.999)', mapKeys(b_cnp_to_slow), mapValues(b_cnp_to_slow))) AS q_b_cnp_to_slow,
    arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), arrayReduce('quantilesExactWeighted(0.5, 0.99, 0.999)', mapKeys(b_slow_to_recover), mapValues(b_slow_to_recover))) AS q_b_slow_to_recover
SELECT probe, run, tap, session, version, service, vni, incarnation, pairing, confidence, state, failure, failed_stream, one_sided, vantage, application,
    first, last, updated, final, first_frame, path_mtu, cm, cm_service_id,
    replaceRegexpOne(toString(s.a_addr), '^::ffff:([0-9.]+)$', '\\1') AS a_addr,
    a_qpn,
    a_flow,
    a_ack_timeout_ns,
    a_packets,
    a_wire_bytes,
    a_payload_bytes,
    a_goodput_bytes,
    a_messages_completed,
    a_retransmitted_packets,
    a_retransmitted_bytes,
    a_lost_before_tap,
    a_lost_after_tap,
    a_cnps_received,
    a_peak_packets,
    a_peak_bytes,
    a_dscp,
    a_counters,
    arraySum(mapValues(a_ack_latency)) AS a_ack_latency_count, q_a_ack_latency[1] AS a_ack_latency_p50, q_a_ack_latency[2] AS a_ack_latency_p99, q_a_ack_latency[3] AS a_ack_latency_p999,
    arraySum(mapValues(a_message_latency)) AS a_message_latency_count, q_a_message_latency[1] AS a_message_latency_p50, q_a_message_latency[2] AS a_message_latency_p99, q_a_message_latency[3] AS a_message_latency_p999,
    arraySum(mapValues(a_nak_reaction)) AS a_nak_reaction_count, q_a_nak_reaction[1] AS a_nak_reaction_p50, q_a_nak_reaction[2] AS a_nak_reaction_p99, q_a_nak_reaction[3] AS a_nak_reaction_p999,
    arraySum(mapValues(a_np_delay)) AS a_np_delay_count, q_a_np_delay[1] AS a_np_delay_p50, q_a_np_delay[2] AS a_np_delay_p99, q_a_np_delay[3] AS a_np_delay_p999,
    arraySum(mapValues(a_mark_wait)) AS a_mark_wait_count, q_a_mark_wait[1] AS a_mark_wait_p50, q_a_mark_wait[2] AS a_mark_wait_p99, q_a_mark_wait[3] AS a_mark_wait_p999,
    arraySum(mapValues(a_cnp_to_slow)) AS a_cnp_to_slow_count, q_a_cnp_to_slow[1] AS a_cnp_to_slow_p50, q_a_cnp_to_slow[2] AS a_cnp_to_slow_p99, q_a_cnp_to_slow[3] AS a_cnp_to_slow_p999,
    arraySum(mapValues(a_slow_to_recover)) AS a_slow_to_recover_count, q_a_slow_to_recover[1] AS a_slow_to_recover_p50, q_a_slow_to_recover[2] AS a_slow_to_recover_p99, q_a_slow_to_recover[3] AS a_slow_to_recover_p999,
    replaceRegexpOne(toString(s.b_addr), '^::ffff:([0-9.]+)$', '\\1') AS b_addr,
    b_qpn,
    b_flow,
    b_ack_timeout_ns,
    b_packets,
    b_wire_bytes,
    b_payload_bytes,
    b_goodput_bytes,
    b_messages_completed,
    b_retransmitted_packets,
    b_retransmitted_bytes,
    b_lost_before_tap,
    b_lost_after_tap,
    b_cnps_received,
    b_peak_packets,
    b_peak_bytes,
    b_dscp,
    b_counters,
    arraySum(mapValues(b_ack_latency)) AS b_ack_latency_count, q_b_ack_latency[1] AS b_ack_latency_p50, q_b_ack_latency[2] AS b_ack_latency_p99, q_b_ack_latency[3] AS b_ack_latency_p999,
    arraySum(mapValues(b_message_latency)) AS b_message_latency_count, q_b_message_latency[1] AS b_message_latency_p50, q_b_message_latency[2] AS b_message_latency_p99, q_b_message_latency[3] AS b_message_latency_p999,
    arraySum(mapValues(b_nak_reaction)) AS b_nak_reaction_count, q_b_nak_reaction[1] AS b_nak_reaction_p50, q_b_nak_reaction[2] AS b_nak_reaction_p99, q_b_nak_reaction[3] AS b_nak_reaction_p999,
    arraySum(mapValues(b_np_delay)) AS b_np_delay_count, q_b_np_delay[1] AS b_np_delay_p50, q_b_np_delay[2] AS b_np_delay_p99, q_b_np_delay[3] AS b_np_delay_p999,
    arraySum(mapValues(b_mark_wait)) AS b_mark_wait_count, q_b_mark_wait[1] AS b_mark_wait_p50, q_b_mark_wait[2] AS b_mark_wait_p99, q_b_mark_wait[3] AS b_mark_wait_p999,
    arraySum(mapValues(b_cnp_to_slow)) AS b_cnp_to_slow_count, q_b_cnp_to_slow[1] AS b_cnp_to_slow_p50, q_b_cnp_to_slow[2] AS b_cnp_to_slow_p99, q_b_cnp_to_slow[3] AS b_cnp_to_slow_p999,
    arraySum(mapValues(b_slow_to_recover)) AS b_slow_to_recover_count, q_b_slow_to_recover[1] AS b_slow_to_recover_p50, q_b_slow_to_recover[2] AS b_slow_to_recover_p99, q_b_slow_to_recover[3] AS b_slow_to_recover_p999
FROM `rocelens`.`sessions` AS s FINAL
WHERE s.last >= {from:DateTime64(9, 'UTC')}
    AND s.first < {to:DateTime64(9, 'UTC')}
    AND probe = {probe:String}
    AND run = {run:String}
    AND tap = {tap:String}
    AND session = {session:String}
    AND (s.a_addr = {addr:IPv6} AND s.a_qpn = {qpn:UInt32} OR s.b_addr = {addr:IPv6} AND s.b_qpn = {qpn:UInt32})
ORDER BY last DESC, session, probe, run
LIMIT {limit:UInt64}

-- events
SELECT probe, run, tap, time, kind, session, stream, interface, frame, count, psn, psn_last, cause, place, mode, figures, words
FROM `rocelens`.`events` AS s
WHERE s.time >= {from:DateTime64(9, 'UTC')}
    AND toStartOfHour(s.time) >= toStartOfHour({from:DateTime64(9, 'UTC')})
    AND s.time < {to:DateTime64(9, 'UTC')}
    AND toStartOfHour(s.time) <= toStartOfHour({to:DateTime64(9, 'UTC')} - toIntervalNanosecond(1))
    AND probe = {probe:String}
    AND run = {run:String}
    AND tap = {tap:String}
    AND session = {session:String}
    AND kind = {kind:String}
ORDER BY time, probe, run, tap, frame, kind, session
LIMIT {limit:UInt64}

-- findings
SELECT probe, run, tap, time, until, severity, code, title, detail, evidence, sessions, related
FROM `rocelens`.`findings` AS s
WHERE until >= {from:DateTime64(9, 'UTC')}
    AND time < {to:DateTime64(9, 'UTC')}
    AND probe = {probe:String}
    AND run = {run:String}
    AND tap = {tap:String}
    AND has(sessions, {session:String})
    AND indexOf(['info', 'warning', 'critical'], toString(severity)) >= {severity:UInt8}
ORDER BY indexOf(['info', 'warning', 'critical'], toString(severity)) DESC, time, code, probe, run
LIMIT {limit:UInt64}

-- worst flows
WITH arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), quantilesExactWeightedArray(0.5, 0.99, 0.999)(mapKeys(ack_latency), mapValues(ack_latency))) AS latency
SELECT flow, anyLast(service) AS service, replaceRegexpOne(toString(any(src)), '^::ffff:([0-9.]+)$', '\\1') AS src, max(src_qpn) AS src_qpn, replaceRegexpOne(toString(any(dst)), '^::ffff:([0-9.]+)$', '\\1') AS dst, any(dst_qpn) AS dst_qpn, any(vni) AS vni, probe, tap,
    sum(packets) AS packets, sum(wire_bytes) AS wire_bytes, sum(goodput_bytes) AS goodput_bytes,
    sum(retransmitted_packets) AS retransmitted_packets, sum(lost_before_tap) AS lost_before_tap, sum(lost_after_tap) AS lost_after_tap,
    sum(ce) AS ce, if(packets > 0, ce / packets, 0) AS ce_share, sum(cnps_received) AS cnps_received,
    toInt64(0) AS paused_ns,
    sum(arraySum(mapValues(ack_latency))) AS ack_latency_count, latency[1] AS ack_latency_p50, latency[2] AS ack_latency_p99, latency[3] AS ack_latency_p999
FROM `rocelens`.`flow_intervals` AS s
WHERE s.time >= {from:DateTime64(9, 'UTC')}
    AND toStartOfHour(s.time) >= toStartOfHour({from:DateTime64(9, 'UTC')})
    AND s.time < {to:DateTime64(9, 'UTC')}
    AND toStartOfHour(s.time) <= toStartOfHour({to:DateTime64(9, 'UTC')} - toIntervalNanosecond(1))
    AND probe = {probe:String}
    AND run = {run:String}
    AND tap = {tap:String}
GROUP BY flow, probe, tap
HAVING lost_before_tap + lost_after_tap > 0 AND packets >= {min_packets:UInt64}
ORDER BY lost_before_tap + lost_after_tap DESC, flow, probe, tap
LIMIT {limit:UInt64}

-- worst flows by pause
SELECT flow, anyLast(service) AS service, replaceRegexpOne(toString(any(src)), '^::ffff:([0-9.]+)$', '\\1') AS src, max(src_qpn) AS src_qpn, replaceRegexpOne(toString(any(dst)), '^::ffff:([0-9.]+)$', '\\1') AS dst, any(dst_qpn) AS dst_qpn, any(vni) AS vni, probe, tap,
    sum(packets) AS packets, sum(wire_bytes) AS wire_bytes, sum(goodput_bytes) AS goodput_bytes,
    sum(retransmitted_packets) AS retransmitted_packets, sum(lost_before_tap) AS lost_before_tap, sum(lost_after_tap) AS lost_after_tap,
    sum(ce) AS ce, if(packets > 0, ce / packets, 0) AS ce_share, sum(cnps_received) AS cnps_received,
    arraySum(p -> p.4, groupUniqArray((s.run, s.dst_mac, s.priority, paused[s.priority] + paused[-2]))) AS paused_ns,
    toUInt64(0) AS ack_latency_count, [toInt64(0), 0, 0][1] AS ack_latency_p50, [toInt64(0), 0, 0][2] AS ack_latency_p99, [toInt64(0), 0, 0][3] AS ack_latency_p999
FROM `rocelens`.`flow_intervals` AS s
GLOBAL INNER JOIN
(
    SELECT probe AS p_probe, run AS p_run, tap AS p_tap, src_mac AS p_mac,
        sumMap(map(if(type = 'pfc', toInt8(priority), toInt8(-2)), paused_ns)) AS paused
    FROM `rocelens`.`pause_intervals` AS s
WHERE s.time >= {from:DateTime64(9, 'UTC')}
    AND toStartOfHour(s.time) >= toStartOfHour({from:DateTime64(9, 'UTC')})
    AND s.time < {to:DateTime64(9, 'UTC')}
    AND toStartOfHour(s.time) <= toStartOfHour({to:DateTime64(9, 'UTC')} - toIntervalNanosecond(1))
    AND probe = {probe:String}
    AND run = {run:String}
    AND tap = {tap:String}
    GROUP BY p_probe, p_run, p_tap, p_mac
) AS p ON s.probe = p_probe AND s.run = p_run AND s.tap = p_tap AND s.dst_mac = p_mac
WHERE s.time >= {from:DateTime64(9, 'UTC')}
    AND toStartOfHour(s.time) >= toStartOfHour({from:DateTime64(9, 'UTC')})
    AND s.time < {to:DateTime64(9, 'UTC')}
    AND toStartOfHour(s.time) <= toStartOfHour({to:DateTime64(9, 'UTC')} - toIntervalNanosecond(1))
    AND probe = {probe:String}
    AND run = {run:String}
    AND tap = {tap:String}
GROUP BY flow, probe, tap
HAVING paused_ns > 0
ORDER BY paused_ns DESC, flow, probe, tap
LIMIT {limit:UInt64}

-- flow
WITH arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), quantilesExactWeightedArray(0.5, 0.99, 0.999)(mapKeys(ack_latency), mapValues(ack_latency))) AS latency, arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), quantilesExactWeightedArray(0.5, 0.99, 0.999)(mapKeys(np_delay), mapValues(np_delay))) AS delay
SELECT fromUnixTimestamp64Nano(intDiv(toUnixTimestamp64Nano(toDateTime64(s.time, 9, 'UTC')), {step_ns:Int64}) * {step_ns:Int64}, 'UTC') AS time,
    uniqExact(probe, tap) AS taps,
    sum(packets) AS packets, sum(wire_bytes) AS wire_bytes, sum(goodput_bytes) AS goodput_bytes, sum(messages_completed) AS messages_completed,
    sum(acks) AS acks, sum(naks) AS naks, sum(rnr_naks) AS rnr_naks,
    sum(retransmitted_packets) AS retransmitted_packets, sum(lost_before_tap) AS lost_before_tap, sum(lost_after_tap) AS lost_after_tap,
    sum(ce) AS ce, sum(cnps_sent) AS cnps_sent, sum(cnps_received) AS cnps_received, max(peak_bytes) AS peak_bytes,
    sum(arraySum(mapValues(ack_latency))) AS ack_latency_count, latency[1] AS ack_latency_p50, latency[2] AS ack_latency_p99, latency[3] AS ack_latency_p999,
    sum(arraySum(mapValues(np_delay))) AS np_delay_count, delay[1] AS np_delay_p50, delay[2] AS np_delay_p99, delay[3] AS np_delay_p999
FROM `rocelens`.`flow_1m` AS s
WHERE s.time >= {from:DateTime('UTC')}
    AND toStartOfHour(s.time) >= toStartOfHour({from:DateTime('UTC')})
    AND s.time < {to:DateTime('UTC')}
    AND toStartOfHour(s.time) <= toStartOfHour({to:DateTime('UTC')} - toIntervalNanosecond(1))
    AND flow = {flow:UInt64}
    AND probe = {probe:String}
    AND run = {run:String}
    AND tap = {tap:String}
GROUP BY time
ORDER BY time
LIMIT {limit:UInt64}

-- storms
SELECT p.*, e.storms AS storms
FROM
(
    SELECT probe, tap, interface, src_mac, type, priority,
        count() AS pauses, sum(frames) AS frames, sum(paused_ns) AS paused_ns, sumIf(s.paused_ns, storm) AS storm_ns, max(s.paused_ns) AS longest_ns,
        min(s.time) AS first, max(s.time) AS last
    FROM `rocelens`.`pause_intervals` AS s
WHERE s.time >= {from:DateTime64(9, 'UTC')}
    AND toStartOfHour(s.time) >= toStartOfHour({from:DateTime64(9, 'UTC')})
    AND s.time < {to:DateTime64(9, 'UTC')}
    AND toStartOfHour(s.time) <= toStartOfHour({to:DateTime64(9, 'UTC')} - toIntervalNanosecond(1))
    AND probe = {probe:String}
    AND run = {run:String}
    AND tap = {tap:String}
    GROUP BY probe, tap, interface, src_mac, type, priority
    HAVING storm_ns > 0
) AS p
LEFT JOIN
(
    SELECT probe, tap, interface, words['src_mac'] AS src_mac, words['type'] AS type,
        toUInt8OrZero(arrayJoin(splitByChar(',', words['priorities']))) AS priority, sum(count) AS storms
    FROM `rocelens`.`events` AS s
WHERE s.time >= {from:DateTime64(9, 'UTC')}
    AND toStartOfHour(s.time) >= toStartOfHour({from:DateTime64(9, 'UTC')})
    AND s.time < {to:DateTime64(9, 'UTC')}
    AND toStartOfHour(s.time) <= toStartOfHour({to:DateTime64(9, 'UTC')} - toIntervalNanosecond(1))
    AND probe = {probe:String}
    AND run = {run:String}
    AND tap = {tap:String}
    AND kind = 'storm'
    GROUP BY probe, tap, interface, src_mac, type, priority
) AS e USING (probe, tap, interface, src_mac, type, priority)
ORDER BY storm_ns DESC, paused_ns DESC, probe, tap, interface, src_mac, type, priority
LIMIT {limit:UInt64}

-- lag by DSCP
SELECT group, d.2 AS of, d.3 AS count, d.4[1] AS p50, d.4[2] AS p99, d.4[3] AS p999
FROM
(
    SELECT toString(dscp) AS group,
        [(toUInt8(0), 'np_delay', sum(arraySum(mapValues(np_delay))), arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), quantilesExactWeightedArray(0.5, 0.99, 0.999)(mapKeys(np_delay), mapValues(np_delay)))),
            (toUInt8(1), 'mark_wait', sum(arraySum(mapValues(mark_wait))), arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), quantilesExactWeightedArray(0.5, 0.99, 0.999)(mapKeys(mark_wait), mapValues(mark_wait)))),
            (toUInt8(2), 'cnp_to_slow', sum(arraySum(mapValues(cnp_to_slow))), arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), quantilesExactWeightedArray(0.5, 0.99, 0.999)(mapKeys(cnp_to_slow), mapValues(cnp_to_slow)))),
            (toUInt8(3), 'slow_to_recover', sum(arraySum(mapValues(slow_to_recover))), arrayMap(b -> if(b < 8, b, bitShiftLeft(toUInt64(8 + b % 8), greatest(intDiv(b, 8), 1) - 1) + intDiv(bitShiftLeft(toUInt64(1), greatest(intDiv(b, 8), 1) - 1) - 1, 2)), quantilesExactWeightedArray(0.5, 0.99, 0.999)(mapKeys(slow_to_recover), mapValues(slow_to_recover))))] AS all
    FROM `rocelens`.`flow_intervals` AS s
WHERE s.time >= {from:DateTime64(9, 'UTC')}
    AND toStartOfHour(s.time) >= toStartOfHour({from:DateTime64(9, 'UTC')})
    AND s.time < {to:DateTime64(9, 'UTC')}
    AND toStartOfHour(s.time) <= toStartOfHour({to:DateTime64(9, 'UTC')} - toIntervalNanosecond(1))
    AND probe = {probe:String}
    AND run = {run:String}
    AND tap = {tap:String}
    GROUP BY group
)
ARRAY JOIN all AS d
WHERE count > 0
ORDER BY length(group), group, d.1
LIMIT {limit:UInt64}

-- totals of a time
SELECT concat(probe, ' ', tap) AS group,
    sum(s.packets) AS packets,
    sum(s.wire_bytes) AS wire_bytes,
    sum(s.payload_bytes) AS payload_bytes,
    sum(s.goodput_bytes) AS goodput_bytes,
    sum(s.messages_completed) AS messages_completed,
    sum(s.retransmitted_packets) AS retransmitted_packets,
    sum(s.retransmitted_bytes) AS retransmitted_bytes,
    sum(s.lost_before_tap) AS lost_before_tap,
    sum(s.lost_after_tap) AS lost_after_tap,
    sum(s.cnps_received) AS cnps_received,
    uniqExactIf((s.probe, s.run, s.tap, s.flow, s.flow_start), s.packets > 0) AS flows, sum(s.ce) AS ce,
    toDateTime64(min(s.time), 9, 'UTC') AS first, toDateTime64(max(s.time), 9, 'UTC') AS last
FROM `rocelens`.`flow_1h` AS s
WHERE s.time >= {from:DateTime('UTC')}
    AND toDate(s.time) >= toDate({from:DateTime('UTC')})
    AND s.time < {to:DateTime('UTC')}
    AND toDate(s.time) <= toDate({to:DateTime('UTC')} - toIntervalNanosecond(1))
    AND probe = {probe:String}
    AND run = {run:String}
    AND tap = {tap:String}
GROUP BY group
HAVING flows > 0
ORDER BY group
LIMIT {limit:UInt64}

-- totals
SELECT toString(run) AS group,
    sum(s.a_packets + s.b_packets) AS packets,
    sum(s.a_wire_bytes + s.b_wire_bytes) AS wire_bytes,
    sum(s.a_payload_bytes + s.b_payload_bytes) AS payload_bytes,
    sum(s.a_goodput_bytes + s.b_goodput_bytes) AS goodput_bytes,
    sum(s.a_messages_completed + s.b_messages_completed) AS messages_completed,
    sum(s.a_retransmitted_packets + s.b_retransmitted_packets) AS retransmitted_packets,
    sum(s.a_retransmitted_bytes + s.b_retransmitted_bytes) AS retransmitted_bytes,
    toInt64(sum(s.a_lost_before_tap + s.b_lost_before_tap)) AS lost_before_tap,
    toInt64(sum(s.a_lost_after_tap + s.b_lost_after_tap)) AS lost_after_tap,
    sum(s.a_cnps_received + s.b_cnps_received) AS cnps_received,
    toUInt64(countIf(s.a_packets > 0) + countIf(s.b_packets > 0)) AS flows, toUInt64(sum(s.a_counters['ce'] + s.b_counters['ce'])) AS ce,
    min(s.first) AS first, max(s.last) AS last
FROM `rocelens`.`sessions` AS s FINAL
WHERE probe = {probe:String}
    AND run = {run:String}
    AND tap = {tap:String}
GROUP BY group
HAVING flows > 0
ORDER BY group
LIMIT {limit:UInt64}

