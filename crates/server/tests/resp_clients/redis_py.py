"""Runs commands with redis-py: `python3 redis_py.py PORT defaults|resp2|asyncio`.

Prints the replies as one line of JSON.
"""

import asyncio
import inspect
import json
import platform
import sys

import redis
import redis.asyncio

KINDS = {
    "defaults": lambda port: redis.Redis(host="127.0.0.1", port=port),
    "resp2": lambda port: redis.Redis(host="127.0.0.1", port=port, protocol=2),
    "asyncio": lambda port: redis.asyncio.Redis(host="127.0.0.1", port=port),
}


async def settled(value):
    """Returns the result of a client, whether it is an asyncio client or not."""
    return await value if inspect.isawaitable(value) else value


async def refusal(client):
    try:
        await settled(client.execute_command("TG.CHECK", "nope", "alice"))
    except redis.ResponseError as error:
        return str(error)


async def pipeline(client):
    # By default it is a transaction, with MULTI and EXEC.
    commands = client.pipeline()
    for number in range(50):
        commands.execute_command("ECHO", number)
        commands.execute_command("CL.THROTTLE", "pipeline", 49, 1, 86400)
    return await settled(commands.execute())


async def main(port, kind):
    client = KINDS[kind](int(port))
    execute = client.execute_command
    got = {
        "client": f"redis-py {redis.__version__} ({kind}), Python {platform.python_version()}",
        "ping": await settled(client.ping()),
        "session": await settled(execute("CLIENT", "INFO")),
        "throttle": await settled(execute("CL.THROTTLE", "key", 15, 30, 60)),
        "check": await settled(execute("TG.CHECK", "api", "alice", "COST", 2)),
        "refusal": await refusal(client),
        "pipeline": await pipeline(client),
    }
    await settled(client.aclose() if kind == "asyncio" else client.close())
    print(json.dumps(got, default=bytes.decode))


asyncio.run(main(*sys.argv[1:]))
