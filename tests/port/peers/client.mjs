// The published client of JavaScript, led by a test: it does what it is told, a line of JSON each, and tells what
// happens, likewise. Its counterpart is client.py. Ends when its input does.
import { createInterface } from 'node:readline';
import { Centrifuge } from 'centrifuge';
import WebSocket from 'ws';

function tell(event, context = {}) {
  process.stdout.write(`${JSON.stringify({ event, ...context })}\n`);
}

// Shows the answer to the server's ping, of which the client itself tells nothing.
class Watched extends WebSocket {
  send(data, ...rest) {
    if (data === '{}') tell('pong');
    return super.send(data, ...rest);
  }
}

let client;
let giveToken;
let giveState;

function why({ code, reason }) {
  return { code, reason };
}

const commands = {
  connect({ endpoint, token, provider, data, patience }) {
    const wanted = () => new Promise((resolve) => {
      giveToken = resolve;
      tell('token wanted');
    });
    client = new Centrifuge(endpoint, {
      token,
      data,
      getToken: provider ? wanted : null,
      websocket: Watched,
      timeout: 30_000,
      minReconnectDelay: 20,
      maxReconnectDelay: 200,
      maxServerPingDelay: patience ?? 10_000,
    });
    client.on('connected', ({ data }) => tell('connected', { data }));
    client.on('connecting', (context) => tell('connecting', why(context)));
    client.on('disconnected', (context) => tell('disconnected', why(context)));
    client.on('error', ({ error }) => tell('error', { code: error.code }));
    client.connect();
  },
  token({ token }) {
    giveToken(token);
  },
  subscribe({ channel, state }) {
    const wanted = () => new Promise((resolve) => {
      giveState = resolve;
      tell('state wanted', { channel });
    });
    const options = { minResubscribeDelay: 20, maxResubscribeDelay: 200, getState: state ? wanted : null };
    const subscription = client.newSubscription(channel, options);
    subscription.on('subscribed', ({ streamPosition, wasRecovering, recovered }) => {
      tell('subscribed', { channel, position: streamPosition, was_recovering: wasRecovering, recovered });
    });
    subscription.on('subscribing', (context) => tell('subscribing', { channel, ...why(context) }));
    subscription.on('unsubscribed', (context) => tell('unsubscribed', { channel, ...why(context) }));
    subscription.on('error', ({ error }) => tell('subscription error', { channel, code: error.code }));
    subscription.on('publication', ({ offset, data }) => tell('publication', { channel, offset: offset ?? 0, data }));
    subscription.subscribe();
  },
  state({ position }) {
    giveState(position);
  },
  unsubscribe({ channel }) {
    const subscription = client.getSubscription(channel);
    subscription.unsubscribe();
    client.removeSubscription(subscription);
  },
  history({ channel, limit, since, reverse }) {
    answer('history', client.history(channel, { limit, since, reverse }));
  },
  rpc({ method, data }) {
    answer('rpc', client.rpc(method, data).then((result) => ({ data: result.data })));
  },
  // Several calls in one frame.
  async batch({ calls }) {
    client.startBatching();
    for (const call of calls) commands.rpc(call);
    await Promise.resolve();
    client.stopBatching();
  },
  disconnect() {
    client.disconnect();
  },
};

async function answer(of, promise) {
  try {
    const result = await promise;
    tell('answer', { of, ...result });
  } catch (error) {
    tell('refused', { of, code: error.code, message: error.message });
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { command, ...rest } = JSON.parse(line);
  await commands[command](rest);
}
process.exit(0);
