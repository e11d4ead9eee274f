import { forceCloseDatabase } from 'fake-indexeddb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { message, rtc, session, turn } from '../testing/entities';
import { FakeServer, Refusal } from '../testing/fake-server';
import { platformOf } from '../testing/platform';
import { serveSample } from '../testing/sample';
import { Database } from '../store/database';
import type { ContentData } from '../wire/generated';
import { App } from './app.svelte';

let server: FakeServer;
let app: App;
let reload: ReturnType<typeof vi.fn<() => void>>;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
  server = new FakeServer();
  serveSample(server);
  reload = vi.fn();
  app = new App(platformOf(server, { reload }));
});

afterEach(async () => {
  app.close();
  await new Promise((resolve) => setImmediate(resolve));
  indexedDB.deleteDatabase(`rtc-desktop-${server.user}`);
  await new Promise((resolve) => setImmediate(resolve));
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Runs fake time until something holds. */
async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    if (holds()) {
      return;
    }
    await vi.advanceTimersByTimeAsync(20);
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error('it does not come to hold');
}

async function started(): Promise<void> {
  app.start();
  await until(() => app.topicState.phase === 'current');
}

describe('the page', () => {
  it('lists sessions, newest first, with what waits and what is busy', async () => {
    server.commit({ entity: 'session', data: session({ id: 's-1', updated_at: '2026-01-01T00:00:00Z' }) });
    server.commit({ entity: 'session', data: session({ id: 's-2', updated_at: '2026-01-01T00:00:00.5Z' }) });
    server.commit({ entity: 'turn', data: turn({ id: 't-0', session_id: 's-1', status: 'interrupted' }) });
    server.commit({ entity: 'rtc', data: rtc({ id: 'r-1', session_id: 's-1', tool_name: 'askUser' }) });
    await started();
    await until(() => app.sessions.length === 2 && app.waiting.size === 1);
    expect(app.sessions.map(({ id }) => id)).toEqual(['s-2', 's-1']);
    expect(app.waitingElsewhere).toBe(1);
    server.commit({ entity: 'turn', data: turn({ id: 't-1', session_id: 's-2' }) });
    await until(() => app.busy.has('s-2'));
  });

  it('begins a session by sending, and goes on in it', async () => {
    await started();
    await app.send('Hello', 'project-1');
    expect(app.selected).toMatch(/^session-of-/);
    await until(() => app.conversation?.entries.length === 1);
    await app.send('And on', null);
    await until(() => app.conversation?.entries.length === 2);
    const sends = server.calls.filter(({ method }) => method === 'v1.message.send');
    expect(sends[0]?.request).toMatchObject({ project_id: 'project-1' });
    expect(sends[1]?.request).toMatchObject({ server_session_id: app.selected });
    expect(sends[1]?.request).not.toHaveProperty('project_id');
  });

  it('begins a session in a mode, if one was chosen', async () => {
    await started();
    await app.send('Hello', null, 'manual');
    await app.send('And on', null, 'manual');
    const sends = server.calls.filter(({ method }) => method === 'v1.message.send');
    expect(sends.map(({ request }) => (request as { mode?: string }).mode)).toEqual(['manual', undefined]);
  });

  it.each([
    ['session.not_found', 'there is no session'],
    ['rpc.invalid_argument', 'UUID parsing failed'],
  ])('says that there is no such session (%s)', async (code, text) => {
    await started();
    server.handlers['v1.message.list'] = () => {
      throw new Refusal(code, `${text}\n{"field":"session_id"}`);
    };
    app.select('nonsense');
    await until(() => app.isMissing);
    expect(app.notices).toEqual([]);
    app.select(null);
    expect(app.isMissing).toBe(false);
  });

  it('loads the shown session again when another window has dropped it', async () => {
    server.commit({ entity: 'session', data: session({ id: 's-1' }) });
    server.commit({
      entity: 'message',
      data: message({ id: 'm-1', session_id: 's-1', global_offset: 1 }, { type: 'text', data: '' }),
    });
    await started();
    app.select('s-1');
    await until(() => app.conversation?.entries.length === 1);
    await new Promise((resolve) => setImmediate(resolve));
    const other = new Database(server.user);
    await other.opened.delete('s-1');
    await other.messages.clear();
    other.close();
    await until(() => app.conversation?.entries.length === 0);
    await until(() => app.conversation?.entries.length === 1);
  });

  it('repeats a send whose reply was lost under the same id', async () => {
    await started();
    const send = server.handlers['v1.message.send']!;
    let tries = 0;
    server.handlers['v1.message.send'] = (request) => {
      if (++tries === 1) {
        server.dropAll();
      }
      return send(request);
    };
    const sent = app.send('Hello', null);
    await until(() => tries === 2);
    await sent;
    const ids = server.calls
      .filter(({ method }) => method === 'v1.message.send')
      .map(({ request }) => (request as { client_id: string }).client_id);
    expect(ids[0]).toBe(ids[1]);
  });

  it('shows text as it streams, and never late text over the whole one', async () => {
    server.commit({ entity: 'session', data: session({ id: 's-1' }) });
    await started();
    app.select('s-1');
    const fields = { id: 'm-1', session_id: 's-1', global_offset: 1, streaming_status: 'streaming' as const };
    const text = () => {
      const entry = app.conversation?.entries[0];
      return entry?.kind === 'answer' ? entry.text : undefined;
    };
    server.commit({ entity: 'message', data: message(fields, { type: 'markdown', data: '' }) });
    await until(() => text() === '');
    server.live(message(fields, { type: 'markdown', data: 'so' }));
    server.live(message(fields, { type: 'markdown', data: 'so far' }));
    await until(() => text() === 'so far');
    server.commit({
      entity: 'message',
      data: message(
        { ...fields, streaming_status: 'completed' },
        { type: 'markdown', data: 'so far, so good' },
      ),
    });
    await until(() => text() === 'so far, so good');
    server.live(message(fields, { type: 'markdown', data: 'so far' }));
    await vi.advanceTimersByTimeAsync(500);
    await new Promise((resolve) => setImmediate(resolve));
    expect(text()).toBe('so far, so good');
  });

  it('shows the text that takes the place of a whole one, also one of equal length', async () => {
    server.commit({ entity: 'session', data: session({ id: 's-1' }) });
    await started();
    app.select('s-1');
    const said = () => app.conversation?.entries.map((entry) => ('text' in entry ? entry.text : null));
    const say = (id: string, global_offset: number, content: ContentData) =>
      server.commit({ entity: 'message', data: message({ id, session_id: 's-1', global_offset }, content) });
    say('m-1', 1, { type: 'text', data: 'the same' });
    say('m-2', 2, { type: 'markdown', data: 'one way' });
    await until(() => app.conversation?.entries.length === 2);
    say('m-2', 2, { type: 'markdown', data: 'two way' });
    await until(() => said()?.[1] === 'two way');
    say('m-1', 1, { type: 'text', data: 'the sane' });
    await until(() => said()?.[0] === 'the sane');
    expect(said()).toEqual(['the sane', 'two way']);
  });

  it('shows what a running call tells, until it has ended', async () => {
    server.commit({ entity: 'session', data: session({ id: 's-1' }) });
    const call = rtc({ id: 'r-1', session_id: 's-1', tool_name: 'script', status: 'executing' });
    server.commit({ entity: 'turn', data: turn({ id: 't-1', session_id: 's-1' }) });
    server.commit({ entity: 'rtc', data: call });
    await started();
    app.select('s-1');
    await until(() => app.conversation?.rtcs.length === 1);
    const tell = (rtc_id: string, text: string) =>
      server.tell({ type: 'progress', data: { rtc_id, progress: { kind: 'text', text } } });
    tell('r-1', 'one');
    tell('r-else', 'of another session');
    tell('r-1', 'two');
    await until(() => app.conversation?.told.get('r-1') === 'one\ntwo');
    expect([...app.conversation!.told.keys()]).toEqual(['r-1']);
    server.commit({ entity: 'rtc', data: { ...call, status: 'completed' } });
    await until(() => app.conversation?.rtcs[0]?.status === 'completed');
    tell('r-1', 'too late');
    await until(() => app.conversation?.told.size === 0);
  });

  it('says what does not go on by itself', async () => {
    await started();
    server.tell({
      type: 'trouble',
      data: { session_id: 's-1', code: 'store.full', message: 'nothing can be written' },
    });
    await until(() => app.notices.length === 1);
    expect(app.notices[0]).toMatchObject({ isError: true });
    expect(app.notices[0]?.text).toMatch(/^Nothing can be written\. Free some space/);
  });

  it('renames a session, and leaves one that was deleted, here or in another window', async () => {
    const one = session({ id: 's-1', title: 'One' });
    server.commit({ entity: 'session', data: one });
    server.handlers['v1.session.update'] = ({ session_id, title, deleted_at = null }) => {
      server.commit({ entity: 'session', data: { ...one, title: title ?? one.title, deleted_at } });
      return { session_id };
    };
    await started();
    app.select('s-1');
    await app.rename('s-1', 'Another');
    await until(() => app.conversation?.session?.title === 'Another');
    await app.remove('s-1');
    await until(() => app.sessions.length === 0);
    expect(app.selected).toBeNull();
    expect(app.notices.at(-1)?.text).toBe('“Another” was deleted.');
  });

  it('loads earlier messages by pages', async () => {
    server.commit({ entity: 'session', data: session({ id: 's-1' }) });
    for (let number = 1; number <= 320; number++) {
      server.commit({
        entity: 'message',
        data: message(
          { id: `m-${number}`, session_id: 's-1', global_offset: number },
          { type: 'text', data: '' },
        ),
      });
    }
    await started();
    app.select('s-1');
    await until(() => app.conversation?.hasEarlier === true);
    expect(app.conversation!.entries.length).toBe(200);
    for (const expected of [250, 300, 320]) {
      await app.conversation!.loadEarlier();
      expect(app.conversation!.entries.length).toBe(expected);
    }
    expect(app.conversation!.hasEarlier).toBe(false);
    expect(app.conversation!.entries[0]?.id).toBe('m-1');
  });

  it('tells of a refusal in words, with what to do', async () => {
    await started();
    server.handlers['v1.message.send'] = () => {
      throw new Refusal('store.full', 'the disk is nearly full');
    };
    expect(await app.attempt(() => app.send('Hello', null))).toBe(false);
    expect(app.notices).toMatchObject([
      {
        isError: true,
        text: 'The disk is nearly full. Free some space on the disk that the data is on, then try again. Nothing is lost.',
      },
    ]);
    app.dismiss(app.notices[0]!.id);
    expect(app.notices).toEqual([]);
    server.handlers['v1.message.send'] = () => {
      throw new Refusal('file.not_text', '/a is not text\n{"reason":"fs.binary"}');
    };
    await app.attempt(() => app.send('Hello', null));
    expect(app.notices).toMatchObject([{ text: '/a is not text.', details: '{"reason":"fs.binary"}' }]);
  });

  it('says no more that the disk is full when something was sent', async () => {
    await started();
    const send = server.handlers['v1.message.send']!;
    server.handlers['v1.message.send'] = () => {
      throw new Refusal('store.full', 'the disk is nearly full');
    };
    await app.attempt(() => app.send('Hello', null));
    app.tell('Something else', true);
    expect(app.notices.length).toBe(2);
    server.handlers['v1.message.send'] = send;
    await app.send('Hello', null);
    expect(app.notices).toMatchObject([{ text: 'Something else' }]);
  });

  it('is loaded again when the browser closes its store', async () => {
    vi.spyOn(performance, 'now').mockReturnValue(60_000);
    const opened = vi.spyOn(indexedDB, 'open');
    await started();
    forceCloseDatabase(opened.mock.results[0]!.value.result);
    await until(() => reload.mock.calls.length > 0);
    expect(reload).toHaveBeenCalledOnce();
    expect(app.isStoreBroken).toBe(false);
  });

  it('says that its store does not work, and asks for nothing in vain', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    vi.spyOn(indexedDB, 'open').mockImplementation(() => {
      throw new Error('the disk is gone');
    });
    app.start();
    await until(() => app.isStoreBroken);
    expect(app.notices).toMatchObject([
      { isError: true, text: expect.stringContaining('storage of this page') },
    ]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(reload).not.toHaveBeenCalled();
  });
});
