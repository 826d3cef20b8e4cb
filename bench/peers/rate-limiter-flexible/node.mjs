// One node with rate-limiter-flexible: `node node.mjs PORT CALLERS POINTS DURATION`.
//
// The first line printed has the names and versions. Then, for each line `START SECONDS RATE KEYS` of
// standard input, all callers check the keys of the file KEYS from the instant START on, for so long and at
// this number of checks per second (0: full speed), and the measurements are printed as one JSON object.
// START is in nanoseconds of the monotonic clock, so that all nodes start together.
//
// As its documentation shows: ioredis, its default, with the offline queue off and default settings
// otherwise. Keys that have used up their points are denied in this process (inMemoryBlockOnConsumed).

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { setImmediate, setTimeout } from 'node:timers/promises';
import Redis from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';

/** After so many checks a caller lets others run: a key that is denied here never waits for anything. */
const CHECKS_IN_A_ROW = 64;
/** One in so many checks is timed at full speed: reading the clock takes longer than some checks do. */
const TIMED = 16;

const [port, callers, points, duration] = process.argv.slice(2).map(Number);
const client = new Redis({ host: '127.0.0.1', port, enableOfflineQueue: false });
await once(client, 'ready');
const limiter = new RateLimiterRedis({
  storeClient: client,
  points,
  duration,
  inMemoryBlockOnConsumed: points,
});

/** Returns whether the check is allowed. A denial is thrown too, but is not an Error. */
async function allows(key) {
  try {
    await limiter.consume(key);
    return true;
  } catch (denial) {
    if (denial instanceof Error) throw denial;
    return false;
  }
}

const tally = () => ({ checks: 0, allowed: 0, latencies: [], admissions: [] });
/** The clock that all processes share, in nanoseconds. */
const monotonic = () => Number(process.hrtime.bigint());

async function checkUntil(end, keys, first, sum) {
  for (let number = 0; performance.now() < end; number += 1) {
    const key = keys[(first + number) % keys.length];
    const start = number % TIMED === 0 ? performance.now() : undefined;
    if (await allows(key)) sum.allowed += 1;
    sum.checks += 1;
    if (start !== undefined) sum.latencies.push((performance.now() - start) * 1e3);
    if ((number + 1) % CHECKS_IN_A_ROW === 0) await setImmediate();
  }
}

async function checkAt(caller, rate, start, end, keys, first, sum) {
  for (let number = 0; ; number += 1) {
    const time = start + ((caller + number * callers) / rate) * 1e3;
    if (time >= end) return;
    await setTimeout(Math.max(0, time - performance.now()));
    const sent = monotonic();
    const allowed = await allows(keys[(first + number) % keys.length]);
    const answered = monotonic();
    sum.checks += 1;
    sum.latencies.push((answered - sent) / 1e3);
    if (allowed) {
      sum.allowed += 1;
      sum.admissions.push([sent, answered]);
    }
  }
}

/** Returns the microseconds within which this share of the checks was answered. */
function within(latencies, share) {
  return latencies[Math.max(0, Math.ceil(latencies.length * share) - 1)] ?? 0;
}

async function measure(seconds, rate, keys) {
  const sum = tally();
  const start = performance.now();
  const end = start + seconds * 1e3;
  const check = (_, caller) => {
    const first = Math.floor((keys.length * caller) / callers);
    return rate === 0
      ? checkUntil(end, keys, first, sum)
      : checkAt(caller, rate, start, end, keys, first, sum);
  };
  await Promise.all(Array.from({ length: callers }, check));
  const latencies = Float64Array.from(sum.latencies).sort();
  return {
    checks: sum.checks,
    allowed: sum.allowed,
    seconds: rate === 0 ? (performance.now() - start) / 1e3 : seconds,
    p50: within(latencies, 0.5),
    p99: within(latencies, 0.99),
    p999: within(latencies, 0.999),
    admissions: sum.admissions,
  };
}

const require = createRequire(import.meta.url);
const named = (name) => `${name} ${require(`${name}/package.json`).version}`;
console.log(`${named('rate-limiter-flexible')}, ${named('ioredis')}, node ${process.version}`);
for await (const line of createInterface({ input: process.stdin })) {
  const [start, seconds, rate, file] = line.split(' ');
  const keys = readFileSync(file, 'utf8').trim().split('\n');
  await setTimeout(Math.max(0, (Number(start) - monotonic()) / 1e6));
  console.log(JSON.stringify(await measure(Number(seconds), Number(rate), keys)));
}
client.disconnect();
