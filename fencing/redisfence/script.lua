-- What every script of this package begins with. KEYS: the memory, its operations,
-- their order, its overrides. Tokens and Seqs come as decimal digits of a fixed width.
local memory, operations, order, overrides = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local NONE, ZERO = string.rep('0', 19), string.rep('0', 20)
local LARGEST = '9223372036854775807'

-- last lets nobody in by a memory that is there and cannot be read: a field that was
-- removed would read as a resource that nobody has come to.
local function last()
  local kind = redis.call('TYPE', memory).ok
  if kind == 'none' then return NONE, ZERO end
  local token, seq = false, false
  if kind == 'hash' then
    local r = redis.call('HMGET', memory, 'token', 'seq')
    token, seq = r[1], r[2]
  end
  if not token or not seq or #token ~= 19 or #seq ~= 20 or string.find(token .. seq, '%D') or token > LARGEST then
    error({err = 'ZKFENCE ' .. memory .. ', a ' .. kind .. ', is no memory of a guard'})
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
