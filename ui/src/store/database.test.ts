// @vitest-environment node
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { message, rtc, session, turn } from '../testing/entities';
import type { Session, Update } from '../wire/generated';
import { Database, KEPT_SESSIONS, type SessionSnapshot } from './database';

let database: Database;

beforeEach(async () => {
  database = new Database('user-1');
  await database.replace({ sessions: [], opened: [], turns: [], rtcs: [] }, { offset: 5, epoch: 'e' });
});

afterEach(() => database.delete());

function renamed(offset: number, title: string): { offset: number; update: Update } {
  const data = session({ id: 's-1', title });
  const items = [{ entity: 'session' as const, action: 'updated' as const, entity_id: 's-1' }];
  return { offset, update: { id: `u-${offset}`, offset, items, data_list: [{ ...data }] as never } };
}

function snapshot(session_id: string): SessionSnapshot {
  return {
    session_id,
    messages: [message({ id: `m-${session_id}`, session_id, global_offset: 1 }, { type: 'text', data: '' })],
    turns: [turn({ id: `t-${session_id}`, session_id, status: 'completed' })],
    rtcs: [rtc({ id: `r-${session_id}`, session_id, status: 'completed' })],
    has_earlier: false,
  };
}

const titles = async () => (await database.sessions.toArray()).map(({ title }: Session) => title);

describe('the store', () => {
  it('leaves out what another window has stored in the meantime', async () => {
    await database.apply([renamed(6, 'six'), renamed(7, 'seven')], { offset: 7, epoch: 'e' });
    await database.apply([renamed(6, 'an old six')], { offset: 6, epoch: 'e' });
    expect(await titles()).toEqual(['seven']);
    expect(await database.cursor()).toEqual({ offset: 7, epoch: 'e' });
  });

  it('takes nothing of another epoch', async () => {
    await expect(database.apply([renamed(6, 'six')], { offset: 6, epoch: 'f' })).rejects.toThrow('epoch');
    expect(await titles()).toEqual([]);
    expect(await database.cursor()).toEqual({ offset: 5, epoch: 'e' });
  });

  it('stores all of several updates, or nothing', async () => {
    const broken = renamed(7, 'seven');
    broken.update.data_list = [{ title: 'without a key' }];
    await expect(database.apply([renamed(6, 'six'), broken], { offset: 7, epoch: 'e' })).rejects.toThrow();
    expect(await titles()).toEqual([]);
    expect(await database.cursor()).toEqual({ offset: 5, epoch: 'e' });
  });

  it('keeps what the user has written when everything is loaded anew', async () => {
    const submit = { rtc_id: 'r-1', client_id: 'c-1', answer: null };
    await database.submits.put(submit);
    await database.drafts.put({ key: 's-1', text: 'typed' });
    await database.replace({ sessions: [], opened: [], turns: [], rtcs: [] }, { offset: 9, epoch: 'f' });
    expect(await database.submits.toArray()).toEqual([submit]);
    expect(await database.drafts.toArray()).toEqual([{ key: 's-1', text: 'typed' }]);
  });

  it('keeps a bounded number of sessions, those opened last', async () => {
    for (let number = 1; number <= KEPT_SESSIONS + 2; number++) {
      await database.openSession(snapshot(`s-${number}`), { offset: 5, epoch: 'e' });
      await database.opened.update(`s-${number}`, { opened_at: number });
    }
    expect(await database.opened.count()).toBe(KEPT_SESSIONS);
    expect(await database.messages.count()).toBe(KEPT_SESSIONS);
    expect(await database.turns.count()).toBe(KEPT_SESSIONS);
    expect(await database.rtcs.count()).toBe(KEPT_SESSIONS);
    expect(await database.touch('s-1')).toBe(false);
    expect(await database.touch(`s-${KEPT_SESSIONS}`)).toBe(true);
  });
});
