-- The end of every wrk script: prints the outcome as one line of JSON.

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"requests":%d,"microseconds":%d,"p50_us":%d,"p99_us":%d,"socket_errors":%d,"bad_statuses":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.timeout, errors.status
  ))
end
