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

local folder = debug.getinfo(1, 'S').source:match('^@(.*/)') or ''
dofile(folder .. 'result.lua')
