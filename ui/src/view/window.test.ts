import { forceCloseDatabase } from 'fake-indexeddb';
import { flushSync } from 'svelte';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { Platform, WindowEvent } from '../platform/platform';
import { App } from '../state/app.svelte';
import { button, find, show, type } from '../testing/dom';
import { project, session } from '../testing/entities';
import { FakeServer, Refusal } from '../testing/fake-server';
import { platformOf } from '../testing/platform';
import { serveSample } from '../testing/sample';
import type { Project } from '../wire/generated';
import Page from './Page.svelte';

let server: FakeServer;
let app: App | null;
/** The folders that the engine knows, and which of them are open. */
let known: Map<string, Project>;
let open: Set<string>;
let tell: (event: WindowEvent) => void;

const one = project({ id: 'p-1', root: '/home/me/one' });
const two = project({ id: 'p-2', root: '/home/me/two' });
const strange = project({ id: 'p-3', root: '/home/me/strange', trusted: false });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
  // Nothing has a size here.
  vi.stubGlobal(
    'ResizeObserver',
    class {
      observe(): void {}
      disconnect(): void {}
    },
  );
  history.replaceState(null, '', '/');
  server = new FakeServer();
  serveSample(server);
  app = null;
  known = new Map([one, two, strange].map((project) => [project.id, project]));
  open = new Set(['p-1']);
  const openOnes = () => [...open].map((id) => known.get(id)!);
  Object.assign(server.handlers, {
    'v1.project.list': () => ({ items: openOnes() }),
    'v1.project.recent': () => ({ items: [...known.values()] }),
    'v1.project.open': ({ path }) => {
      const item = [...known.values()].find(({ root }) => root === path);
      if (!item) {
        throw new Refusal('project.unusable', `there is no folder ${path}`);
      }
      open.add(item.id);
      return { item };
    },
    'v1.project.trust': ({ project_id, trusted }) => {
      const item = { ...known.get(project_id)!, trusted };
      known.set(project_id, item);
      return { item };
    },
    'v1.project.close': ({ project_id }) => {
      open.delete(project_id);
      return { success: true };
    },
  } satisfies FakeServer['handlers']);
});

afterEach(async () => {
  app?.close();
  await turn();
  indexedDB.deleteDatabase(`rtc-desktop-${server.user}`);
  await turn();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  sessionStorage.clear();
});

const turn = () => new Promise((resolve) => setImmediate(resolve));
const text = () => document.body.textContent!;
const field = () => find<HTMLTextAreaElement>('#message');
const requests = (method: string) =>
  server.calls.filter((call) => call.method === method).map(({ request }) => request);

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    flushSync();
    if (holds()) {
      return;
    }
    await vi.advanceTimersByTimeAsync(20);
    await turn();
  }
  throw new Error(`it does not come to hold: ${text()}`);
}

/** Shows the page in a window whose dialog chooses a folder. */
async function openWindow(more: Partial<Platform> = {}, chosen: Project | null = null): Promise<App> {
  const choose = () => {
    if (chosen) {
      open.add(chosen.id);
    }
    return Promise.resolve(chosen);
  };
  return openPage({
    place: 'window',
    executes: true,
    folders: { choose },
    openWindow: vi.fn(() => Promise.resolve()),
    openLink: vi.fn(() => Promise.resolve()),
    watch: (told) => (tell = told),
    ...more,
  });
}

async function openPage(more: Partial<Platform>): Promise<App> {
  const opened = new App(platformOf(server, more));
  app = opened;
  show(Page, { app: opened });
  opened.start();
  await until(() => opened.topicState.phase === 'current' && opened.model !== null);
  return opened;
}

async function send(message: string): Promise<void> {
  type(field(), message);
  button('Send').click();
  await until(() => requests('v1.message.send').length === 1);
}

describe('a folder in a window', () => {
  it('is opened by a dialog, and is that of the next session', async () => {
    await openWindow({}, two);
    expect(text()).toContain('/home/me/one');
    button('Open a folder…').click();
    await until(() => document.querySelector<HTMLSelectElement>('.folder select')?.value === 'p-2');
    await send('Hello');
    expect(requests('v1.message.send')[0]).toMatchObject({ project_id: 'p-2' });
  });

  it('stays as it is when the dialog is left, and when it fails, which is told', async () => {
    const app = await openWindow();
    button('Open a folder…').click();
    await until(() => !button('Open a folder…').disabled);
    expect(app.folders.current?.id).toBe('p-1');
    app.close();
    document.body.replaceChildren();
    const failing = await openWindow({
      folders: { choose: () => Promise.reject(new Refusal('project.unusable', 'it is a file')) },
    });
    button('Open a folder…').click();
    await until(() => failing.notices.length === 1);
    expect(text()).toContain('It is a file.');
  });

  it('of before is opened again from the list, and one that is gone stays in it', async () => {
    await openWindow();
    expect(find('#recent').textContent).toBe('Recent');
    const names = () => [...document.querySelectorAll('#recent + ul button')].map((item) => item.textContent);
    expect(names()).toEqual(['/home/me/two', '/home/me/strange']);
    known.delete('p-2');
    button('/home/me/two').click();
    await until(() => text().includes('There is no folder /home/me/two.'));
    expect(names()).toEqual(['/home/me/two', '/home/me/strange']);
    known.set('p-2', two);
    await until(() => !button('/home/me/two').disabled);
    button('/home/me/two').click();
    await until(() => names().join() === '/home/me/strange');
    expect(requests('v1.project.open')).toEqual([{ path: two.root }, { path: two.root }]);
    await send('Hello');
    expect(requests('v1.message.send')[0]).toMatchObject({ project_id: 'p-2' });
  });

  it('that the window is told of is that of the next session, and leaves the session of another one', async () => {
    server.commit({ entity: 'session', data: session({ id: 's-1', project_id: 'p-1' }) });
    server.commit({ entity: 'session', data: session({ id: 's-2', project_id: 'p-2' }) });
    const app = await openWindow();
    await until(() => app.sessions.length === 2);
    app.select('s-2');
    open.add('p-2');
    tell({ type: 'opened', project: two });
    expect(app.selected).toBe('s-2');
    app.select('s-1');
    tell({ type: 'opened', project: two });
    expect(app.selected).toBeNull();
    expect(app.folders.current?.id).toBe('p-2');
  });

  it('that is told of while the folders are asked for is not lost', async () => {
    const list = server.handlers['v1.project.list']!;
    let times = 0;
    server.handlers['v1.project.list'] = (request) => {
      const before = list(request);
      if (++times === 1) {
        open.add('p-2');
        tell({ type: 'opened', project: two });
      }
      return before;
    };
    const app = await openWindow();
    expect(app.folders.current?.id).toBe('p-2');
    expect(app.folders.open.map(({ id }) => id)).toEqual(['p-1', 'p-2']);
  });

  it('is not opened from a browser', async () => {
    await openPage({});
    expect(button('Open a folder…')).toBeUndefined();
    expect(button('New window')).toBeUndefined();
    expect(document.querySelector('#recent')).toBeNull();
    expect(requests('v1.project.recent')).toEqual([]);
  });
});

describe('a folder that is not trusted', () => {
  it('is asked about before anything is sent', async () => {
    await openWindow({}, strange);
    expect(field().disabled).toBe(false);
    button('Open a folder…').click();
    await until(() => text().includes('Do you trust this folder?'));
    expect(text()).toContain('/home/me/strange');
    expect(text()).not.toContain('What shall be done?');
    expect(field().disabled).toBe(true);
    button('Trust this folder').click();
    await until(() => text().includes('What shall be done?'));
    expect(requests('v1.project.trust')).toEqual([{ project_id: 'p-3', trusted: true }]);
    expect(field().disabled).toBe(false);
    await send('Hello');
    expect(requests('v1.message.send')[0]).toMatchObject({ project_id: 'p-3' });
  });

  it('is closed by “Not now”, and can be opened later', async () => {
    const app = await openWindow({}, strange);
    button('Open a folder…').click();
    await until(() => text().includes('Do you trust this folder?'));
    button('Not now').click();
    await until(() => text().includes('What shall be done?'));
    expect(requests('v1.project.close')).toEqual([{ project_id: 'p-3' }]);
    expect(app.folders.current?.id).toBe('p-1');
    button('/home/me/strange').click();
    await until(() => text().includes('Do you trust this folder?'));
  });

  it('stays untrusted when the answer does not get through', async () => {
    await openWindow({}, strange);
    server.handlers['v1.project.trust'] = () => {
      throw new Refusal('store.full', 'no room');
    };
    button('Open a folder…').click();
    await until(() => text().includes('Do you trust this folder?'));
    button('Trust this folder').click();
    await until(() => text().includes('No room.') && !button('Trust this folder').disabled);
    expect(field().disabled).toBe(true);
  });

  it('keeps its sessions from going on, and leads to the question', async () => {
    server.commit({ entity: 'session', data: session({ id: 's-1', project_id: 'p-3' }) });
    const app = await openWindow();
    await until(() => app.sessions.length === 1);
    app.select('s-1');
    await until(() => text().includes('nothing can be sent'));
    expect(field().disabled).toBe(true);
    expect(field().placeholder).toBe('This folder is not trusted');
    button('Decide…').click();
    await until(() => text().includes('Do you trust this folder?'));
    button('Trust this folder').click();
    await until(() => text().includes('What shall be done?'));
    app.select('s-1');
    await until(() => !field().disabled);
  });

  it('is nothing that a browser asks about', async () => {
    known.set('p-1', { ...one, trusted: false });
    await openPage({});
    expect(text()).toContain('What shall be done?');
    expect(field().disabled).toBe(false);
  });

  it('is asked about no more when another window has answered', async () => {
    known.set('p-1', { ...one, trusted: false });
    await openWindow();
    expect(text()).toContain('Do you trust this folder?');
    known.set('p-1', one);
    window.dispatchEvent(new Event('focus'));
    await until(() => text().includes('What shall be done?'));
  });
});

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
    app!.close();
    document.body.replaceChildren();
    vi.restoreAllMocks();
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
