import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { project, rtc, session } from '../src/testing/entities';
import { FakeServer, type Connection } from '../src/testing/fake-server';
import { fillWithSample, serveSample } from '../src/testing/sample';
import { barriers, shoot, startStage, type Stage } from './stage';

let stage: Stage;
let server: FakeServer;
let commands: Record<string, (parameters: Record<string, string>) => unknown>;
let asked: { name: string; parameters: Record<string, string> }[];

beforeAll(async () => {
  stage = await startStage();
});

afterAll(() => stage?.close());

beforeEach(() => {
  server = new FakeServer();
  serveSample(server);
  asked = [];
  const strange = project({ id: 'p-3', root: '/data/me/downloads/strange', trusted: false });
  const before = project({ id: 'p-2', root: '/data/me/an-older-one' });
  Object.assign(server.handlers, {
    'v1.project.recent': () => ({ items: [before] }),
    'v1.project.trust': () => ({ item: { ...strange, trusted: true } }),
    'v1.rtc.run': ({ rtc_id }) => {
      server.commit({ entity: 'rtc', data: { ...server.rtcs.get(rtc_id)!, status: 'completed' } });
      return { rtc_id, status: 'completed', digest: null };
    },
  } satisfies FakeServer['handlers']);
  commands = {
    sign_in: () => ({ token: 't', user_id: server.user, device_id: 'device-1' }),
    choose_folder: () => strange,
    window_watch: () => null,
    open_window: () => null,
    open_link: () => null,
  };
});

/** The built page in the place of a window: the same policy and what the program puts around the page, in a browser. */
async function openWindow(width = 1280, theme: 'light' | 'dark' = 'light', at = ''): Promise<Page> {
  const context = await stage.browser.newContext({ viewport: { width, height: 860 }, colorScheme: theme });
  const page = await context.newPage();
  const sockets: Connection[] = [];
  const tell = (channel: string, message: unknown) =>
    void page.evaluate(
      ([channel, message]) =>
        (globalThis as unknown as { tellChannel: (channel: string, message: unknown) => void }).tellChannel(
          channel as string,
          message,
        ),
      [channel, message],
    );
  await page.exposeFunction('command', async (name: string, parameters: Record<string, string>) => {
    asked.push({ name, parameters });
    switch (name) {
      case 'socket_open': {
        const { frames } = parameters as { frames: string };
        const connection = server.accept(
          (data) => tell(frames, { type: 'frame', data }),
          (code, reason) => tell(frames, { type: 'close', code, reason }),
        );
        return sockets.push(connection) - 1;
      }
      case 'socket_send':
        sockets[Number(parameters['socket'])]!.receive(parameters['frame']!);
        return null;
      case 'socket_close':
        server.connections.delete(sockets[Number(parameters['socket'])]!);
        return null;
      default:
        return await commands[name]!(parameters);
    }
  });
  await page.addInitScript(() => {
    const callbacks = new Map<string, (told: { index: number; message: unknown }) => void>();
    const indices = new Map<string, number>();
    const { command } = globalThis as unknown as {
      command: (name: string, parameters: unknown) => Promise<unknown>;
    };
    Object.assign(globalThis, {
      tellChannel: (channel: string, message: unknown) => {
        const index = indices.get(channel) ?? 0;
        indices.set(channel, index + 1);
        callbacks.get(channel)?.({ index, message });
      },
      __TAURI_INTERNALS__: {
        transformCallback: (callback: (told: { index: number; message: unknown }) => void) => {
          const id = callbacks.size + 1;
          callbacks.set(`__CHANNEL__:${id}`, callback);
          return id;
        },
        unregisterCallback: () => {},
        invoke: (name: string, parameters: unknown) => command(name, JSON.parse(JSON.stringify(parameters))),
      },
    });
  });
  page.on('pageerror', (error) => {
    throw error;
  });
  await page.goto(stage.address + at);
  return page;
}

const requestsOf = (name: string) =>
  asked.filter((command) => command.name === name).map(({ parameters }) => parameters);

describe('the page in a window', () => {
  it.each([
    [1280, 'light'],
    [420, 'dark'],
  ] as const)('opens a folder after the question of trust (%i pixels, %s)', async (width, theme) => {
    const page = await openWindow(width, theme);
    await page.getByRole('button', { name: '/data/me/an-older-one' }).waitFor();
    await shoot(page, `window-start-${width}-${theme}`);
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Open a folder…' }).click();
    await page.getByRole('heading', { name: 'Do you trust this folder?' }).waitFor();
    await shoot(page, `window-trust-${width}-${theme}`);
    expect(await barriers(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
    await page.getByRole('button', { name: 'Trust this folder' }).click();
    await page.getByRole('heading', { name: 'What shall be done?' }).waitFor();
    await expect.poll(() => page.getByLabel('Folder').inputValue()).toBe('p-3');
    await page.context().close();
  });

  it('runs the calls of its device, and leads out by the program', async () => {
    fillWithSample(server);
    const page = await openWindow(1280, 'light', '#session/s-4');
    await page.getByText('queued').waitFor();
    await page.getByRole('link', { name: 'the notes' }).click();
    await expect.poll(() => requestsOf('open_link')).toEqual([{ url: 'https://example.org/notes' }]);
    expect(page.context().pages()).toHaveLength(1);
    await page.getByRole('button', { name: 'New window' }).click();
    await expect.poll(() => requestsOf('open_window')).toEqual([{ session: null }]);
    server.commit(
      { entity: 'session', data: session({ id: 's-9' }) },
      { entity: 'rtc', data: rtc({ id: 'r-9', session_id: 's-9' }) },
    );
    await expect.poll(() => server.rtcs.get('r-9')?.status).toBe('completed');
    expect(server.calls.filter(({ method }) => method === 'v1.rtc.run')).toHaveLength(1);
    await page.context().close();
  });

  it('says that it could not sign in, and why', async () => {
    commands['sign_in'] = () => Promise.reject(new Error('the engine is ending'));
    const page = await openWindow();
    await page.getByRole('heading', { name: 'This window could not sign in' }).waitFor();
    await page.getByText('the engine is ending').waitFor();
    await shoot(page, 'window-signed-out-1280-light');
    await page.context().close();
  });
});
