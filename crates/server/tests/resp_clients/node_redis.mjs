// Asks a server with node-redis: `node node_redis.mjs PORT`.
//
// Prints one line of JSON with what it got.

import { createRequire } from 'node:module';

// Only `require` looks where NODE_PATH says.
const require = createRequire(import.meta.url);
const { createClient } = require('redis');

const client = createClient({ url: `redis://127.0.0.1:${process.argv[2]}` });
await client.connect();
const ask = (...words) => client.sendCommand(words.map(String));

/** Sent at once, as all is that is asked for before the first answer. */
function pipeline() {
  const numbers = Array.from({ length: 50 }, (_, number) => number);
  const commands = numbers.flatMap((number) => [
    ask('ECHO', number),
    ask('CL.THROTTLE', 'pipeline', 49, 1, 86400),
  ]);
  return Promise.all(commands);
}

const got = {
  client: `node-redis ${require('redis/package.json').version}, node ${process.version}`,
  ping: await client.ping(),
  session: await ask('CLIENT', 'INFO'),
  throttle: await ask('CL.THROTTLE', 'key', 15, 30, 60),
  check: await ask('TG.CHECK', 'api', 'alice', 'COST', 2),
  refusal: await ask('TG.CHECK', 'nope', 'alice').catch((error) => error.message),
  pipeline: await pipeline(),
};
await client.close();
console.log(JSON.stringify(got));
