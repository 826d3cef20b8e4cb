// Checks keys with rate-limiter-flexible: `node client.mjs PORT KEYS IN_FLIGHT`.
//
// KEYS is a file with one key per line. The first line printed has the names and versions. Then, for
// each line `FROM COUNT` of standard input, it checks COUNT keys beginning with number FROM, IN_FLIGHT
// at a time, and prints the measurements as one JSON object.
//
// As its documentation shows: ioredis, its default, with the offline queue off and default settings
// otherwise. ioredis sends everything over one connection without waiting for replies in between, so
// 50 calls of consume() are 50 checks in flight.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import Redis from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';

const [port, file, inFlight] = process.argv.slice(2);
const keys = readFileSync(file, 'utf8').trim().split('\n');
const client = new Redis({ host: '127.0.0.1', port: Number(port), enableOfflineQueue: false });
await once(client, 'ready');
const limiter = new RateLimiterRedis({ storeClient: client, points: 1000, duration: 60 });

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

async function checkAll(from, count) {
  let next = from;
  let allowed = 0;
  const checkSome = async () => {
    while (next < from + count) {
      if (await allows(keys[next++])) allowed += 1;
    }
  };
  await Promise.all(Array.from({ length: Number(inFlight) }, checkSome));
  return allowed;
}

async function measure(from, count) {
  const begun = performance.now();
  const usedBefore = process.cpuUsage();
  const allowed = await checkAll(from, count);
  const used = process.cpuUsage(usedBefore);
  const seconds = (performance.now() - begun) / 1e3;
  return { checks: count, allowed, seconds, cpu_seconds: (used.user + used.system) / 1e6 };
}

const require = createRequire(import.meta.url);
const named = (name) => `${name} ${require(`${name}/package.json`).version}`;
console.log(`${named('rate-limiter-flexible')}, ${named('ioredis')}, node ${process.version}`);
for await (const line of createInterface({ input: process.stdin })) {
  const [from, count] = line.split(' ').map(Number);
  console.log(JSON.stringify(await measure(from, count)));
}
client.disconnect();
