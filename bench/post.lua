-- wrk script: posts one file (its argument) as JSON, with an API key where one follows, and prints what
-- happened as one line of JSON.

function init(args)
  local file = assert(io.open(args[1], 'rb'))
  wrk.method = 'POST'
  wrk.body = file:read('*a')
  wrk.headers['Content-Type'] = 'application/json'
  if args[2] ~= nil then wrk.headers['X-API-Key'] = args[2] end
  file:close()
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"requests":%d,"microseconds":%d,"p50_us":%d,"p99_us":%d,"socket_errors":%d,"bad_statuses":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.timeout, errors.status
  ))
end
