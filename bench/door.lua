-- wrk script: submits fragments of 500 characters, each its own, or reads the receipts that a file lists;
-- prints one line of JSON.

local count = 0
local receipts = {}
local words = string.rep('lattice ledger signal fragment relay anchor proof witness ', 9)

function init(args)
  wrk.headers['Content-Type'] = 'application/json'
  if args[1] ~= 'submit' then
    for line in io.lines(args[1]) do receipts[#receipts + 1] = line end
  end
end

function request()
  count = count + 1
  if #receipts > 0 then return wrk.format('GET', '/receipt/' .. receipts[count % #receipts + 1]) end
  local content = string.sub(count .. ' ' .. words, 1, 500)
  local body = '{"title":"Fragment ' .. count .. '","content":"' .. content ..
    '","kind":"HYPOTHESIS","visitor":"bench","idempotency_key":"bench-' .. count .. '"}'
  return wrk.format('POST', '/dream', nil, body)
end

local folder = debug.getinfo(1, 'S').source:match('^@(.*/)') or ''
dofile(folder .. 'result.lua')
