// @vitest-environment node
import type { Table } from 'dexie';
import { describe, expect, it, vi } from 'vitest';

import { message, rtc, session } from '../testing/entities';
import type { Connection } from '../testing/fake-server';
import { inStep, openPage, run, server } from '../testing/pages';
import { randomFrom } from '../testing/random';
import { dump } from '../testing/topic';
import type { RtcStatus } from '../wire/generated';
import type { Database } from './database';

describe('whatever happens on the line and in the store', () => {
  const statuses: RtcStatus[] = ['pending', 'sent', 'executing', 'completed'];

  /** A change, whose version only grows for one entity. */
  type Committed = { offset: number; table: 'sessions' | 'messages' | 'rtcs'; id: string; version: number };

  /** Lets each write of a store fail now and then, as long as something holds. */
  function failNowAndThen(database: Database, random: () => number, isFailing: () => boolean): void {
    const mayFail = () => {
      if (isFailing() && random() < 0.05) {
        throw new Error('no room');
      }
    };
    const { sessions, messages, rtcs, cursors } = database;
    for (const table of [sessions, messages, rtcs, cursors] as unknown as Table<object, string>[]) {
      const [put, remove] = [table.put.bind(table), table.delete.bind(table)];
      vi.spyOn(table, 'put').mockImplementation((entity) => {
        mayFail();
        return put(entity);
      });
      vi.spyOn(table, 'delete').mockImplementation((key) => {
        mayFail();
        return remove(key);
      });
    }
    const apply = database.apply.bind(database);
    vi.spyOn(database, 'apply').mockImplementation(async (updates, behind) => {
      mayFail();
      await apply(updates, behind);
      // It was stored, but nobody came to know of it.
      mayFail();
    });
  }

  /** Looks whether all that was committed up to the cursor is stored, at least as new; gives the cursor's offset. */
  async function storedUpToCursor(database: Database, committed: Committed[]): Promise<number> {
    const { sessions, messages, rtcs, cursors } = database;
    return database.transaction('r', [sessions, messages, rtcs, cursors], async () => {
      const offset = (await database.cursor())!.offset;
      const newest = new Map<string, Committed>();
      for (const one of committed.filter((one) => one.offset <= offset)) {
        newest.set(`${one.table} ${one.id}`, one);
      }
      for (const { table, id, version } of newest.values()) {
        const about = `${table} ${id} at ${offset}`;
        if (table === 'sessions') {
          expect(Number((await sessions.get(id))?.title), about).toBeGreaterThanOrEqual(version);
        } else if (table === 'messages') {
          const { data } = JSON.parse((await messages.get(id))!.content) as { data: string };
          expect(Number(data), about).toBeGreaterThanOrEqual(version);
        } else {
          const [stored, there] = [await rtcs.get(id), server.rtcs.get(id)!];
          const status = stored?.status ?? (there.session_id === 's-2' ? there.status : 'pending');
          expect(stored !== undefined || statuses.indexOf(status) >= 3, about).toBe(true);
          expect(statuses.indexOf(status), about).toBeGreaterThanOrEqual(version);
        }
      }
      return offset;
    });
  }

  it.each(Array.from({ length: 40 }, (_, index) => index + 1))(
    'the end is that of in-order delivery, and the cursor is never beyond what is stored (seed %i)',
    async (seed) => {
      const random = randomFrom(seed);
      const below = (end: number) => Math.floor(random() * end);
      const committed: Committed[] = [];
      const rename = (id: string, version: number) => {
        const offset = server.commit({ entity: 'session', data: session({ id, title: String(version) }) });
        committed.push({ offset, table: 'sessions', id, version });
      };
      rename('s-1', 0);
      rename('s-2', 0);
      const calm = openPage();
      const rough = openPage();
      await inStep(calm);
      await inStep(rough);
      await calm.topic.open('s-1');
      await rough.topic.open('s-1');
      const [calmConnection, roughConnection] = [...server.connections];
      expect(roughConnection).toBeDefined();
      let isFailing = true;
      failNowAndThen(rough.database, randomFrom(1_000 + seed), () => isFailing);

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
      let cursor = 0;
      for (let step = 1; step <= 60; step++) {
        switch (below(6)) {
          case 0:
            rename(`s-${1 + below(3)}`, step);
            break;
          case 1: {
            const id = `r-${below(6)}`;
            const session_id = id < 'r-3' ? 's-1' : 's-2';
            const now = server.rtcs.get(id);
            const at = now ? statuses.indexOf(now.status) : -1;
            if (at < 3) {
              const status = statuses[at + 1]!;
              const offset = server.commit({ entity: 'rtc', data: rtc({ id, session_id, status }) });
              committed.push({ offset, table: 'rtcs', id, version: at + 1 });
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
            // Less than it takes to try again, or more.
            await run(random() < 0.2 ? 8_000 : 50 * below(10));
            break;
          default: {
            const number = 1 + below(30);
            const session_id = number > 6 ? 's-1' : 's-2';
            const id = `m-${number}`;
            const offset = server.commit({
              entity: 'message',
              data: message(
                { id, session_id, global_offset: number },
                { type: 'markdown', data: String(step) },
              ),
            });
            if (session_id === 's-1') {
              committed.push({ offset, table: 'messages', id, version: step });
            }
          }
        }
        const now = await storedUpToCursor(rough.database, committed);
        expect(now).toBeGreaterThanOrEqual(cursor);
        cursor = now;
      }
      server.deliver = (connection, frame) => connection.send(frame);
      server.beforeHistory = () => true;
      isFailing = false;
      rename('s-1', 61);
      await inStep(calm);
      await inStep(rough);
      expect(await storedUpToCursor(rough.database, committed)).toBe(server.offset);
      expect(await dump(rough.database)).toEqual(await dump(calm.database));
      expect(rough.cleared()).toBe(0);
    },
  );
});
