import { flushSync } from 'svelte';
import { afterEach, beforeEach, vi } from 'vitest';

import type { Platform, WindowEvent } from '../platform/platform';
import { App } from '../state/app.svelte';
import type { Project } from '../wire/generated';
import Page from '../view/Page.svelte';
import { button, find, show, type } from './dom';
import { project } from './entities';
import { FakeServer, Refusal } from './fake-server';
import { platformOf } from './platform';
import { serveSample } from './sample';

/** The server of the test. */
export let server: FakeServer;
/** What the page shows. */
export let app: App;
/** The folders that the engine knows, and which of them are open. */
export let known: Map<string, Project>;
export let open: Set<string>;
/** Tells the window something from outside. */
export let tell: (event: WindowEvent) => void;

let isOpen: boolean;

export const one = project({ id: 'p-1', root: '/data/me/one' });
export const two = project({ id: 'p-2', root: '/data/me/two' });
export const strange = project({ id: 'p-3', root: '/data/me/strange', trusted: false });

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
  Element.prototype.scrollIntoView = () => {};
  history.replaceState(null, '', '/');
  server = new FakeServer();
  serveSample(server);
  isOpen = false;
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
  if (isOpen) {
    app.close();
  }
  await turn();
  indexedDB.deleteDatabase(`rtc-desktop-${server.user}`);
  await turn();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  sessionStorage.clear();
});

/** Lets what is stored and sent go on. */
const turn = () => new Promise((resolve) => setImmediate(resolve));
/** What is to be read. */
export const text = () => document.body.textContent!;
/** The message field. */
export const field = () => find<HTMLTextAreaElement>('#message');
/** What was asked of a method. */
export const requests = (method: string) =>
  server.calls.filter((call) => call.method === method).map(({ request }) => request);

/** Runs fake time until something holds. */
export async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    flushSync();
    if (holds()) {
      return;
    }
    await vi.advanceTimersByTimeAsync(20);
    await turn();
    if (tries % 50 === 49) {
      // Parts of the page are loaded when they are first shown, and that takes real time.
      await vi.dynamicImportSettled();
    }
  }
  throw new Error(`it does not come to hold: ${text()}`);
}

/** Shows the page in a window whose dialog chooses a folder. */
export async function openWindow(more: Partial<Platform> = {}, chosen: Project | null = null): Promise<App> {
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

/** Shows the page, in a browser if nothing else is said. */
export async function openPage(more: Partial<Platform>): Promise<App> {
  app = new App(platformOf(server, more));
  isOpen = true;
  show(Page, { app });
  app.start();
  await until(() => app.topicState.phase === 'current' && app.model !== null);
  return app;
}

/** Sends a message. */
export async function send(message: string): Promise<void> {
  type(field(), message);
  button('Send').click();
  await until(() => requests('v1.message.send').length === 1);
}
