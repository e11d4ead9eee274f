// @vitest-environment node
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { FakeServer, Refusal } from '../testing/fake-server';
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
