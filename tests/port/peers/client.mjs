// Connects with the published client and tells what happens, one event a line. Ends when its input does.
import { Centrifuge } from 'centrifuge';
import WebSocket from 'ws';

const [endpoint, token, user] = process.argv.slice(2);

// Far more than anything needs: whoever waits that long hangs.
setTimeout(() => {
  tell('nothing happens');
  process.exit(1);
}, 90_000).unref();

function tell(line) {
  process.stdout.write(`${line}\n`);
}

// Shows the answer to the server's ping, of which the client itself tells nothing.
let pinged;
const ping = new Promise((resolve) => (pinged = resolve));
class Watched extends WebSocket {
  send(data, ...rest) {
    if (data === '{}') pinged();
    return super.send(data, ...rest);
  }
}

const client = new Centrifuge(endpoint, { token, websocket: Watched, timeout: 30_000, minReconnectDelay: 50, maxReconnectDelay: 500 });

function event(emitter, name) {
  return new Promise((resolve) => emitter.once(name, resolve));
}

const connected = event(client, 'connected');
client.connect();
await connected;
tell('connected');

const subscriptions = [];
for (const name of ['topic', 'live']) {
  const subscription = client.newSubscription(`${name}:u=${user}`);
  const subscribed = event(subscription, 'subscribed');
  subscription.subscribe();
  await subscribed;
  tell(`subscribed ${name}`);
  subscriptions.push([name, subscription]);
}

try {
  await client.rpc('v1.no.such', {});
} catch (error) {
  tell(`rpc error ${error.code} ${error.message.split(':')[0]}`);
}

const foreign = client.newSubscription('topic:u=00000000-0000-0000-0000-000000000001');
const refused = new Promise((resolve) => {
  foreign.once('error', (context) => resolve(context.error.code));
  foreign.once('unsubscribed', (context) => resolve(context.code));
});
foreign.subscribe();
tell(`refused channel ${await refused}`);
foreign.unsubscribe();
client.removeSubscription(foreign);

const left = event(client, 'connecting');
const back = event(client, 'connected');
await ping;
tell('ping answered');

const { code, reason } = await left;
tell(`reconnecting ${code} ${reason}`);
const again = subscriptions.map(([name, subscription]) => event(subscription, 'subscribed').then(() => name));
await back;
tell('connected');
for (const subscribed of again) tell(`subscribed again ${await subscribed}`);

process.stdin.resume();
await event(process.stdin, 'end');
const disconnected = event(client, 'disconnected');
client.disconnect();
tell(`disconnected ${(await disconnected).code}`);
process.exit(0);
