// Runs commands with ioredis: `node ioredis.mjs PORT`.
//
// Prints the replies as one line of JSON.

import { once } from 'node:events';
import { createRequire } from 'node:module';

// Only `require` uses NODE_PATH.
const require = createRequire(import.meta.url);
const { Redis } = require('ioredis');

const client = new Redis(Number(process.argv[2]), '127.0.0.1');
// Waits for the reply to INFO: the ready check is on by default.
await once(client, 'ready');

async function pipeline() {
  const commands = client.pipeline();
  for (let number = 0; number < 50; number += 1) {
    commands.call('ECHO', number).call('CL.THROTTLE', 'pipeline', 49, 1, 86400);
  }
  const replies = await commands.exec();
  return replies.map(([error, reply]) => error?.message ?? reply);
}

const got = {
  client: `ioredis ${require('ioredis/package.json').version}, node ${process.version}`,
  ping: await client.ping(),
  session: await client.call('CLIENT', 'INFO'),
  throttle: await client.call('CL.THROTTLE', 'key', 15, 30, 60),
  check: await client.call('TG.CHECK', 'api', 'alice', 'COST', 2),
  refusal: await client.call('TG.CHECK', 'nope', 'alice').catch((error) => error.message),
  pipeline: await pipeline(),
};
await client.quit();
console.log(JSON.stringify(got));
