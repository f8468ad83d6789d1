-- wrk script: makes on-chain orders, or polls those that a file lists in turn; prints one line of JSON.

local paths = {}
local at = 0

function init(args)
  wrk.headers['Content-Type'] = 'application/json'
  if args[1] ~= 'orders' then
    for line in io.lines(args[1]) do paths[#paths + 1] = line end
  end
end

function request()
  if #paths == 0 then return wrk.format('POST', '/v1/checkout/btc', nil, '{"tier":"developer"}') end
  at = at % #paths + 1
  return wrk.format('GET', paths[at])
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"requests":%d,"microseconds":%d,"p50_us":%d,"p99_us":%d,"socket_errors":%d,"bad_statuses":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.timeout, errors.status
  ))
end
