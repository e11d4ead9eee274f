import Dexie from 'dexie';
import { afterEach, beforeEach, vi } from 'vitest';

import { Database } from '../store/database';
import { Topic, type TopicLine, type TopicState } from '../store/topic';
import { Client } from '../wire/client';
import { FakeServer } from './fake-server';
import { platformOf } from './platform';

/** The server of the test. */
export let server: FakeServer;
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

/** A page without its components. */
export interface Page {
  database: Database;
  topic: Topic;
  states: TopicState[];
  cleared: () => number;
}

/** A page that is open: a client, its store, and the topic between them. */
export function openPage(
  name = `page-${databases++}`,
  lineOf: (client: Client) => TopicLine = (client) => client,
): Page {
  const database = new Database(name);
  const states: TopicState[] = [];
  let cleared = 0;
  let topic!: Topic;
  const client = new Client(platformOf(server), { state: () => {}, signedIn: () => topic.start() });
  topic = new Topic(server.topic, lineOf(client), database, {
    state: (state) => states.push(state),
    arrived: () => {},
    cleared: () => cleared++,
  });
  client.connect();
  opened.push({ client, topic, database });
  return { database, topic, states, cleared: () => cleared };
}

/** Closes a page; its store stays. */
export function closePage(page: Page): void {
  const entry = opened.find(({ database }) => database === page.database)!;
  entry.topic.close();
  entry.client.close();
  entry.database.close();
}

/** Lets timers, sockets and the store run for a while of fake time. */
export async function run(milliseconds: number): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 50) {
    await vi.advanceTimersByTimeAsync(50);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Runs until the page has stored everything. */
export async function inStep(page: Page): Promise<void> {
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
