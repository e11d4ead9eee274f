// @vitest-environment node
import { describe, expect, it, vi } from 'vitest';

import { message, rtc, session, turn } from '../testing/entities';
import { inStep, run, server } from '../testing/pages';
import { randomFrom } from '../testing/random';
import { dump, openedSession, texts } from '../testing/topic';

describe('a batch with one entity of each kind', () => {
  /** Changes a session, a turn, a message and a call in one step. */
  function change(number: number): void {
    const status = (['pending', 'sent', 'executing'] as const)[number % 3]!;
    server.commit(
      { entity: 'session', data: session({ id: 's-1', title: `title ${number}` }) },
      { entity: 'turn', data: turn({ id: `t-${number}`, session_id: 's-1', created_at: `at ${number}` }) },
      {
        entity: 'message',
        data: message(
          { id: `m-${number}`, session_id: 's-1', global_offset: number },
          { type: 'markdown', data: `message ${number}` },
        ),
      },
      { entity: 'rtc', data: rtc({ id: `r-${number}`, session_id: 's-1', offset: number, status }) },
    );
  }

  it.each(['in order', 'the other way round', 'in any order, some twice, some never'])(
    'is stored once and in order in a long list, which comes %s',
    async (how) => {
      const page = await openedSession();
      const random = randomFrom(7);
      const first = server.offset + 1;
      const offsets: number[] = [];
      const apply = page.database.apply.bind(page.database);
      vi.spyOn(page.database, 'apply').mockImplementation((updates, behind) => {
        offsets.push(...updates.map(({ offset }) => offset));
        return apply(updates, behind);
      });
      const held: (() => void)[] = [];
      server.deliver = (connection, frame) => held.push(() => connection.send(frame));
      for (let number = 1; number <= 150; number++) {
        change(number);
      }
      if (how === 'the other way round') {
        held.reverse();
      } else if (how !== 'in order') {
        held.push(...held.slice(0, 30));
        held.sort(() => random() - 0.5).splice(0, 20);
      }
      held.forEach((send) => send());
      server.deliver = (connection, frame) => connection.send(frame);
      change(151);
      await inStep(page);
      expect(offsets).toEqual(Array.from({ length: 151 }, (_, index) => first + index));
      expect((await page.database.sessions.get('s-1'))?.title).toBe('title 151');
      expect(await texts(page.database)).toEqual(
        Array.from({ length: 151 }, (_, index) => `message ${index + 1}`),
      );
      const own = <T extends { id: string }>(all: Iterable<T>) =>
        [...all].sort((one, other) => one.id.localeCompare(other.id));
      expect(own(await page.database.turns.toArray())).toEqual(own(server.turns.values()));
      expect(own(await page.database.rtcs.toArray())).toEqual(own(server.rtcs.values()));
      expect(page.cleared()).toBe(0);
    },
  );

  it.each(['sessions', 'turns', 'messages', 'rtcs', 'cursors'] as const)(
    'is stored whole or not at all, when its place among the %s cannot be written',
    async (table) => {
      const page = await openedSession();
      change(1);
      await inStep(page);
      const before = await dump(page.database);
      const fault = vi.spyOn(page.database[table], 'put').mockImplementation(() => {
        throw new Error('no room');
      });
      change(2);
      await run(500);
      expect(fault).toHaveBeenCalled();
      expect(await dump(page.database)).toEqual(before);
      fault.mockRestore();
      await inStep(page);
      expect((await page.database.sessions.get('s-1'))?.title).toBe('title 2');
      expect((await page.database.turns.toArray()).map(({ id }) => id)).toEqual(['t-1', 't-2']);
      expect(await texts(page.database)).toEqual(['message 1', 'message 2']);
      expect((await page.database.rtcs.toArray()).map(({ id }) => id)).toEqual(['r-1', 'r-2']);
    },
  );

  it.each(['session', 'turn', 'message', 'rtc'] as const)(
    'may also hold nothing but a %s, or its end',
    async (entity) => {
      const page = await openedSession();
      change(1);
      await inStep(page);
      const of = {
        session: () => ({ entity: 'session' as const, data: session({ id: 's-1', title: 'alone' }) }),
        turn: () => ({ entity: 'turn' as const, data: turn({ id: 't-2', session_id: 's-1' }) }),
        message: () => ({
          entity: 'message' as const,
          data: message(
            { id: 'm-2', session_id: 's-1', global_offset: 2 },
            { type: 'markdown', data: 'alone' },
          ),
        }),
        rtc: () => ({ entity: 'rtc' as const, data: rtc({ id: 'r-2', session_id: 's-1' }) }),
      }[entity];
      const count = async () => {
        const { sessions, turns, messages, rtcs } = page.database;
        return Promise.all([sessions, turns, messages, rtcs].map((table) => table.count()));
      };
      server.commit(of());
      await inStep(page);
      const alone = ['turn', 'message', 'rtc'].map((kind) => (kind === entity ? 2 : 1));
      expect(await count()).toEqual([1, ...alone]);
      const end = of();
      Object.assign(end.data, { deleted_at: '2026-01-02T00:00:00Z' });
      server.commit(end);
      await inStep(page);
      expect(await count()).toEqual(entity === 'session' ? [0, 0, 0, 0] : [1, 1, 1, 1]);
    },
  );
});
