-- Several checks of one key in one call.
--
-- The checks come as runs: a run is a number of equal checks, or one check with an id. They are decided in
-- their order and at one instant, each by itself. A denied check changes nothing, so that of equal checks
-- the first few are allowed and all others denied. The reply has the states before the first check and how
-- many of each run are allowed; src/call/checks/ computes every decision from that.
--
-- Each limit is loaded once and saved once. In between its variables belong to the functions that `limit in
-- runs` defines, and the sections of its rule work on them.
--
-- A run in the argument: the number of checks (1 byte; 0 is one check with an id), and the cost for each
-- limit. After a check with an id: its terms, which are kept with its reply (2 bytes for the size).
--
-- Sections:
--   limit in runs    loads one limit, and defines its functions
--   decide_runs      decides all runs; defines `results`
--   recall_run, remember_run    for a check with an id, around its decision
--   write_replies    keeps the replies of all checks with an id
-- Sections that a rule may have instead of those here: read_run_cost, fits_times, take_times, save_run,
-- finish_runs; only slots has begin_runs and define_summarize.
-- `read_costs`, `take_all`, `summarize_all`, `save_all` and the functions `all_fit` and `states_now` are
-- written by src/script/runs.rs: the same for each limit.
--
-- Expects, read only:
-- luacheck: read globals time args call pack unpack byte reset_at
-- luacheck: read globals all_fit states_now packed last_expiry touched capped capped_until ttl entry
-- Expects and assigns (`limit`: see README.md):
-- luacheck: globals limit cost changed costs last_expiry
-- Arguments of the functions are used by the sections of a rule:
-- luacheck: ignore 212
-- Placeholders (see README.md):
-- luacheck: read globals RUNS_AT RUN_BYTES SUMMARIES ALLOWED REMEMBERED REMEMBERED_RUN GENERATION_KEY
-- luacheck: read globals GENERATION_TTL_MS VERSION_CHAR

--: limit in runs
do
  local at = time
  --+ load
  --+ begin_runs
  --+ cap_reservations
  limit.read_cost = function(place)
    --+ read_run_cost
    return cost
  end
  limit.fits = function(times)
    local allowed = true
    --+ fits_times
    return allowed
  end
  limit.take = function(times)
    if cost > 0 then
      limit.taken = true
      --+ take_times
    end
  end
  --+ define_summarize
  limit.save = function()
    if limit.taken then
      --+ save_run
    end
  end
  limit.finish = function()
    if limit.taken then
      --+ finish_runs
      if limit.reservations_at then
        limit.new_reservations = capped
        if capped_until > limit.new_expiry then limit.new_expiry = capped_until end
      end
    else
      --+ old_expiry
    end
  end
end

--: cap_reservations
-- What can be given back of open reservations is capped before anything is taken. At one instant only the
-- first taking of several can lower it.
local capped, capped_until = nil, 0
if limit.reservations_at then
  --+ open_reservations
  --+ define_rows
  --+ define_walk
  --+ cap_before_taking
  --+ drop_expired_reservations
  if touched then
    --+ pack_reservations
    capped = packed
  end
  capped_until = last_expiry
end

--: read_run_cost
-- luacheck: read globals place
cost = unpack('<I4', args, place)

--: fits_times
--+ fits

--: take_times
-- luacheck: read globals times
-- Taking a cost several times at one instant is the same as taking the sum.
do
  local cost = times * cost
  --+ take
end

--: save_run
--+ save

--: finish_runs
--+ save

--: how_many_fit
-- Returns how many of `count` equal checks fit.
local function how_many_fit(count)
  if all_fit(count) then return count end
  if count == 1 or not all_fit(1) then return 0 end
  local fit, too_many = 1, count
  while too_many - fit > 1 do
    local middle = math.floor((fit + too_many) / 2)
    if all_fit(middle) then fit = middle else too_many = middle end
  end
  return fit
end

--: decide_runs
--+ how_many_fit
local results, place = {}, RUNS_AT
while place <= #args do
  local count, next_place, remembered = byte(args, place), place + RUN_BYTES, nil
  --+ recall_run
  if not remembered then
    local passed, costs = 0, 0
    repeat
      -- Read each time: the first taking may convert the state to other terms.
      --+ read_costs
      local times = how_many_fit(count - passed)
      if times > 0 and costs > 0 then
        --+ take_all
        changed = true
      end
      passed = passed + times
    until times == 0 or passed == count
    --+ summarize_all
    --+ remember_run
    results[#results + 1] = pack('<B', passed) .. SUMMARIES
  end
  place = next_place
end

--: begin_ids
-- `kept` has the replies of this call by the key of their id, and `kept_keys`, `kept_values` and `kept_ttls`
-- what is written in the end.
local generation = call('GET', KEYS[GENERATION_KEY]) or ''
local id_key, kept, kept_keys, kept_values, kept_ttls = GENERATION_KEY, {}, {}, {}, {}
-- Returns the reply that is kept under an id; if there is none, what `make_entry` needs.
local function recall(key)
  if kept[key] then return pack('<B', REMEMBERED) .. kept[key] end
  local known, last_expiry, others = call('GET', key), time, ''
  --+ scan_replies
  return nil, last_expiry, others
end

--: recall_run
-- luacheck: globals count next_place remembered results id_key recall
local terms, last_expiry, others
if count == 0 then
  count, id_key = 1, id_key + 1
  terms, next_place = unpack('<I2c0', args, next_place)
  remembered, last_expiry, others = recall(KEYS[id_key])
  if type(remembered) == 'table' then return remembered end
  if remembered then results[#results + 1] = pack('<BI4', REMEMBERED_RUN, #remembered) .. remembered end
end

--: remember_run
-- luacheck: globals terms passed id_key kept kept_keys kept_values kept_ttls others
if terms and passed == 1 and costs > 0 then
  --+ save_all
  local kept_reply = terms .. pack('<BI7', ALLOWED, time) .. states_now()
  --+ make_entry
  kept[KEYS[id_key]] = kept_reply
  kept_keys[#kept_keys + 1] = KEYS[id_key]
  kept_values[#kept_values + 1] = VERSION_CHAR .. others .. entry
  kept_ttls[#kept_ttls + 1] = string.format('%d', ttl)
end

--: write_replies
-- luacheck: read globals generation kept_keys kept_values kept_ttls
for j, key in ipairs(kept_keys) do call('PSETEX', key, kept_ttls[j], kept_values[j]) end
if generation ~= '' and #kept_keys > 0 then call('PEXPIRE', KEYS[GENERATION_KEY], GENERATION_TTL_MS) end
