// @vitest-environment node
import Dexie from 'dexie';
import { describe, expect, it } from 'vitest';

import { message, rtc, session, turn } from '../testing/entities';
import { inStep, openPage, server } from '../testing/pages';
import { Database } from './database';

/** What the first version had. */
const FIRST = {
  sessions: 'id',
  turns: 'id, session_id',
  messages: 'id, [session_id+global_offset]',
  rtcs: 'id, session_id, status',
  opened: 'session_id, opened_at',
  drafts: 'key',
  cursors: 'channel',
};

/** The tables of each version as pages of that time made them. These stay as they are; a new version is added. */
const VERSIONS: Record<number, Record<string, string>> = {
  1: FIRST,
  2: { ...FIRST, file_drafts: '[project_id+path], project_id' },
  3: { ...FIRST, file_drafts: '[project_id+path], project_id', submits: 'rtc_id' },
};

const message_draft = { key: 's-1', text: 'not sent' };
const file_draft = { project_id: 'project-1', path: '/a.txt', text: 'not saved', hash: 'h' };
const submit = { rtc_id: 'r-1', client_id: 'client-r-1', answer: { choice: 'yes' } };

/** What a page of a version leaves behind: a session as it was stored then, and what the user has written. */
async function leave(version: number, name: string): Promise<void> {
  const tables = VERSIONS[version]!;
  const old = new Dexie(`rtc-desktop-${name}`);
  old.version(version).stores(tables);
  const content: Record<string, object> = {
    sessions: session({ id: 's-1', title: 'as it was' }),
    turns: turn({ id: 't-1', session_id: 's-1' }),
    messages: message({ id: 'm-1', session_id: 's-1', global_offset: 1 }, { type: 'text', data: 'one' }),
    rtcs: rtc({ id: 'r-1', session_id: 's-1' }),
    opened: { session_id: 's-1', opened_at: 1, first_offset: 0 },
    cursors: { channel: 'topic', offset: server.offset, epoch: server.epoch },
    drafts: message_draft,
    file_drafts: file_draft,
    submits: submit,
  };
  for (const table of Object.keys(tables)) {
    await old.table(table).put(content[table]!);
  }
  old.close();
}

/** Fills the server with what was stored, and with something that the page of before has missed. */
function serve(): void {
  server.commit({ entity: 'session', data: session({ id: 's-1', title: 'as it is' }) });
  server.commit({ entity: 'turn', data: turn({ id: 't-1', session_id: 's-1' }) });
  for (const number of [1, 2]) {
    server.commit({
      entity: 'message',
      data: message(
        { id: `m-${number}`, session_id: 's-1', global_offset: number },
        { type: 'text', data: `${number}` },
      ),
    });
  }
  server.commit({ entity: 'rtc', data: rtc({ id: 'r-1', session_id: 's-1' }) });
}

/** What the user has written of a store. */
async function written(database: Database): Promise<unknown[]> {
  const { drafts, file_drafts, submits } = database;
  return [await drafts.toArray(), await file_drafts.toArray(), await submits.toArray()];
}

describe('a store that was made by', () => {
  it('version 1, which may have holes, is dropped and loaded anew; what the user has written stays', async () => {
    serve();
    await leave(1, 'of-version-1');
    const database = new Database('of-version-1');
    expect(await database.cursor()).toBeUndefined();
    database.close();

    const page = openPage('of-version-1');
    await inStep(page);
    expect((await page.database.sessions.toArray()).map(({ title }) => title)).toEqual(['as it is']);
    // Nothing of the session stayed; it is loaded whole when it is opened.
    expect(await page.database.messages.count()).toBe(0);
    await page.topic.open('s-1');
    expect((await page.database.messagesOf('s-1')).map(({ id }) => id)).toEqual(['m-1', 'm-2']);
    expect(await written(page.database)).toEqual([[message_draft], [], []]);
    await page.database.file_drafts.put(file_draft);
    await page.database.submits.put(submit);
    expect(await written(page.database)).toEqual([[message_draft], [file_draft], [submit]]);
  });

  it.each([
    [2, []],
    [3, [submit]],
  ])('version %i is kept, with its cursor, and goes on from there', async (version, submits) => {
    serve();
    const name = `of-version-${version}`;
    await leave(version, name);
    const database = new Database(name);
    expect((await database.sessions.get('s-1'))?.title).toBe('as it was');
    expect((await database.messagesOf('s-1')).map(({ id }) => id)).toEqual(['m-1']);
    expect(await database.turns.count()).toBe(1);
    expect(await database.rtcs.where('status').equals('pending').count()).toBe(1);
    expect(await database.isKept('s-1')).toBe(true);
    expect(await database.cursor()).toEqual({ offset: server.offset, epoch: server.epoch });
    expect(await written(database)).toEqual([[message_draft], [file_draft], submits]);
    database.close();

    server.commit({ entity: 'turn', data: turn({ id: 't-2', session_id: 's-1' }) });
    const page = openPage(name);
    await inStep(page);
    await page.topic.open('s-1');
    expect(server.calls).toEqual([]);
    expect((await page.database.turns.toArray()).map(({ id }) => id)).toEqual(['t-1', 't-2']);
    expect((await page.database.sessions.get('s-1'))?.title).toBe('as it was');
    expect(await written(page.database)).toEqual([[message_draft], [file_draft], submits]);
  });

  it('today’s version is one of these', async () => {
    const database = new Database('of-today');
    await database.open();
    expect(String(database.verno)).toBe(Object.keys(VERSIONS).at(-1));
    const tables = database.tables.map(({ name, schema }) => {
      const keys = [schema.primKey, ...schema.indexes];
      return [name, keys.map(({ src }) => src).join(', ')];
    });
    expect(Object.fromEntries(tables)).toEqual(VERSIONS[database.verno]);
    await database.delete();
  });
});
