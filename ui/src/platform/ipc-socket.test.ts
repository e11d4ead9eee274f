import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { FakeNative } from '../testing/fake-native';
import { FakeServer, type Connection } from '../testing/fake-server';
import { Client, type LineState, type Publication } from '../wire/client';
import { IpcSocket, MAX_UNSENT } from './ipc-socket';

/** A socket as the program sees it. */
interface Opened {
  channel: string;
  connection: Connection;
}

let native: FakeNative;
let server: FakeServer;
let opened: Opened[];
let client: Client;
let states: LineState[];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
  native = new FakeNative();
  server = new FakeServer();
  opened = [];
  states = [];
  Object.assign(native.commands, {
    socket_open: ({ frames }) => {
      const connection = server.accept(
        (data) => native.tell(frames, { type: 'frame', data }),
        (code, reason) => native.tell(frames, { type: 'close', code, reason }),
      );
      opened.push({ channel: frames, connection });
      return opened.length;
    },
    socket_send: ({ socket, frame }) => {
      const { connection } = opened[socket - 1]!;
      if (!server.connections.has(connection)) {
        throw { code: 'socket.not_found', message: 'there is no such socket' };
      }
      connection.receive(frame);
    },
    socket_acknowledge: () => undefined,
    socket_close: ({ socket }) => void server.connections.delete(opened[socket - 1]!.connection),
  } satisfies FakeNative['commands']);
  client = new Client(
    {
      endpoint: 'ipc://engine',
      fetchToken: () => Promise.resolve({ token: 't', user_id: server.user, device_id: 'device-1' }),
      websocket: IpcSocket,
    },
    { state: (state) => states.push(state), signedIn: () => {} },
  );
});

afterEach(() => {
  client.close();
  native.remove();
  vi.useRealTimers();
});

const phases = () => states.map(({ phase }) => phase);
/** A socket that is open, and what it has told. */
async function openSocket(): Promise<{ socket: IpcSocket; told: string[] }> {
  const socket = new IpcSocket('ipc://engine');
  const told: string[] = [];
  socket.onmessage = ({ data }) => told.push(data);
  socket.onclose = ({ code, reason }) => told.push(`closed ${code} ${reason}`);
  await vi.advanceTimersByTimeAsync(0);
  return { socket, told };
}

describe('the client over the program’s own sockets', () => {
  it('connects and calls methods', async () => {
    server.handlers['v1.turn.stop'] = () => ({ success: true });
    client.connect();
    expect(await client.call('v1.turn.stop', { session_id: 's-1' })).toEqual({ success: true });
    expect(phases()).toEqual(['connecting', 'connected']);
  });

  it('gets publications in their order', async () => {
    const publications: Publication[] = [];
    client.connect();
    client.subscribeTopic(server.topic, {
      position: () => Promise.resolve({ offset: 0, epoch: server.epoch }),
      publication: (publication) => publications.push(publication),
      unrecovered: () => {},
    });
    await vi.advanceTimersByTimeAsync(100);
    for (let number = 1; number <= 300; number++) {
      server.commit();
    }
    await vi.advanceTimersByTimeAsync(100);
    expect(publications.map(({ offset }) => offset)).toEqual(
      Array.from({ length: 300 }, (_, index) => index + 1),
    );
  });

  it('connects again over another socket when the engine closes one', async () => {
    client.connect();
    await vi.advanceTimersByTimeAsync(100);
    const { connection } = opened[0]!;
    server.connections.delete(connection);
    connection.closeWith(3001, 'shutdown');
    await vi.advanceTimersByTimeAsync(5_000);
    expect(phases()).toEqual(['connecting', 'connected', 'reconnecting', 'connected']);
    expect(opened).toHaveLength(2);
  });

  it('does not connect again after a code that says so', async () => {
    client.connect();
    await vi.advanceTimersByTimeAsync(100);
    opened[0]!.connection.closeWith(3503, 'force disconnect');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(states.at(-1)).toEqual({ phase: 'closed', reason: 'force disconnect' });
    expect(opened).toHaveLength(1);
  });

  it('connects again when a socket turns out to be gone by sending', async () => {
    server.handlers['v1.turn.stop'] = () => ({ success: true });
    client.connect();
    await vi.advanceTimersByTimeAsync(100);
    server.connections.clear();
    await expect(client.call('v1.turn.stop', { session_id: 's-1' })).rejects.toMatchObject({
      code: 'line.closed',
    });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(states.at(-1)).toEqual({ phase: 'connected' });
    expect(opened).toHaveLength(2);
  });

  it('tries again while no socket can be opened', async () => {
    const open = native.commands['socket_open']!;
    let tries = 0;
    native.commands['socket_open'] = (parameters) => {
      if (++tries < 3) {
        throw { code: 'engine.shutting_down', message: 'not now' };
      }
      return open(parameters);
    };
    client.connect();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(states.at(-1)).toEqual({ phase: 'connected' });
  });
});

describe('a socket', () => {
  it('loses nothing that is told before it is known to be open', async () => {
    const open = native.commands['socket_open']!;
    native.commands['socket_open'] = (parameters) => {
      const id = open(parameters);
      native.tell(parameters.frames, { type: 'frame', data: 'early' });
      native.tell(parameters.frames, { type: 'close', code: 3000, reason: 'at once' });
      return id;
    };
    const { told } = await openSocket();
    expect(told).toEqual(['early', 'closed 3000 at once']);
  });

  it('sends one frame after the other, however long each takes', async () => {
    const arrived: string[] = [];
    const waiting: (() => void)[] = [];
    native.commands['socket_send'] = ({ frame }) =>
      new Promise<void>((resolve) =>
        waiting.push(() => {
          arrived.push(frame);
          resolve();
        }),
      );
    const { socket } = await openSocket();
    socket.send('one');
    socket.send('two');
    await vi.advanceTimersByTimeAsync(0);
    expect(waiting).toHaveLength(1);
    waiting[0]!();
    await vi.advanceTimersByTimeAsync(0);
    expect(waiting).toHaveLength(2);
    waiting[1]!();
    expect(arrived).toEqual(['one', 'two']);
  });

  it('does not let more wait than it is bound to', async () => {
    native.commands['socket_send'] = () => new Promise(() => {});
    const { socket, told } = await openSocket();
    const frame = 'x'.repeat(MAX_UNSENT / 2);
    socket.send(frame);
    socket.send(frame);
    await vi.advanceTimersByTimeAsync(0);
    expect(told).toEqual([]);
    socket.send('y');
    await vi.advanceTimersByTimeAsync(0);
    expect(told).toEqual(['closed 1000 ']);
    expect(native.callsOf('socket_close')).toEqual([{ socket: 1 }]);
  });

  it('lets pass any amount that is taken in time', async () => {
    native.commands['socket_send'] = () => undefined;
    const { socket, told } = await openSocket();
    for (let number = 0; number < 5; number++) {
      socket.send('x'.repeat(MAX_UNSENT / 2));
      await vi.advanceTimersByTimeAsync(0);
    }
    expect(told).toEqual([]);
    expect(native.callsOf('socket_send')).toHaveLength(5);
  });

  it('acknowledges what was taken, in steps, and only after it was taken', async () => {
    const { socket, told } = await openSocket();
    let acknowledged = -1;
    socket.onmessage = () => (acknowledged = native.callsOf('socket_acknowledge').length);
    const tell = (length: number) =>
      native.tell(opened[0]!.channel, { type: 'frame', data: '€'.repeat(length) });
    tell(40_000);
    expect(native.callsOf('socket_acknowledge')).toEqual([]);
    tell(40_000);
    expect(acknowledged).toBe(0);
    expect(native.callsOf('socket_acknowledge')).toEqual([{ socket: 1, bytes: 80_000 }]);
    tell(65_536);
    expect(native.callsOf('socket_acknowledge').at(-1)).toEqual({ socket: 1, bytes: 65_536 });
    expect(told).toEqual([]);
  });

  it('that is closed tells nothing more, also if it was not open yet', async () => {
    const { socket, told } = await openSocket();
    socket.close();
    native.tell(opened[0]!.channel, { type: 'frame', data: 'late' });
    await vi.advanceTimersByTimeAsync(0);
    expect(told).toEqual(['closed 1000 ']);

    const other = new IpcSocket('ipc://engine');
    const onopen = vi.fn();
    other.onopen = onopen;
    other.close();
    await vi.advanceTimersByTimeAsync(0);
    expect(onopen).not.toHaveBeenCalled();
    expect(native.callsOf('socket_close')).toEqual([{ socket: 1 }, { socket: 2 }]);
  });
});
