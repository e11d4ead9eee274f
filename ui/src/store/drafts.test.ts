// @vitest-environment node
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { Database } from './database';
import { Drafts } from './drafts';

let database: Database;
let kept: Map<string, string>;
const tab = {
  getItem: (name: string) => kept.get(name) ?? null,
  setItem: (name: string, text: string) => void kept.set(name, text),
  removeItem: (name: string) => void kept.delete(name),
};

beforeEach(() => {
  database = new Database('user-1');
  kept = new Map();
});

afterEach(() => database.delete());

/** The drafts of a page that is loaded again, with the store that it finds. */
async function reloaded(store = database): Promise<Drafts> {
  const drafts = new Drafts(tab);
  await drafts.use(store);
  return drafts;
}

describe('a draft', () => {
  it('is kept for each session, until it is sent', async () => {
    const drafts = await reloaded();
    await drafts.put(null, 'new');
    await drafts.put('s-1', 'old');
    drafts.setAside();
    expect(kept.size).toBe(0);
    const later = await reloaded();
    expect([await later.get(null), await later.get('s-1')]).toEqual(['new', 'old']);
    await later.put('s-1', '');
    expect(await later.get('s-1')).toBe('');
    expect(await database.drafts.count()).toBe(1);
  });

  it('of before the sign-in is stored with it', async () => {
    const drafts = new Drafts(tab);
    await drafts.put(null, 'early');
    expect(await drafts.get(null)).toBe('early');
    await drafts.use(database);
    expect(await database.drafts.get('new')).toEqual({ key: 'new', text: 'early' });
  });

  it('that the store does not take outlives a reload, also that it was sent', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const drafts = await reloaded();
    await drafts.put('s-1', 'before');
    await drafts.put('s-2', 'sent');
    database.close();
    await drafts.put('s-1', 'after');
    await drafts.put('s-2', '');
    expect(await drafts.get('s-1')).toBe('after');
    expect(await drafts.get('s-3')).toBe('');
    drafts.setAside();
    database = new Database('user-1');
    const later = await reloaded();
    expect([await later.get('s-1'), await later.get('s-2')]).toEqual(['after', '']);
    expect(await database.drafts.toArray()).toEqual([{ key: 's-1', text: 'after' }]);
    later.setAside();
    expect(kept.size).toBe(0);
  });

  it('of another user is not taken', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const drafts = await reloaded();
    database.close();
    await drafts.put(null, 'mine');
    drafts.setAside();
    const other = new Database('user-2');
    expect(await (await reloaded(other)).get(null)).toBe('');
    await other.delete();
  });
});
