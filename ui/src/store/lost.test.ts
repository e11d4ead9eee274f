import Dexie from 'dexie';
import { forceCloseDatabase } from 'fake-indexeddb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { Database } from './database';
import { SHORTEST_LIFE_MS, whenLost } from './lost';

let database: Database;
let age: number;
const reload = vi.fn();
const broken = vi.fn();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  age = SHORTEST_LIFE_MS;
  vi.spyOn(performance, 'now').mockImplementation(() => age);
  database = new Database('user-1');
});

afterEach(async () => {
  vi.clearAllTimers();
  vi.useRealTimers();
  vi.restoreAllMocks();
  reload.mockReset();
  broken.mockReset();
  await Dexie.delete('rtc-desktop-user-1');
});

/** Lets the browser end what keeps the store. */
async function kill(): Promise<void> {
  const closed = new Promise((resolve) => database.on('close', resolve));
  forceCloseDatabase(database.backendDB() as never);
  await closed;
}

describe('a store', () => {
  it('that the browser closes is found again by loading the page again, once and at once', async () => {
    whenLost(database, { reload, broken });
    await database.open();
    await kill();
    // Whoever uses it now opens it again, or finds it closed.
    await database.drafts.count();
    await kill();
    vi.advanceTimersByTime(0);
    expect(reload).toHaveBeenCalledOnce();
    vi.advanceTimersByTime(10 * SHORTEST_LIFE_MS);
    expect(reload).toHaveBeenCalledOnce();
    expect(broken).not.toHaveBeenCalled();
  });

  it('that is closed as soon as it is open makes no loop', async () => {
    whenLost(database, { reload, broken });
    await database.open();
    age = 1_000;
    await kill();
    vi.advanceTimersByTime(SHORTEST_LIFE_MS - 1_001);
    expect(reload).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(reload).toHaveBeenCalledOnce();
  });

  it('that cannot be opened is broken, whatever is loaded again', async () => {
    vi.spyOn(indexedDB, 'open').mockImplementation(() => {
      throw new Error('the disk is gone');
    });
    whenLost(database, { reload, broken });
    await expect(database.drafts.count()).rejects.toThrow('the disk is gone');
    await expect(database.open()).rejects.toThrow('the disk is gone');
    vi.advanceTimersByTime(SHORTEST_LIFE_MS);
    expect(broken).toHaveBeenCalledOnce();
    expect(reload).not.toHaveBeenCalled();
  });

  it('that the page itself closes is not lost', async () => {
    const stop = whenLost(database, { reload, broken });
    await database.open();
    stop();
    database.close();
    vi.advanceTimersByTime(SHORTEST_LIFE_MS);
    expect(reload).not.toHaveBeenCalled();
  });
});
