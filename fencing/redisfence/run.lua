-- ARGV: token, seq, operation ID or '', how many operations to keep; then the command's
-- own, as its keys come after ours; last, which try this is (looked at by nobody).
local token, seq, op = ARGV[1], ARGV[2], ARGV[3]
local have, had = last()
if token > have then -- on sight, whatever becomes of the command
  remember(token, ZERO)
  have, had = token, ZERO
end
if seq == ZERO then return {'refused', have, had} end
if op ~= '' then
  local outcome = redis.call('HGET', operations, op)
  if outcome then return {'known', have, had, outcome} end
  redis.call('LLEN', order) -- fails now, if it is no list, and not behind the command
end
if token < have or seq <= had then
  -- A duplicate may be the client's own second try, which wants the first one's outcome.
  local outcome = ''
  if token == have and seq == had then outcome = redis.call('HGET', memory, 'outcome') or '' end
  return {'refused', have, had, outcome}
end

local keys, args = {}, {}
for i = 5, #KEYS do keys[i - 4] = KEYS[i] end
for i = 5, #ARGV - 1 do args[i - 4] = ARGV[i] end
local ok, result = pcall(command, keys, args)
if ok and type(result) == 'table' and result.err then ok = false end
if not ok then return {'failed', have, had, said(result)} end
local outcome = ''
if type(result) == 'string' then outcome = result
elseif type(result) == 'number' then outcome = string.format('%.0f', result)
elseif type(result) == 'table' and result.ok then outcome = result.ok end

-- The command cannot be taken back, so whatever fails from here on is an unknown
-- outcome. An error of the script's would read as one of a script that did nothing:
-- its Stamp would be told as not applied, with the data changed.
local noted, why = pcall(function()
  remember(token, seq, outcome)
  if op ~= '' then
    redis.call('HSET', operations, op, outcome)
    redis.call('RPUSH', order, op)
    while redis.call('LLEN', order) > tonumber(ARGV[4]) do
      redis.call('HDEL', operations, redis.call('LPOP', order))
    end
  end
end)
if not noted then return {'unknown', have, had, said(why)} end
return {'ran', token, seq, outcome}
