-- wrk script: posts leads, or follows counted links, each with a number of its own; prints one line of JSON.

local count = 0
local kind = 'leads'

function init(args)
  kind = args[1]
  wrk.headers['Content-Type'] = 'application/json'
  wrk.headers['User-Agent'] = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
end

function request()
  count = count + 1
  if kind == 'clicks' then return wrk.format('GET', '/c/bench?d=/docs?n=' .. count) end
  local body = '{"email":"person.' .. count .. '@example.com","tier":"growth","source":"bench","event_id":"' .. count ..
    '","message":"We re-rank product search in three languages and would like to hear more."}'
  return wrk.format('POST', '/v1/leads', nil, body)
end

local folder = debug.getinfo(1, 'S').source:match('^@(.*/)') or ''
dofile(folder .. 'result.lua')
