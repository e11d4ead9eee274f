// @vitest-environment node
import { describe, expect, it, vi } from 'vitest';

import { message, rtc, session, turn } from '../testing/entities';
import { closePage, inStep, openPage, run, server } from '../testing/pages';
import { dump, openedSession, say, texts } from '../testing/topic';
import { KEPT_MESSAGES } from './database';

describe('a topic', () => {
  it('loads by query what is there before it subscribes', async () => {
    server.commit({ entity: 'session', data: session({ id: 's-1' }) });
    server.commit({ entity: 'turn', data: turn({ id: 't-1', session_id: 's-1', status: 'interrupted' }) });
    server.commit({ entity: 'rtc', data: rtc({ id: 'r-1', session_id: 's-1' }) });
    const page = openPage();
    await inStep(page);
    expect(await page.database.sessions.count()).toBe(1);
    expect(await page.database.rtcs.count()).toBe(1);
    expect(page.states.at(-1)).toEqual({ phase: 'current' });
    expect(page.cleared()).toBe(0);
  });

  it('stores each update once, however often it is delivered', async () => {
    const page = await openedSession();
    server.deliver = (connection, frame) => {
      connection.send(frame);
      connection.send(frame);
    };
    say(1);
    say(2);
    await inStep(page);
    server.dropAll();
    await inStep(page);
    expect(await texts(page.database)).toEqual(['message 1', 'message 2']);
  });

  it('brings reordered updates into order', async () => {
    const page = await openedSession();
    const held: (() => void)[] = [];
    server.deliver = (connection, frame) => held.push(() => connection.send(frame));
    say(1);
    say(2);
    say(3);
    held.reverse().forEach((send) => send());
    await inStep(page);
    expect(await texts(page.database)).toEqual(['message 1', 'message 2', 'message 3']);
  });

  it('fills what was lost on the way from the history', async () => {
    const page = await openedSession();
    server.deliver = () => {};
    say(1);
    say(2);
    server.deliver = (connection, frame) => connection.send(frame);
    say(3);
    await inStep(page);
    expect(await texts(page.database)).toEqual(['message 1', 'message 2', 'message 3']);
  });

  it('passes over places of the stream that hold nothing', async () => {
    const page = await openedSession();
    server.burn();
    server.burn();
    say(1);
    await inStep(page);
    expect(await texts(page.database)).toEqual(['message 1']);
  });

  it('recovers what was missed while the line was down', async () => {
    const page = await openedSession();
    const calls = server.calls.length;
    server.dropAll();
    say(1);
    say(2);
    await inStep(page);
    expect(await texts(page.database)).toEqual(['message 1', 'message 2']);
    expect(server.calls.length).toBe(calls);
  });

  it.each([true, false])('pages through the history after a long absence (refused: %s)', async (refused) => {
    const page = await openedSession();
    server.rejectsUnrecovered = refused;
    server.maxRecovered = 10;
    server.dropAll();
    for (let number = 1; number <= 2_500; number++) {
      server.commit({ entity: 'session', data: session({ id: `s-${number}`, title: `title ${number}` }) });
    }
    await inStep(page);
    expect(await page.database.sessions.count()).toBe(2_500);
    const progress = page.states.filter((state) => state.phase === 'catching_up');
    expect(progress).toEqual([
      { phase: 'catching_up', done: 1_000, total: 2_500 },
      { phase: 'catching_up', done: 2_000, total: 2_500 },
    ]);
    expect(page.cleared()).toBe(0);
  });

  it('goes on from the stored cursor when the line breaks in the middle of a history', async () => {
    const page = await openedSession();
    server.maxRecovered = 0;
    let pages = 0;
    server.beforeHistory = () => ++pages !== 2;
    server.dropAll();
    for (let number = 1; number <= 1_500; number++) {
      server.commit({ entity: 'session', data: session({ id: `s-${number}` }) });
    }
    await inStep(page);
    expect(await page.database.sessions.count()).toBe(1_500);
    expect(pages).toBeGreaterThanOrEqual(3);
  });

  it.each([true, false])('drops its cache when the epoch has changed (refused: %s)', async (refused) => {
    const page = await openedSession();
    say(1);
    await inStep(page);
    server.rejectsUnrecovered = refused;
    await page.database.drafts.put({ key: 's-1', text: 'not sent' });
    server.dropAll();
    server.epoch = 'epoch-2';
    server.rows = [];
    server.offset = 0;
    server.messages.clear();
    server.sessions.set('s-2', session({ id: 's-2' }));
    say(7, 'of the new time');
    await inStep(page);
    expect(page.cleared()).toBe(1);
    expect(await texts(page.database)).toEqual(['of the new time']);
    expect(await page.database.sessions.count()).toBe(2);
    expect((await page.database.drafts.get('s-1'))?.text).toBe('not sent');
    say(8);
    await inStep(page);
    expect(await texts(page.database)).toEqual(['of the new time', 'message 8']);
  });

  it('never has a cursor ahead of the data: a failed transaction leaves both', async () => {
    const page = await openedSession();
    const before = await dump(page.database);
    const fault = vi.spyOn(page.database.cursors, 'put').mockImplementation(() => {
      throw new Error('no room');
    });
    say(1);
    await run(500);
    expect(await dump(page.database)).toEqual(before);
    expect(page.states.at(-1)).toEqual({ phase: 'failed', reason: expect.stringContaining('no room') });
    say(2);
    await run(5_000);
    expect(await dump(page.database)).toEqual(before);
    fault.mockRestore();
    await inStep(page);
    expect(await texts(page.database)).toEqual(['message 1', 'message 2']);
  });

  it('waits longer between tries while the store fails', async () => {
    const page = await openedSession();
    vi.spyOn(page.database.cursors, 'put').mockImplementation(() => {
      throw new Error('no room');
    });
    say(1);
    await run(40_000);
    const failures = page.states.filter((state) => state.phase === 'failed').length;
    expect(failures).toBeGreaterThan(3);
    expect(failures).toBeLessThan(8);
  });

  it('starts from the stored cursor when the page is opened again', async () => {
    const page = await openedSession();
    say(1);
    await inStep(page);
    closePage(page);
    say(2);
    const asked = server.calls.length;
    const again = openPage(page.database.name.replace('rtc-desktop-', ''));
    await inStep(again);
    expect(await texts(again.database)).toEqual(['message 1', 'message 2']);
    expect(server.calls.length).toBe(asked);
  });

  it('is shared by two windows over one store', async () => {
    const page = await openedSession();
    const other = openPage(page.database.name.replace('rtc-desktop-', ''));
    for (let number = 1; number <= 20; number++) {
      say(number);
    }
    await inStep(page);
    await inStep(other);
    expect((await texts(page.database)).length).toBe(20);
  });

  it('never brings back what has ended', async () => {
    const page = await openedSession();
    const ended = rtc({ id: 'r-1', session_id: 's-1', status: 'completed' });
    server.commit({ entity: 'rtc', data: ended });
    server.commit({ entity: 'turn', data: turn({ id: 't-1', session_id: 's-1', status: 'completed' }) });
    say(1, 'whole');
    server.commit(
      { entity: 'rtc', data: { ...ended, status: 'sent' } },
      { entity: 'turn', data: turn({ id: 't-1', session_id: 's-1', status: 'running' }) },
      {
        entity: 'message',
        data: message(
          { id: 'm-1', session_id: 's-1', global_offset: 1, streaming_status: 'streaming' },
          { type: 'markdown', data: 'who' },
        ),
      },
    );
    await inStep(page);
    expect((await page.database.rtcs.get('r-1'))?.status).toBe('completed');
    expect((await page.database.turns.get('t-1'))?.status).toBe('completed');
    expect(await texts(page.database)).toEqual(['whole']);
  });

  it('keeps the last messages of opened sessions, and of others what is not over', async () => {
    const page = await openedSession();
    for (let number = 1; number <= 300; number++) {
      say(number);
    }
    server.commit({
      entity: 'message',
      data: message({ id: 'x', session_id: 's-2', global_offset: 1 }, { type: 'markdown', data: 'far' }),
    });
    server.commit({ entity: 'rtc', data: rtc({ id: 'open', session_id: 's-2' }) });
    server.commit({ entity: 'rtc', data: rtc({ id: 'over', session_id: 's-2', status: 'failed' }) });
    await inStep(page);
    const kept = await texts(page.database);
    expect(kept.length).toBeGreaterThanOrEqual(KEPT_MESSAGES);
    expect(kept.length).toBeLessThanOrEqual(KEPT_MESSAGES + 50);
    expect(kept.at(-1)).toBe('message 300');
    expect(await page.database.messages.get('x')).toBeUndefined();
    expect((await page.database.rtcs.toArray()).map(({ id }) => id)).toEqual(['open']);
    say(1, 'an old one changes');
    await inStep(page);
    expect((await texts(page.database))[0]).not.toBe('an old one changes');
  });

  it('forgets a session that is deleted', async () => {
    const page = await openedSession();
    say(1);
    server.commit({
      entity: 'session',
      data: session({ id: 's-1', deleted_at: '2026-01-02T00:00:00Z' }),
    });
    await inStep(page);
    expect(await page.database.sessions.count()).toBe(0);
    expect(await page.database.messages.count()).toBe(0);
  });
});
