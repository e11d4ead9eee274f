"""The published client of Python, led by a test: it does what it is told, a line of JSON each, and tells what happens,
likewise. Its counterpart is client.mjs. Ends when its input does."""

import asyncio
import json
import logging
import sys

from centrifuge import Client, ClientEventHandler, StreamPosition, SubscriptionEventHandler
from centrifuge.exceptions import CentrifugeError, ReplyError

# A frame may be as large as this.
LINE_BYTES = 64 * 1024 * 1024


def tell(event, **context):
    sys.stdout.write(json.dumps({"event": event, **context}) + "\n")
    sys.stdout.flush()


class Watched(Client):
    """Shows the answer to the server's ping, of which the client itself tells nothing."""

    async def _send_commands(self, commands):
        if commands == [{}]:
            tell("pong")
        await super()._send_commands(commands)


class Events(ClientEventHandler):
    async def on_connected(self, ctx):
        tell("connected", data=ctx.data)

    async def on_connecting(self, ctx):
        tell("connecting", code=ctx.code, reason=ctx.reason)

    async def on_disconnected(self, ctx):
        tell("disconnected", code=ctx.code, reason=ctx.reason)

    async def on_error(self, ctx):
        tell("error", code=getattr(ctx.error, "code", ctx.code))


class SubscriptionEvents(SubscriptionEventHandler):
    def __init__(self, channel):
        self.channel = channel

    async def on_subscribed(self, ctx):
        position = ctx.stream_position
        tell(
            "subscribed",
            channel=self.channel,
            position=position and {"offset": position.offset, "epoch": position.epoch},
            was_recovering=ctx.was_recovering,
            recovered=ctx.recovered,
        )

    async def on_subscribing(self, ctx):
        tell("subscribing", channel=self.channel, code=ctx.code, reason=ctx.reason)

    async def on_unsubscribed(self, ctx):
        tell("unsubscribed", channel=self.channel, code=ctx.code, reason=ctx.reason)

    async def on_error(self, ctx):
        tell("subscription error", channel=self.channel, code=getattr(ctx.error, "code", ctx.code))

    async def on_publication(self, ctx):
        tell("publication", channel=self.channel, offset=ctx.pub.offset, data=ctx.pub.data)


def position_of(given):
    return given and StreamPosition(offset=given["offset"], epoch=given["epoch"])


async def answer(of, asked):
    try:
        tell("answer", of=of, **await asked)
    except ReplyError as error:
        tell("refused", of=of, code=error.code, message=error.message)
    except CentrifugeError as error:
        tell("refused", of=of, code=0, message=str(error))


class Peer:
    def __init__(self):
        self.client = None
        self.tasks = set()
        self.token_given = None
        self.state_given = None

    def spawn(self, task):
        task = asyncio.ensure_future(task)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def wanted_token(self):
        self.token_given = asyncio.Future()
        tell("token wanted")
        return await self.token_given

    async def wanted_state(self, channel):
        self.state_given = asyncio.Future()
        tell("state wanted", channel=channel)
        return await self.state_given

    async def connect(self, endpoint, token, provider=False, data=None, patience=10_000):
        self.client = Watched(
            endpoint,
            events=Events(),
            token=token,
            get_token=self.wanted_token if provider else None,
            data=data,
            timeout=30.0,
            min_reconnect_delay=0.02,
            max_reconnect_delay=0.2,
            max_server_ping_delay=patience / 1000,
            proxy=None,
        )
        self.spawn(self.client.connect())

    async def token(self, token):
        self.token_given.set_result(token)

    async def subscribe(self, channel, state=False):
        subscription = self.client.new_subscription(
            channel,
            events=SubscriptionEvents(channel),
            min_resubscribe_delay=0.02,
            max_resubscribe_delay=0.2,
            get_state=self.wanted_state if state else None,
        )
        self.spawn(subscription.subscribe())

    async def state(self, position):
        self.state_given.set_result(position_of(position))

    async def unsubscribe(self, channel):
        subscription = self.client.get_subscription(channel)
        await subscription.unsubscribe()
        self.client.remove_subscription(subscription)

    async def history(self, channel, limit=0, since=None, reverse=False):
        async def asked():
            result = await self.client.history(channel, limit, position_of(since), reverse)
            publications = [{"offset": pub.offset, "data": pub.data} for pub in result.publications]
            return {"offset": result.offset, "epoch": result.epoch, "publications": publications}

        self.spawn(answer("history", asked()))

    async def rpc(self, method, data):
        async def asked():
            return {"data": (await self.client.rpc(method, data)).data}

        self.spawn(answer("rpc", asked()))

    async def batch(self, calls):
        """Several calls in one frame: the package itself has no way to say it, but sends what it is given together."""
        commands, replies = [], []
        for call in calls:
            number = self.client._next_command_id()
            commands.append({"id": number, "rpc": call})
            replies.append(self.client._register_future(number, 30.0))
        await self.client._send_commands(commands)

        async def asked(reply):
            reply = await reply
            self.client._check_reply_error(reply)
            return {"data": reply["rpc"].get("data")}

        for reply in replies:
            self.spawn(answer("rpc", asked(reply)))

    async def disconnect(self):
        await self.client.disconnect()


async def main():
    logging.disable(logging.CRITICAL)
    peer = Peer()
    reader = asyncio.StreamReader(limit=LINE_BYTES)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        told = json.loads(line)
        await getattr(peer, told.pop("command"))(**told)


asyncio.run(main())
