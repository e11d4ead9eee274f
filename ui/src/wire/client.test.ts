// @vitest-environment node
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { FakeServer, Refusal } from '../testing/fake-server';
import { randomFrom } from '../testing/random';
import { Client, type LineState, type SignIn } from './client';
import { LINE_CLOSED, RpcError, SignedOutError, toRpcError } from './errors';
import { newId } from './ids';

let server: FakeServer;
let client: Client;
let states: LineState[];
let fetchToken: () => Promise<SignIn>;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
  server = new FakeServer();
  states = [];
  fetchToken = () => Promise.resolve({ token: 't', user_id: 'user-1', device_id: 'device-1' });
  client = new Client(
    {
      endpoint: 'ws://server/connection/websocket',
      fetchToken: () => fetchToken(),
      websocket: server.websocket,
    },
    { state: (state) => states.push(state), signedIn: () => {} },
  );
});

afterEach(() => {
  client.close();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('a client', () => {
  it('tells where the connection is', async () => {
    client.connect();
    await vi.advanceTimersByTimeAsync(100);
    server.dropAll();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(states.map(({ phase }) => phase)).toEqual([
      'connecting',
      'connected',
      'reconnecting',
      'connected',
    ]);
  });

  it('tells the newest reason why there is no connection', async () => {
    client.connect();
    await vi.advanceTimersByTimeAsync(100);
    server.dropAll(3_001, 'the first reason');
    await vi.advanceTimersByTimeAsync(0);
    expect(states.at(-1)).toEqual({ phase: 'reconnecting', reason: 'the first reason' });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(states.at(-1)).toEqual({ phase: 'connected' });
    server.dropAll(3_002, 'the second reason');
    await vi.advanceTimersByTimeAsync(0);
    expect(states.at(-1)).toEqual({ phase: 'reconnecting', reason: 'the second reason' });
  });

  it('tells the newest reason also while no attempt to connect again succeeds', async () => {
    client.connect();
    await vi.advanceTimersByTimeAsync(100);
    server.isAway = true;
    server.dropAll(3_001, 'shutdown');
    await vi.advanceTimersByTimeAsync(0);
    expect(states.at(-1)).toEqual({ phase: 'reconnecting', reason: 'shutdown' });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(states.at(-1)).toEqual({ phase: 'reconnecting', reason: 'transport closed' });
    // There is a server again, but it gives no token any more for now.
    fetchToken = () => Promise.reject(new Error('the sign-in does not answer'));
    server.isTokenGood = () => false;
    server.isAway = false;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(states.at(-1)).toEqual({
      phase: 'reconnecting',
      reason: expect.stringContaining('the sign-in does not answer'),
    });
    fetchToken = () => Promise.resolve({ token: 't2', user_id: 'user-1', device_id: 'device-1' });
    server.isTokenGood = () => true;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(states.at(-1)).toEqual({ phase: 'connected' });
  });

  it('only connects, for whatever reason, before it was connected', async () => {
    server.isAway = true;
    client.connect();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(states).toEqual([{ phase: 'connecting' }]);
  });

  it('answers pings, and leaves a server that sends no more of them', async () => {
    server.pingEvery = 5;
    client.connect();
    await vi.advanceTimersByTimeAsync(100);
    const [connection] = server.connections;
    for (let number = 1; number <= 10; number++) {
      connection!.ping();
      await vi.advanceTimersByTimeAsync(5_000);
      expect(connection!.pongs).toBe(number);
    }
    expect(states.at(-1)).toEqual({ phase: 'connected' });
    await vi.advanceTimersByTimeAsync(11_000);
    expect(states).toContainEqual({ phase: 'reconnecting', reason: 'no ping' });
  });

  describe('without its server', () => {
    /** No wait is longer than this, in milliseconds. */
    const LONGEST = 30_000;

    /** The waits between attempts to connect again in ten minutes. */
    async function waits(random: () => number): Promise<number[]> {
      vi.spyOn(Math, 'random').mockImplementation(random);
      client.connect();
      await vi.advanceTimersByTimeAsync(100);
      server.isAway = true;
      server.attempts.length = 0;
      const left = Date.now();
      server.dropAll();
      await vi.advanceTimersByTimeAsync(600_000);
      return server.attempts.map((at, index) => at - (server.attempts[index - 1] ?? left));
    }

    it('waits longer from time to time, up to a limit', async () => {
      const longest = await waits(() => 0.999_999);
      const growing = longest.slice(0, 5);
      expect(growing.every((wait, index) => index === 0 || wait >= 1.5 * growing[index - 1]!)).toBe(true);
      expect(growing[0]).toBeLessThanOrEqual(2_000);
      expect(Math.max(...longest)).toBeLessThanOrEqual(LONGEST);
      // Ten minutes are no reason to give up, or to ask all the time.
      expect(longest.length).toBeGreaterThanOrEqual(600_000 / LONGEST);
      expect(longest.length).toBeLessThan(600_000 / 5_000);
      server.isAway = false;
      await vi.advanceTimersByTimeAsync(LONGEST);
      expect(states.at(-1)).toEqual({ phase: 'connected' });
    });

    it.each([1, 2, 3])(
      'spreads its attempts, so that many clients do not come at once (seed %i)',
      async (seed) => {
        const all = await waits(randomFrom(seed));
        expect(Math.max(...all)).toBeLessThanOrEqual(LONGEST);
        const late = all.slice(6);
        expect(late.length).toBeGreaterThan(20);
        expect(new Set(late).size).toBeGreaterThan(0.9 * late.length);
        const quarter = Math.max(...late) / 4;
        for (let part = 0; part < 4; part++) {
          const some = late.filter((wait) => wait > part * quarter && wait <= (part + 1) * quarter);
          expect(some.length, `part ${part}`).toBeGreaterThan(late.length / 10);
        }
      },
    );
  });

  it('is signed out when the server gives no token, and does not ask again', async () => {
    let asked = 0;
    fetchToken = () => {
      asked++;
      return Promise.reject(new SignedOutError('no cookie'));
    };
    client.connect();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(states.at(-1)).toEqual({ phase: 'signed_out', reason: 'no cookie' });
    expect(asked).toBe(1);
  });

  it('does not go on as another user', async () => {
    client.connect();
    await vi.advanceTimersByTimeAsync(100);
    fetchToken = () => Promise.resolve({ token: 't2', user_id: 'user-2', device_id: 'device-1' });
    server.isTokenGood = (token) => token === 't2';
    server.dropAll();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(states.at(-1)).toEqual({ phase: 'signed_out', reason: 'another user has signed in' });
  });

  it('gets a new token when its own has expired', async () => {
    client.connect();
    await vi.advanceTimersByTimeAsync(100);
    fetchToken = () => Promise.resolve({ token: 't2', user_id: 'user-1', device_id: 'device-1' });
    server.isTokenGood = (token) => token === 't2';
    server.dropAll();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(states.at(-1)).toEqual({ phase: 'connected' });
  });

  it('tries again when the server cannot be reached for a token', async () => {
    let asked = 0;
    const good = fetchToken;
    fetchToken = () => (++asked < 3 ? Promise.reject(new TypeError('network')) : good());
    client.connect();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(states.at(-1)).toEqual({ phase: 'connected' });
  });

  it('gives the result of a call, or the code of its refusal', async () => {
    server.handlers['v1.turn.stop'] = ({ session_id }) => {
      if (session_id === 's-9') {
        throw new Refusal('session.not_found', 'there is no session s-9');
      }
      return { success: true };
    };
    client.connect();
    expect(await client.call('v1.turn.stop', { session_id: 's-1' })).toEqual({ success: true });
    await expect(client.call('v1.turn.stop', { session_id: 's-9' })).rejects.toMatchObject({
      code: 'session.not_found',
      message: 'there is no session s-9',
    });
  });

  it('says that the line broke when it broke during a call', async () => {
    server.handlers['v1.turn.stop'] = () => {
      server.dropAll();
      return { success: true };
    };
    client.connect();
    await vi.advanceTimersByTimeAsync(100);
    await expect(client.call('v1.turn.stop', { session_id: 's-1' })).rejects.toMatchObject({
      code: LINE_CLOSED,
    });
  });
});

describe('an error of the wire', () => {
  it.each([
    [{ code: 500, message: 'rtc.not_found: there is no call' }, 'rtc.not_found', 'there is no call'],
    [{ code: 500, message: 'outcome_unknown: look' }, 'outcome_unknown', 'look'],
    [{ code: 500, message: 'Something: else' }, 'rpc.internal_error', 'Something: else'],
    [{ code: 11, message: 'connection closed' }, LINE_CLOSED, 'connection closed'],
    [new RpcError('a.b', 'c'), 'a.b', 'c'],
    [undefined, 'rpc.internal_error', 'undefined'],
  ])('%j has a code', (reason, code, message) => {
    expect(toRpcError(reason)).toMatchObject({ code, message });
  });
});

it('an id is a UUID of version 4', () => {
  expect(newId()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});
