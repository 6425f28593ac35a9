-- What every script of this package begins with. KEYS: the memory, its operations,
-- their order, its overrides. Tokens and Seqs come as decimal digits of a fixed width.
local memory, operations, order, overrides = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local NONE, ZERO = string.rep('0', 19), string.rep('0', 20)

local function last()
  local r = redis.call('HMGET', memory, 'token', 'seq')
  local token, seq = r[1] or NONE, r[2] or ZERO
  if #token ~= 19 or #seq ~= 20 or string.find(token .. seq, '%D') then
    error({err = 'ZKFENCE ' .. memory .. ' is no memory of a guard'})
  end
  return token, seq
end

-- remember has the outcome with its Stamp, or none: one that outlives its Stamp would
-- be told as a later command's.
local function remember(token, seq, outcome)
  redis.call('HSET', memory, 'token', token, 'seq', seq, 'outcome', outcome or '')
end

-- said is the text of an error: a table from Redis 7 on, and before it a string.
local function said(why)
  if type(why) == 'table' then why = why.err end
  return tostring(why)
end
