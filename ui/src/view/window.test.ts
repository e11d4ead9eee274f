import { forceCloseDatabase } from 'fake-indexeddb';
import { flushSync } from 'svelte';
import { describe, expect, it, vi } from 'vitest';

import { button, find, type } from '../testing/dom';
import { session } from '../testing/entities';
import { app, field, openWindow, server, tell, until } from '../testing/window';

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
});
