// Runs commands with node-redis: `node node_redis.mjs PORT`.
//
// Prints the replies as one line of JSON.

import { createRequire } from 'node:module';

// Only `require` uses NODE_PATH.
const require = createRequire(import.meta.url);
const { createClient } = require('redis');

const client = createClient({ url: `redis://127.0.0.1:${process.argv[2]}` });
await client.connect();
const send = (...args) => client.sendCommand(args.map(String));

/** node-redis pipelines all commands that are sent before the first reply. */
function pipeline() {
  const numbers = Array.from({ length: 50 }, (_, number) => number);
  const commands = numbers.flatMap((number) => [
    send('ECHO', number),
    send('CL.THROTTLE', 'pipeline', 49, 1, 86400),
  ]);
  return Promise.all(commands);
}

const got = {
  client: `node-redis ${require('redis/package.json').version}, node ${process.version}`,
  ping: await client.ping(),
  session: await send('CLIENT', 'INFO'),
  throttle: await send('CL.THROTTLE', 'key', 15, 30, 60),
  check: await send('TG.CHECK', 'api', 'alice', 'COST', 2),
  refusal: await send('TG.CHECK', 'nope', 'alice').catch((error) => error.message),
  pipeline: await pipeline(),
};
await client.close();
console.log(JSON.stringify(got));
