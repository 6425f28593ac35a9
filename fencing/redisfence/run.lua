-- ARGV: token, seq, operation ID or '', how many operations to keep, which try this
-- is (looked at by nobody); then the command's own, as its keys come after ours.
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
end
if token < have or seq <= had then return {'refused', have, had} end

local keys, args = {}, {}
for i = 5, #KEYS do keys[i - 4] = KEYS[i] end
for i = 6, #ARGV do args[i - 5] = ARGV[i] end
local ok, result = pcall(command, keys, args)
if ok and type(result) == 'table' and result.err then ok = false end
if not ok then
  local why = result
  if type(result) == 'table' then why = result.err end
  return {'failed', have, had, tostring(why)}
end
local outcome = ''
if type(result) == 'string' then outcome = result
elseif type(result) == 'number' then outcome = string.format('%.0f', result)
elseif type(result) == 'table' and result.ok then outcome = result.ok end

-- The command cannot be taken back. If it has spoilt the memory, nobody knows more.
local noted = redis.pcall('HSET', memory, 'token', token, 'seq', seq)
if type(noted) == 'table' and noted.err then return {'unknown', have, had, noted.err} end
if op ~= '' then
  redis.call('HSET', operations, op, outcome)
  redis.call('RPUSH', order, op)
  while redis.call('LLEN', order) > tonumber(ARGV[4]) do
    redis.call('HDEL', operations, redis.call('LPOP', order))
  end
end
return {'ran', token, seq, outcome}
