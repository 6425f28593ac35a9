-- ARGV: token, seq, the record as JSON without what was there before, the token and seq
-- that were there when it was decided, which try.
local have, had = last()
local newest = redis.call('LINDEX', overrides, -1)
if newest and string.sub(newest, 42) == ARGV[3] then return {'ran', have, had, ''} end -- a retry
-- One whose answer was lost may still be on its way, and its operator has sent another:
-- landing behind what was written since, it would let an older owner in once more.
if have ~= ARGV[4] or had ~= ARGV[5] then return {'moved', have, had, ''} end
redis.call('RPUSH', overrides, have .. ':' .. had .. ' ' .. ARGV[3])
remember(ARGV[1], ARGV[2])
return {'ran', ARGV[1], ARGV[2], ''}
