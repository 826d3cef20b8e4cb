"""Checks keys with limits: `python3 client.py PORT KEYS IN_FLIGHT STRATEGY`.

KEYS is a file with one key per line. The first line printed has the names and versions. Then, for
each line `FROM COUNT` of standard input, it checks COUNT keys beginning with number FROM, IN_FLIGHT
at a time, and prints the measurements as one JSON object.

Of its ways to have 50 checks in flight, this was the fastest when tried: its asyncio storage
over redis-py with hiredis, where each of 50 coroutines has a connection of its own out of a pool.
coredis, its default, was slower, and 50 threads with the blocking storage slower still. It has no way
to send several checks over one connection at once.
"""

import asyncio
import json
import platform
import sys
import time
from importlib.metadata import version

from limits import RateLimitItemPerMinute
from limits.aio import strategies
from limits.aio.storage import RedisStorage

STRATEGIES = {
    "fixed-window": strategies.FixedWindowRateLimiter,
    "moving-window": strategies.MovingWindowRateLimiter,
    "sliding-window-counter": strategies.SlidingWindowCounterRateLimiter,
}
LIMIT = RateLimitItemPerMinute(1000)


async def check_some(limiter, keys):
    allowed = 0
    for key in keys:
        allowed += await limiter.hit(LIMIT, key)
    return allowed


async def measure(limiter, keys, in_flight):
    begun, used = time.perf_counter(), time.process_time()
    # All coroutines take from one iterator, so that none ends before the others.
    shared = iter(keys)
    allowed = await asyncio.gather(*(check_some(limiter, shared) for _ in range(in_flight)))
    return {
        "checks": len(keys),
        "allowed": sum(allowed),
        "seconds": time.perf_counter() - begun,
        "cpu_seconds": time.process_time() - used,
    }


async def main(port, file, in_flight, strategy):
    with open(file, encoding="utf-8") as lines:
        keys = lines.read().split()
    storage = RedisStorage(f"async+redis://127.0.0.1:{port}", implementation="redispy")
    limiter = STRATEGIES[strategy](storage)
    libraries = ", ".join(f"{name} {version(name)}" for name in ("limits", "redis", "hiredis"))
    print(f"{libraries}, Python {platform.python_version()}", flush=True)
    # Nothing is in flight while it waits for a line, so reading may block.
    for line in sys.stdin:
        first, count = map(int, line.split())
        measured = await measure(limiter, keys[first : first + count], int(in_flight))
        print(json.dumps(measured), flush=True)


asyncio.run(main(*sys.argv[1:]))
