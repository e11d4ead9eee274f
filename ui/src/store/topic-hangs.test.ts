// @vitest-environment node
import { describe, expect, it, vi } from 'vitest';

import { session } from '../testing/entities';
import { inStep, run, server } from '../testing/pages';
import { openedSession, say, texts } from '../testing/topic';
import type { Database } from './database';
import { MAX_WAITING } from './topic';

/** Holds what is to be stored until it is let go; tells the offsets that were given to the store, in their order. */
function holdStore(database: Database): { offsets: number[]; isHeld: () => boolean; letGo: () => void } {
  const offsets: number[] = [];
  const held: (() => void)[] = [];
  const apply = database.apply.bind(database);
  const fault = vi.spyOn(database, 'apply').mockImplementation(async (updates, behind) => {
    await new Promise<void>((go) => held.push(go));
    offsets.push(...updates.map(({ offset }) => offset));
    await apply(updates, behind);
  });
  return {
    offsets,
    isHeld: () => held.length > 0,
    letGo: () => {
      fault.mockImplementation((updates, behind) => {
        offsets.push(...updates.map(({ offset }) => offset));
        return apply(updates, behind);
      });
      held.splice(0).forEach((go) => go());
    },
  };
}

describe('while the store hangs', () => {
  it.each([
    ['as many as wait in memory are', MAX_WAITING + 1, 0],
    ['one more is', MAX_WAITING + 2, 6],
    ['many more are', 6_000, 6],
  ])('what arrives is not lost, when %s', async (_, count, pages) => {
    const page = await openedSession();
    const first = server.offset + 1;
    const store = holdStore(page.database);
    let asked = 0;
    server.beforeHistory = () => ++asked > 0;
    for (let number = 1; number <= count; number++) {
      server.commit({
        entity: 'session',
        data: session({ id: `s-${number % 500}`, title: `title ${number}` }),
      });
      if (number === 1) {
        // The first one is on its way to the store; the others wait behind it.
        await run(50);
        expect(store.isHeld()).toBe(true);
      }
    }
    await run(1_000);
    expect(store.offsets).toEqual([]);
    store.letGo();
    await inStep(page);
    expect(store.offsets).toEqual(Array.from({ length: count }, (_, index) => first + index));
    const titles = (sessions: { id: string; title: string }[]) =>
      sessions.map(({ id, title }) => [id, title]);
    expect(titles(await page.database.sessions.toArray()).sort()).toEqual(
      titles([...server.sessions.values()]).sort(),
    );
    expect(page.cleared()).toBe(0);
    // What no longer waited came from the history.
    expect(asked).toBe(pages);
  });

  it('pings are answered and the line stays', async () => {
    server.pingEvery = 5;
    const page = await openedSession();
    const [connection] = server.connections;
    const store = holdStore(page.database);
    for (let number = 1; number <= 60; number++) {
      say(number);
      connection!.ping();
      await run(5_000);
      expect(connection!.pongs).toBe(number);
    }
    expect(store.isHeld()).toBe(true);
    expect([...server.connections]).toEqual([connection]);
    expect(server.attempts.length).toBe(1);
    store.letGo();
    await inStep(page);
    expect((await texts(page.database)).length).toBe(60);
  });

  it('pings are answered also on a new line, whose subscription waits for the store', async () => {
    server.pingEvery = 5;
    const page = await openedSession();
    const store = holdStore(page.database);
    say(1);
    await run(50);
    expect(store.isHeld()).toBe(true);
    // Refused, so that the position is asked for, which comes behind what is being stored.
    server.maxRecovered = 0;
    server.dropAll();
    say(2);
    await run(2_000);
    const [connection] = server.connections;
    for (let number = 1; number <= 12; number++) {
      connection!.ping();
      await run(5_000);
      expect(connection!.pongs).toBe(number);
    }
    expect([...server.connections]).toEqual([connection]);
    expect(connection!.subscriptions.has(server.topic)).toBe(false);
    store.letGo();
    await inStep(page);
    expect(await texts(page.database)).toEqual(['message 1', 'message 2']);
    expect(page.cleared()).toBe(0);
  });
});
