import { forceCloseDatabase } from 'fake-indexeddb';
import { flushSync } from 'svelte';
import { describe, expect, it, vi } from 'vitest';

import { button, find, press, type } from '../testing/dom';
import { message, session, waiting } from '../testing/entities';
import { app, field, known, one, openPage, openWindow, server, tell, text, until } from '../testing/window';
import type { ContentData } from '../wire/generated';

describe('a window', () => {
  it('opens another one', async () => {
    const app = await openWindow();
    button('New window').click();
    expect(app.platform.openWindow).toHaveBeenCalledExactlyOnceWith(null);
    server.commit({ entity: 'session', data: session({ id: 's-1', title: 'A session' }) });
    await until(() => app.sessions.length === 1);
    find('[aria-label="Rename or delete A session"]').click();
    flushSync();
    button('Open in another window').click();
    expect(app.platform.openWindow).toHaveBeenLastCalledWith('s-1');
  });

  it('gives links that lead out to who opens them, and goes nowhere itself', async () => {
    const app = await openWindow();
    const follow = (href: string, target = '', button = 0) => {
      const link = document.createElement('a');
      link.innerHTML = '<code>there</code>';
      link.href = href;
      link.target = target;
      document.body.append(link);
      return link.firstElementChild!.dispatchEvent(
        new MouseEvent(button === 0 ? 'click' : 'auxclick', { bubbles: true, cancelable: true, button }),
      );
    };
    expect(follow('https://example.org/a', '_blank')).toBe(false);
    expect(follow('mailto:a@example.org')).toBe(false);
    expect(follow('https://example.org/b', '_blank', 1)).toBe(false);
    expect(follow('https://example.org/c', '_blank', 2)).toBe(true);
    expect(follow('#session/s-1')).toBe(true);
    expect(vi.mocked(app.platform.openLink!).mock.calls.flat()).toEqual([
      'https://example.org/a',
      'mailto:a@example.org',
      'https://example.org/b',
    ]);
  });

  it('is loaded again by keys', async () => {
    const reload = vi.fn();
    await openWindow({ reload });
    expect(press(field(), 'F5')).toBe(true);
    expect(press(document.body, 'r', { ctrlKey: true, code: 'KeyR' })).toBe(true);
    expect(press(document.body, 'r', { code: 'KeyR' })).toBe(false);
    expect(reload).toHaveBeenCalledTimes(2);
  });

  it('leaves these keys to a browser', async () => {
    const reload = vi.fn();
    await openPage({ reload });
    expect(press(field(), 'F5')).toBe(false);
    expect(press(document.body, 'r', { ctrlKey: true, code: 'KeyR' })).toBe(false);
    expect(reload).not.toHaveBeenCalled();
  });

  it('gives the keys to the message when it opens, unless something else has them or it is narrow', async () => {
    await openWindow();
    expect(document.activeElement).toBe(field());
    find('[aria-current=page]').focus();
    app.select('s-1');
    flushSync();
    expect(document.activeElement).not.toBe(field());
    for (const width of [1_280, 420]) {
      app.close();
      document.body.replaceChildren();
      vi.stubGlobal('innerWidth', width);
      const other = document.createElement('button');
      document.body.append(other);
      if (width === 1_280) {
        other.focus();
      }
      await openWindow();
      expect(document.activeElement).toBe(width === 1_280 ? other : document.body);
    }
  });

  it.each([['the start'], ['the question of trust'], ['a session in which nothing waits']])(
    'leads from %s to what waits elsewhere, by Alt+A',
    async (from) => {
      if (from === 'the question of trust') {
        known.set('p-1', { ...one, trusted: false });
      }
      const add = (id: string, number: number) => {
        const updated_at = `2026-01-01T12:0${number}:00Z`;
        server.commit({ entity: 'session', data: session({ id, project_id: 'p-9', updated_at }) });
      };
      const ask = (session_id: string, id: string) => {
        const fields = { id: `message-of-${id}`, session_id, global_offset: 1, turn_id: 'turn-1' };
        const data = { id, tool_name: 'script', input: '{}' };
        server.commit(
          { entity: 'message', data: message(fields, { type: 'toolcall_input', data }) },
          { entity: 'rtc', data: waiting({ id, session_id, message_id: fields.id }) },
        );
      };
      add('s-1', 1);
      add('s-2', 2);
      add('s-3', 3);
      await openWindow();
      ask('s-1', 'r-1');
      ask('s-2', 'r-2');
      await until(() => app.waiting.size === 2);
      if (from.startsWith('a session')) {
        app.select('s-3');
        await until(() => app.conversation?.session !== undefined);
      }
      press(field(), 'a', { altKey: true, code: 'KeyA' });
      expect(app.selected).toBe('s-2');
      await until(() => document.activeElement?.hasAttribute('data-waits') ?? false);
      expect(app.selected).toBe('s-2');
    },
  );

  it('keeps what is typed when the browser has taken its store away', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    vi.spyOn(performance, 'now').mockReturnValue(60_000);
    const opened = vi.spyOn(indexedDB, 'open');
    const reload = vi.fn();
    (await openWindow({ reload })).select('s-1');
    flushSync();
    const store: IDBDatabase = opened.mock.results[0]!.value.result;
    opened.mockImplementation(() => {
      throw new Error('refresh the page');
    });
    forceCloseDatabase(store as never);
    await until(() => reload.mock.calls.length > 0);
    type(field(), 'in the middle of');
    window.dispatchEvent(new Event('pagehide'));
    app.close();
    document.body.replaceChildren();
    opened.mockRestore();
    (await openWindow()).select('s-1');
    await until(() => field().value === 'in the middle of');
  });

  it('shows what it is told of', async () => {
    await openWindow();
    tell({ type: 'problem', text: 'The folder /x cannot be opened.' });
    flushSync();
    expect(find('[role=alert]').textContent).toContain('The folder /x cannot be opened.');
  });

  it('shows the newest reason why it is not connected', async () => {
    await openWindow();
    const hint = () => find('.connection').title;
    server.dropAll(3_001, 'the first reason');
    await until(() => app.line.phase === 'reconnecting');
    expect(hint()).toBe('the first reason');
    await until(() => app.line.phase === 'connected');
    server.isAway = true;
    server.dropAll(3_002, 'the second reason');
    await until(() => app.line.phase === 'reconnecting');
    expect(hint()).toBe('the second reason');
    await until(() => hint() !== 'the second reason');
    expect(hint()).toBe('transport closed');
    server.isAway = false;
    await until(() => app.line.phase === 'connected');
    expect(hint()).toBe('Connected');
  });

  it('shows a whole text that takes the place of one of equal length', async () => {
    await opened();
    say(1, { type: 'markdown', data: 'First\n\n```js\nlet a = 1;\n```' });
    say(2, { type: 'text', data: 'the same' });
    await until(() => document.querySelector('.answer .hljs-keyword') !== null);
    say(1, { type: 'markdown', data: 'First\n\n```js\nlet b = 2;\n```' });
    say(2, { type: 'text', data: 'the sane' });
    await until(() => find('.user .said').textContent === 'the sane');
    expect(find('.answer').textContent).toContain('let b = 2;');
    expect(find('.answer').textContent).not.toContain('let a = 1;');
  });

  it.each([
    ['user_message', { text: 5 }],
    ['toolcall_input', null],
    ['markdown', 5],
    ['user_message', { text: 'a', scenarios: 5 }],
    ['error', null],
  ])('shows everything else beside what it cannot show (%s %j)', async (type, data) => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    await opened();
    say(1, { type: 'text', data: 'before it' });
    say(2, { type, data } as never);
    await until(() => app.conversation?.messages.length === 2);
    say(3, { type: 'markdown', data: 'after it' });
    await until(() => text().includes('after it'));
    expect(text()).toContain('before it');
    say(3, { type: 'markdown', data: 'so it is' });
    say(4, { type: 'text', data: 'and goes on' });
    await until(() => text().includes('so it is') && text().includes('and goes on'));
    // What becomes readable is shown.
    say(2, { type: 'markdown', data: 'the thing itself' });
    await until(() => text().includes('the thing itself'));
    expect(text()).not.toContain('cannot be shown');
  });

  it('shows the conversation when the list of sessions cannot be shown, and the list when it can', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    await opened();
    const strange = session({ id: 's-2', title: 'Strange', updated_at: 'at some time' });
    server.commit({ entity: 'session', data: strange });
    await until(() => warn.mock.calls.length > 0);
    say(1, { type: 'text', data: 'it goes on' });
    await until(() => text().includes('it goes on'));
    expect(find('.pane.list').textContent).toContain('cannot be shown');
    server.commit({ entity: 'session', data: { ...strange, updated_at: '2026-01-02T00:00:00Z' } });
    await until(() => find('.pane.list').textContent!.includes('Strange'));
  });
});

/** Opens a window on a session. */
async function opened(): Promise<void> {
  server.commit({ entity: 'session', data: session({ id: 's-1', title: 'A session' }) });
  (await openWindow()).select('s-1');
  await until(() => app.conversation?.session !== undefined);
}

/** Says something in the session, or something else in its place. */
function say(number: number, content: ContentData): void {
  const fields = { id: `m-${number}`, session_id: 's-1', global_offset: number };
  server.commit({ entity: 'message', data: message(fields, content) });
}
