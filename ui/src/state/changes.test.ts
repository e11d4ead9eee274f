import { expect, test } from 'vitest';

import type { Client } from '../wire/client';
import type { TurnChanges } from '../wire/generated';
import { Changes } from './changes.svelte';

const turn: TurnChanges = { turn_id: 'turn-1', files: [], more: 0 };

/** A line that notes what it is asked. */
function line(answer: (method: string) => unknown) {
  const asked: [string, unknown][] = [];
  const call = (method: string, data: unknown) => {
    asked.push([method, data]);
    return Promise.resolve().then(() => answer(method));
  };
  return { asked, line: { call } as unknown as Pick<Client, 'call'> };
}

test('an undo is of what was chosen, and what is there by then is shown', async () => {
  const { asked, line: to } = line((method) =>
    method === 'v1.session.changes' ? { items: [turn], next_cursor: 'turn-1' } : { files: [] },
  );
  const changes = new Changes('session-1', to);
  expect(changes.turns).toBeNull();
  await changes.undo({ turn_id: 'turn-1', path: '/a' });
  expect(asked).toEqual([
    ['v1.session.undo', { session_id: 'session-1', turn_id: 'turn-1', path: '/a' }],
    ['v1.session.changes', { session_id: 'session-1', limit: 50 }],
  ]);
  expect([changes.turns, changes.hasMore, changes.isBusy]).toEqual([[turn], true, false]);
});

test('one that is refused is told, and what is there by then is shown all the same', async () => {
  const { asked, line: to } = line((method) => {
    if (method === 'v1.session.redo') {
      throw new Error('changed since');
    }
    return { items: [], next_cursor: null };
  });
  const changes = new Changes('session-1', to);
  await expect(changes.redo()).rejects.toThrow('changed since');
  expect(asked.map(([method]) => method)).toEqual(['v1.session.redo', 'v1.session.changes']);
  expect([changes.turns, changes.hasMore, changes.isBusy]).toEqual([[], false, false]);
});

test('one is under way at a time', async () => {
  const { asked, line: to } = line(() => ({ items: [], files: [] }));
  const changes = new Changes('session-1', to);
  await Promise.all([changes.undo({}), changes.undo({}), changes.redo()]);
  expect(asked.map(([method]) => method)).toEqual(['v1.session.undo', 'v1.session.changes']);
});
