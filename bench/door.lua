-- wrk script: submits fragments of 500 characters, each its own, or reads the receipts that a file lists;
-- prints one line of JSON. A mark makes fragments of words drawn anew, which no run with another mark has sent.

local count = 0
local receipts = {}
local words = string.rep('lattice ledger signal fragment relay anchor proof witness ', 9)
local drawn = {}
for word in ('lattice ledger signal fragment relay anchor proof witness river delta silt memory recall sleep ' ..
    'forest canopy fungus queue buffer latency tuning chord overtone price auction bidder neutron star pulse ' ..
    'bread yeast flour bridge strut truss island harbour tide engine piston valve garden orchard bee court ' ..
    'verdict appeal painter canvas pigment teacher lesson school ocean current whale'):gmatch('%a+') do
  drawn[#drawn + 1] = word
end
local mark = ''

local function draw()
  local some = {}
  for place = 1, 60 do some[place] = drawn[math.random(#drawn)] end
  return table.concat(some, ' ') .. ' '
end

function init(args)
  wrk.headers['Content-Type'] = 'application/json'
  mark = args[2] or ''
  if args[1] ~= 'submit' then
    for line in io.lines(args[1]) do receipts[#receipts + 1] = line end
  end
end

function request()
  count = count + 1
  if #receipts > 0 then return wrk.format('GET', '/receipt/' .. receipts[count % #receipts + 1]) end
  local content = string.sub(mark .. count .. ' ' .. (mark == '' and words or draw()), 1, 500)
  local body = '{"title":"Fragment ' .. mark .. count .. '","content":"' .. content ..
    '","kind":"HYPOTHESIS","visitor":"bench","idempotency_key":"bench-' .. mark .. count .. '"}'
  return wrk.format('POST', '/dream', nil, body)
end

local folder = debug.getinfo(1, 'S').source:match('^@(.*/)') or ''
dofile(folder .. 'result.lua')
