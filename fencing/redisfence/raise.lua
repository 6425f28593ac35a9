-- ARGV: token, which try this is.
local have, had = last()
if ARGV[1] < have then return {'refused', have, had} end
if ARGV[1] > have then
  remember(ARGV[1], ZERO)
  have, had = ARGV[1], ZERO
end
return {'ran', have, had, ''}
