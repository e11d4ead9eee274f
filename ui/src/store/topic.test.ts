// @vitest-environment node
import Dexie from 'dexie';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { message, rtc, session, turn } from '../testing/entities';
import { FakeServer, type Connection } from '../testing/fake-server';
import { randomFrom } from '../testing/random';
import { Client } from '../wire/client';
import { Database, KEPT_MESSAGES } from './database';
import { Topic, type TopicLine, type TopicState } from './topic';

let server: FakeServer;
let opened: { client: Client; topic: Topic; database: Database }[];
let databases = 0;

beforeEach(() => {
  // fake-indexeddb needs the real setImmediate.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
  server = new FakeServer();
  opened = [];
});

afterEach(async () => {
  for (const { client, topic, database } of opened) {
    topic.close();
    client.close();
    database.close();
    await Dexie.delete(database.name);
  }
  vi.useRealTimers();
});

interface Page {
  database: Database;
  topic: Topic;
  states: TopicState[];
  cleared: () => number;
}

/** A page that is open: a client, its store, and the topic between them. */
function openPage(
  name = `page-${databases++}`,
  lineOf: (client: Client) => TopicLine = (client) => client,
): Page {
  const database = new Database(name);
  const states: TopicState[] = [];
  let cleared = 0;
  let topic!: Topic;
  const client = new Client(
    {
      endpoint: 'ws://server/connection/websocket',
      fetchToken: () => Promise.resolve({ token: 't', user_id: server.user, device_id: 'device-1' }),
      websocket: server.websocket,
    },
    { state: () => {}, signedIn: () => topic.start() },
  );
  topic = new Topic(server.topic, lineOf(client), database, {
    state: (state) => states.push(state),
    cleared: () => cleared++,
  });
  client.connect();
  opened.push({ client, topic, database });
  return { database, topic, states, cleared: () => cleared };
}

function closePage(page: Page): void {
  const entry = opened.find(({ database }) => database === page.database)!;
  entry.topic.close();
  entry.client.close();
  entry.database.close();
}

/** Lets timers, sockets and the store run for a while of fake time. */
async function run(milliseconds: number): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 50) {
    await vi.advanceTimersByTimeAsync(50);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Runs until the page has stored everything. */
async function inStep(page: Page): Promise<void> {
  for (let tries = 0; tries < 2_000; tries++) {
    await run(50);
    const cursor = await page.database.cursor();
    if (cursor?.offset === server.offset && cursor.epoch === server.epoch) {
      await page.topic.settled();
      return;
    }
  }
  throw new Error(`not in step: ${JSON.stringify(await page.database.cursor())}, server ${server.offset}`);
}

/** All that is stored, in a form that can be compared. */
async function dump(database: Database): Promise<unknown> {
  const [sessions, turns, messages, rtcs, cursor] = await Promise.all([
    database.sessions.toArray(),
    database.turns.toArray(),
    database.messages.toArray(),
    database.rtcs.toArray(),
    database.cursor(),
  ]);
  return { sessions, turns, messages, rtcs, cursor };
}

function say(number: number, text = `message ${number}`): void {
  server.commit({
    entity: 'message',
    data: message(
      { id: `m-${number}`, session_id: 's-1', global_offset: number },
      { type: 'markdown', data: text },
    ),
  });
}

async function openedSession(): Promise<Page> {
  server.commit({ entity: 'session', data: session({ id: 's-1' }) });
  const page = openPage();
  await inStep(page);
  await page.topic.open('s-1');
  return page;
}

async function texts(database: Database): Promise<string[]> {
  return (await database.messagesOf('s-1')).map(
    ({ content }) => (JSON.parse(content) as { data: string }).data,
  );
}

describe('a topic', () => {
  it('loads by query what is there before it subscribes', async () => {
    server.commit({ entity: 'session', data: session({ id: 's-1' }) });
    server.commit({ entity: 'turn', data: turn({ id: 't-1', session_id: 's-1', status: 'interrupted' }) });
    server.commit({ entity: 'rtc', data: rtc({ id: 'r-1', session_id: 's-1' }) });
    const page = openPage();
    await inStep(page);
    expect(await page.database.sessions.count()).toBe(1);
    expect(await page.database.rtcs.count()).toBe(1);
    expect(page.states.at(-1)).toEqual({ phase: 'current' });
    expect(page.cleared()).toBe(0);
  });

  it('stores each update once, however often it is delivered', async () => {
    const page = await openedSession();
    server.deliver = (connection, frame) => {
      connection.send(frame);
      connection.send(frame);
    };
    say(1);
    say(2);
    await inStep(page);
    server.dropAll();
    await inStep(page);
    expect(await texts(page.database)).toEqual(['message 1', 'message 2']);
  });

  it('brings reordered updates into order', async () => {
    const page = await openedSession();
    const held: (() => void)[] = [];
    server.deliver = (connection, frame) => held.push(() => connection.send(frame));
    say(1);
    say(2);
    say(3);
    held.reverse().forEach((send) => send());
    await inStep(page);
    expect(await texts(page.database)).toEqual(['message 1', 'message 2', 'message 3']);
  });

  it('fills what was lost on the way from the history', async () => {
    const page = await openedSession();
    server.deliver = () => {};
    say(1);
    say(2);
    server.deliver = (connection, frame) => connection.send(frame);
    say(3);
    await inStep(page);
    expect(await texts(page.database)).toEqual(['message 1', 'message 2', 'message 3']);
  });

  it('passes over places of the stream that hold nothing', async () => {
    const page = await openedSession();
    server.burn();
    server.burn();
    say(1);
    await inStep(page);
    expect(await texts(page.database)).toEqual(['message 1']);
  });

  it('recovers what was missed while the line was down', async () => {
    const page = await openedSession();
    const calls = server.calls.length;
    server.dropAll();
    say(1);
    say(2);
    await inStep(page);
    expect(await texts(page.database)).toEqual(['message 1', 'message 2']);
    expect(server.calls.length).toBe(calls);
  });

  it.each([true, false])('pages through the history after a long absence (refused: %s)', async (refused) => {
    const page = await openedSession();
    server.rejectsUnrecovered = refused;
    server.maxRecovered = 10;
    server.dropAll();
    for (let number = 1; number <= 2_500; number++) {
      server.commit({ entity: 'session', data: session({ id: `s-${number}`, title: `title ${number}` }) });
    }
    await inStep(page);
    expect(await page.database.sessions.count()).toBe(2_500);
    const progress = page.states.filter((state) => state.phase === 'catching_up');
    expect(progress).toEqual([
      { phase: 'catching_up', done: 1_000, total: 2_500 },
      { phase: 'catching_up', done: 2_000, total: 2_500 },
    ]);
    expect(page.cleared()).toBe(0);
  });

  it('goes on from the stored cursor when the line breaks in the middle of a history', async () => {
    const page = await openedSession();
    server.maxRecovered = 0;
    let pages = 0;
    server.beforeHistory = () => ++pages !== 2;
    server.dropAll();
    for (let number = 1; number <= 1_500; number++) {
      server.commit({ entity: 'session', data: session({ id: `s-${number}` }) });
    }
    await inStep(page);
    expect(await page.database.sessions.count()).toBe(1_500);
    expect(pages).toBeGreaterThanOrEqual(3);
  });

  it.each([true, false])('drops its cache when the epoch has changed (refused: %s)', async (refused) => {
    const page = await openedSession();
    say(1);
    await inStep(page);
    server.rejectsUnrecovered = refused;
    await page.database.drafts.put({ key: 's-1', text: 'not sent' });
    server.dropAll();
    server.epoch = 'epoch-2';
    server.rows = [];
    server.offset = 0;
    server.messages.clear();
    server.sessions.set('s-2', session({ id: 's-2' }));
    say(7, 'of the new time');
    await inStep(page);
    expect(page.cleared()).toBe(1);
    expect(await texts(page.database)).toEqual(['of the new time']);
    expect(await page.database.sessions.count()).toBe(2);
    expect((await page.database.drafts.get('s-1'))?.text).toBe('not sent');
    say(8);
    await inStep(page);
    expect(await texts(page.database)).toEqual(['of the new time', 'message 8']);
  });

  it('never has a cursor ahead of the data: a failed transaction leaves both', async () => {
    const page = await openedSession();
    const before = await dump(page.database);
    const fault = vi.spyOn(page.database.cursors, 'put').mockImplementation(() => {
      throw new Error('no room');
    });
    say(1);
    await run(500);
    expect(await dump(page.database)).toEqual(before);
    expect(page.states.at(-1)).toEqual({ phase: 'failed', reason: expect.stringContaining('no room') });
    say(2);
    await run(5_000);
    expect(await dump(page.database)).toEqual(before);
    fault.mockRestore();
    await inStep(page);
    expect(await texts(page.database)).toEqual(['message 1', 'message 2']);
  });

  it('waits longer between tries while the store fails', async () => {
    const page = await openedSession();
    vi.spyOn(page.database.cursors, 'put').mockImplementation(() => {
      throw new Error('no room');
    });
    say(1);
    await run(40_000);
    const failures = page.states.filter((state) => state.phase === 'failed').length;
    expect(failures).toBeGreaterThan(3);
    expect(failures).toBeLessThan(8);
  });

  it('starts from the stored cursor when the page is opened again', async () => {
    const page = await openedSession();
    say(1);
    await inStep(page);
    closePage(page);
    say(2);
    const asked = server.calls.length;
    const again = openPage(page.database.name.replace('rtc-desktop-', ''));
    await inStep(again);
    expect(await texts(again.database)).toEqual(['message 1', 'message 2']);
    expect(server.calls.length).toBe(asked);
  });

  it('is shared by two windows over one store', async () => {
    const page = await openedSession();
    const other = openPage(page.database.name.replace('rtc-desktop-', ''));
    for (let number = 1; number <= 20; number++) {
      say(number);
    }
    await inStep(page);
    await inStep(other);
    expect((await texts(page.database)).length).toBe(20);
  });

  describe.each(['a session is opened', 'everything is loaded anew'])('while %s', (what) => {
    /** What is between the answers to the requests of a snapshot. */
    const places = ['v1.message.list', 'v1.turn.list', 'v1.rtc.list'];
    const everyWay = Array.from({ length: 4 ** places.length }, (_, way) =>
      places.map((_, place) => Math.floor(way / 4 ** place) % 4),
    );

    it('what another window stores meanwhile is not lost', { timeout: 240_000 }, async () => {
      for (const [number, way] of everyWay.entries()) {
        const name = `shared-${what.length}-${number}`;
        const id = `s-${number}`;
        server.commit({ entity: 'session', data: session({ id }) });
        let step = 0;
        const statuses = ['pending', 'sent', 'executing', 'completed'] as const;
        const happen = (kind: number) => {
          step++;
          if (kind === 1) {
            server.commit({
              entity: 'message',
              data: message(
                { id: `${id}-m-${step}`, session_id: id, global_offset: step },
                { type: 'text', data: '' },
              ),
            });
          } else {
            const status = statuses[Math.min(step, 3)]!;
            server.commit(
              {
                entity: 'rtc',
                data: rtc({ id: `${id}-r`, session_id: id, status, message_id: `${id}-m-1` }),
              },
              { entity: 'turn', data: turn({ id: `${id}-t`, session_id: id, status: 'running' }) },
            );
            if (kind === 3) {
              server.commit({
                entity: 'turn',
                data: turn({ id: `${id}-t`, session_id: id, status: 'completed' }),
              });
            }
          }
        };
        happen(1);
        let isHeld = false;
        const other = openPage(name);
        await inStep(other);
        const page = openPage(name, (client) => ({
          call: async (method, request) => {
            const answer = await client.call(method, request);
            const kind = isHeld ? way[places.indexOf(method)] : undefined;
            if (kind) {
              happen(kind);
              await inStep(other);
            }
            return answer;
          },
          history: (channel, limit, since) => client.history(channel, limit, since),
          subscribeTopic: (channel, handlers) => client.subscribeTopic(channel, handlers),
        }));
        await inStep(page);
        if (what === 'everything is loaded anew') {
          void page.topic.open(id);
          await page.topic.settled();
          isHeld = true;
          server.epoch = `epoch-of-${number}`;
          server.dropAll();
        } else {
          isHeld = true;
        }
        let isOpen = false;
        void page.topic.open(id).then(() => (isOpen = true));
        for (let tries = 0; !isOpen && tries < 200; tries++) {
          await run(50);
        }
        expect(isOpen).toBe(true);
        isHeld = false;
        happen(1);
        await inStep(page);
        await inStep(other);
        await page.topic.open(id);
        const own = <T extends { session_id: string }>(entities: T[]) =>
          entities.filter(({ session_id }) => session_id === id);
        const stored = [
          await page.database.messagesOf(id),
          await page.database.rtcs.where({ session_id: id }).toArray(),
          await page.database.turns.where({ session_id: id }).toArray(),
        ];
        const there = [
          own([...server.messages.values()]),
          own([...server.rtcs.values()]),
          own([...server.turns.values()]),
        ];
        expect(stored, `way ${way}`).toEqual(there);
        closePage(page);
        closePage(other);
      }
    });
  });

  it('never brings back what has ended', async () => {
    const page = await openedSession();
    const ended = rtc({ id: 'r-1', session_id: 's-1', status: 'completed' });
    server.commit({ entity: 'rtc', data: ended });
    server.commit({ entity: 'turn', data: turn({ id: 't-1', session_id: 's-1', status: 'completed' }) });
    say(1, 'whole');
    server.commit(
      { entity: 'rtc', data: { ...ended, status: 'sent' } },
      { entity: 'turn', data: turn({ id: 't-1', session_id: 's-1', status: 'running' }) },
      {
        entity: 'message',
        data: message(
          { id: 'm-1', session_id: 's-1', global_offset: 1, streaming_status: 'streaming' },
          { type: 'markdown', data: 'who' },
        ),
      },
    );
    await inStep(page);
    expect((await page.database.rtcs.get('r-1'))?.status).toBe('completed');
    expect((await page.database.turns.get('t-1'))?.status).toBe('completed');
    expect(await texts(page.database)).toEqual(['whole']);
  });

  it('keeps the last messages of opened sessions, and of others what is not over', async () => {
    const page = await openedSession();
    for (let number = 1; number <= 300; number++) {
      say(number);
    }
    server.commit({
      entity: 'message',
      data: message({ id: 'x', session_id: 's-2', global_offset: 1 }, { type: 'markdown', data: 'far' }),
    });
    server.commit({ entity: 'rtc', data: rtc({ id: 'open', session_id: 's-2' }) });
    server.commit({ entity: 'rtc', data: rtc({ id: 'over', session_id: 's-2', status: 'failed' }) });
    await inStep(page);
    const kept = await texts(page.database);
    expect(kept.length).toBeGreaterThanOrEqual(KEPT_MESSAGES);
    expect(kept.length).toBeLessThanOrEqual(KEPT_MESSAGES + 50);
    expect(kept.at(-1)).toBe('message 300');
    expect(await page.database.messages.get('x')).toBeUndefined();
    expect((await page.database.rtcs.toArray()).map(({ id }) => id)).toEqual(['open']);
    say(1, 'an old one changes');
    await inStep(page);
    expect((await texts(page.database))[0]).not.toBe('an old one changes');
  });

  it('forgets a session that is deleted', async () => {
    const page = await openedSession();
    say(1);
    server.commit({
      entity: 'session',
      data: session({ id: 's-1', deleted_at: '2026-01-02T00:00:00Z' }),
    });
    await inStep(page);
    expect(await page.database.sessions.count()).toBe(0);
    expect(await page.database.messages.count()).toBe(0);
  });
});

describe('whatever happens on the line', () => {
  it.each(Array.from({ length: 40 }, (_, index) => index + 1))(
    'the end is that of in-order delivery (seed %i)',
    async (seed) => {
      const random = randomFrom(seed);
      const below = (end: number) => Math.floor(random() * end);
      server.commit({ entity: 'session', data: session({ id: 's-1' }) });
      server.commit({ entity: 'session', data: session({ id: 's-2' }) });
      const calm = openPage();
      const rough = openPage();
      await inStep(calm);
      await inStep(rough);
      await calm.topic.open('s-1');
      await rough.topic.open('s-1');
      const [calmConnection, roughConnection] = [...server.connections];
      expect(roughConnection).toBeDefined();

      let held: (() => void)[] = [];
      const isCalm = (connection: Connection) => connection === calmConnection;
      server.deliver = (connection, frame) => {
        if (isCalm(connection)) {
          connection.send(frame);
          return;
        }
        const choice = random();
        if (choice < 0.5) {
          connection.send(frame);
        } else if (choice < 0.65) {
          connection.send(frame);
          connection.send(frame);
        } else if (choice < 0.85) {
          held.push(() => connection.send(frame));
        } else if (choice < 0.95) {
          // Lost.
        } else {
          connection.drop();
        }
      };
      server.rejectsUnrecovered = random() < 0.5;
      server.maxRecovered = below(8);
      server.beforeHistory = () => random() < 0.8;
      const statuses = ['pending', 'sent', 'executing', 'completed', 'failed'] as const;
      for (let step = 0; step < 60; step++) {
        switch (below(6)) {
          case 0:
            server.commit({
              entity: 'session',
              data: session({ id: `s-${1 + below(3)}`, title: `title ${step}` }),
            });
            break;
          case 1: {
            const id = `r-${below(6)}`;
            const session_id = id < 'r-3' ? 's-1' : 's-2';
            const now = server.rtcs.get(id);
            const at = now ? statuses.indexOf(now.status as (typeof statuses)[number]) : -1;
            if (at < 3) {
              server.commit({ entity: 'rtc', data: rtc({ id, session_id, status: statuses[at + 1]! }) });
            }
            break;
          }
          case 2:
            server.burn();
            break;
          case 3:
            held.sort(() => random() - 0.5).forEach((send) => send());
            held = [];
            break;
          case 4:
            await run(50 * below(10));
            break;
          default: {
            const number = 1 + below(30);
            server.commit({
              entity: 'message',
              data: message(
                { id: `m-${number}`, session_id: number > 6 ? 's-1' : 's-2', global_offset: number },
                { type: 'markdown', data: `at ${step}` },
              ),
            });
          }
        }
      }
      server.deliver = (connection, frame) => connection.send(frame);
      server.beforeHistory = () => true;
      server.commit({ entity: 'session', data: session({ id: 's-1', title: 'the last one' }) });
      await inStep(calm);
      await inStep(rough);
      expect(await dump(rough.database)).toEqual(await dump(calm.database));
      expect(rough.cleared()).toBe(0);
    },
  );
});
