-- ARGV: token, seq, the record as JSON without what was there before, which try.
local have, had = last()
local newest = redis.call('LINDEX', overrides, -1)
if newest and string.sub(newest, 42) == ARGV[3] then return {'ran', have, had, ''} end -- a retry
redis.call('RPUSH', overrides, have .. ':' .. had .. ' ' .. ARGV[3])
remember(ARGV[1], ARGV[2])
return {'ran', ARGV[1], ARGV[2], ''}
