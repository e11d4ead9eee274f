// @vitest-environment node
import { describe, expect, it } from 'vitest';

import { message, rtc, session, turn } from '../testing/entities';
import { closePage, inStep, openPage, run, server } from '../testing/pages';

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
