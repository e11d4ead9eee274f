import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { App } from '../state/app.svelte';
import { rtc, session, turn } from '../testing/entities';
import { FakeServer, Refusal } from '../testing/fake-server';
import { platformOf } from '../testing/platform';
import { serveSample } from '../testing/sample';
import type { Platform } from '../platform/platform';

let server: FakeServer;
let apps: App[];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
  server = new FakeServer();
  serveSample(server);
  apps = [];
  server.commit({ entity: 'session', data: session({ id: 's-1' }) });
  server.commit({ entity: 'turn', data: turn({ id: 't-1', session_id: 's-1', status: 'interrupted' }) });
  server.commit({ entity: 'rtc', data: question });
});

afterEach(async () => {
  apps.forEach((app) => app.close());
  await run(0);
  indexedDB.deleteDatabase(`rtc-desktop-${server.user}`);
  await run(0);
  vi.useRealTimers();
});

const question = rtc({ id: 'r-1', session_id: 's-1', tool_name: 'askUser' });
const answer = { answers: { 'Which one?': 'A' } };
const submitted = () => server.calls.filter(({ method }) => method === 'v1.rtc.submit_result');

/** Lets fake time pass, and what is not a matter of time come to its end. */
async function run(milliseconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(milliseconds);
  for (let turn = 0; turn < 20; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    if (holds()) {
      return;
    }
    await run(20);
  }
  throw new Error('it does not come to hold');
}

async function openApp(more: Partial<Platform> = {}): Promise<App> {
  const app = new App(platformOf(server, more));
  apps.push(app);
  app.start();
  await until(() => app.topicState.phase === 'current');
  return app;
}

describe('an answer to a question', () => {
  it('is handed in, and not kept any more then', async () => {
    const app = await openApp();
    await app.answer(question, answer);
    await until(() => submitted().length === 1 && app.submits.size === 0);
    const { id: rtc_id, client_id } = question;
    expect(submitted()[0]?.request).toEqual({ rtc_id, client_id, success: true, result: answer });
    expect(server.rtcs.get('r-1')).toMatchObject({ status: 'completed', result: answer });
    await run(60_000);
    expect(submitted()).toHaveLength(1);
    expect(app.notices).toEqual([]);
  });

  it('says that the user declined', async () => {
    const app = await openApp();
    await app.answer(question, null);
    await until(() => submitted().length === 1 && app.submits.size === 0);
    expect(submitted()[0]?.request).toMatchObject({
      success: false,
      error: expect.stringContaining('declined'),
    });
  });

  it('is handed in again after the delays while it does not get through, and kept all the time', async () => {
    const app = await openApp();
    const take = server.handlers['v1.rtc.submit_result']!;
    server.handlers['v1.rtc.submit_result'] = () => {
      throw new Refusal('store.full', 'no room');
    };
    await app.answer(question, answer);
    await until(() => submitted().length === 1);
    let tries = 1;
    for (const seconds of [1, 2, 4, 8, 16, 30, 30, 30]) {
      await run(seconds * 1_000 - 200);
      expect(submitted()).toHaveLength(tries);
      await run(200);
      expect(submitted()).toHaveLength(++tries);
      expect([...app.submits.keys()]).toEqual(['r-1']);
    }
    server.handlers['v1.rtc.submit_result'] = take;
    await run(30_000);
    await until(() => app.submits.size === 0);
    expect(server.rtcs.get('r-1')?.status).toBe('completed');
    expect(app.notices).toEqual([]);
  });

  it('outlives the page that it was given on', async () => {
    const app = await openApp();
    server.handlers['v1.rtc.submit_result'] = () => {
      throw new Refusal('engine.shutting_down', 'it ends');
    };
    await until(() => app.waiting.get('s-1') === 1);
    await app.answer(question, answer);
    await until(() => app.submits.has('r-1'));
    expect(app.waiting.size).toBe(0);
    app.close();
    await run(0);
    expect(vi.getTimerCount()).toBe(0);
    serveSample(server);
    const before = submitted().length;
    await run(60_000);
    expect(submitted()).toHaveLength(before);

    const again = await openApp();
    await until(() => server.rtcs.get('r-1')?.status === 'completed' && again.submits.size === 0);
    expect(server.rtcs.get('r-1')?.result).toEqual(answer);
  });

  it('survives that the line breaks before it is known to be taken', async () => {
    const app = await openApp();
    const take = server.handlers['v1.rtc.submit_result']!;
    let times = 0;
    server.handlers['v1.rtc.submit_result'] = (request) => {
      const taken = take(request);
      if (++times === 1) {
        server.dropAll();
      }
      return taken;
    };
    await app.answer(question, answer);
    await until(() => times === 2 && app.submits.size === 0);
    expect(app.notices).toEqual([]);
  });

  it.each([
    ['another device', 'device-2', 'it was answered on another device before'],
    ['nobody, because it was stopped', null, 'it had ended before'],
  ])('was not taken where %s has ended the call, which the user is told', async (_, answered_by, reason) => {
    const app = await openApp();
    const take = server.handlers['v1.rtc.submit_result']!;
    server.handlers['v1.rtc.submit_result'] = (request) => {
      server.commit({ entity: 'rtc', data: { ...question, status: 'rejected', answered_by } });
      return take(request);
    };
    await app.answer(question, answer);
    await until(() => app.notices.length > 0);
    expect(app.notices).toMatchObject([{ text: `Your answer was not taken: ${reason}.`, isError: true }]);
    await until(() => app.submits.size === 0);
    await run(60_000);
    expect(submitted()).toHaveLength(1);
  });

  it('that the server cannot take is given back to the user with its reason', async () => {
    const app = await openApp();
    server.handlers['v1.rtc.submit_result'] = () => {
      throw new Refusal('rtc.invalid_result', 'no question reads so');
    };
    await app.answer(question, answer);
    await until(() => app.notices.length > 0 && app.submits.size === 0);
    expect(app.notices[0]?.text).toBe('Your answer was not taken: no question reads so.');
  });

  it('is shown as kept in every window, of which one at most tells that it was not taken', async () => {
    const [app, other] = [await openApp(), await openApp()];
    let isDown = true;
    server.handlers['v1.rtc.submit_result'] = () => {
      throw isDown ? new Refusal('store.full', 'no room') : new Refusal('rtc.not_found', 'it is gone');
    };
    await app.answer(question, answer);
    await until(() => app.submits.has('r-1') && other.submits.has('r-1'));
    await until(() => submitted().length >= 2);
    isDown = false;
    await until(() => app.submits.size === 0 && other.submits.size === 0);
    await run(60_000);
    expect(app.notices.length + other.notices.length).toBe(1);
  });
});

describe('a window of the desktop', () => {
  const call = rtc({ id: 'r-2', session_id: 's-2' });

  function runOnServer(): void {
    server.handlers['v1.rtc.run'] = ({ rtc_id }) => {
      server.commit({ entity: 'rtc', data: { ...server.rtcs.get(rtc_id)!, status: 'completed' } });
      return { rtc_id, status: 'completed', digest: null };
    };
  }

  const ran = () =>
    server.calls.filter(({ method }) => method === 'v1.rtc.run').map(({ request }) => request);

  it('runs the calls of its device: those that are there, and those that arrive', async () => {
    runOnServer();
    server.commit({ entity: 'session', data: session({ id: 's-2' }) });
    server.commit({ entity: 'turn', data: turn({ id: 't-2', session_id: 's-2', status: 'interrupted' }) });
    server.commit({ entity: 'rtc', data: call });
    await openApp({ executes: true });
    await until(() => ran().length === 1);
    server.commit({ entity: 'rtc', data: { ...call, id: 'r-3', offset: 2 } });
    await until(() => ran().length === 2);
    await run(5_000);
    expect(ran()).toEqual([{ rtc_id: 'r-2' }, { rtc_id: 'r-3' }]);
  });

  it('runs what arrives before it has stored it', async () => {
    runOnServer();
    await openApp({ executes: true });
    await run(100);
    server.commit({ entity: 'rtc', data: call });
    // Microtasks only: the store needs more than these.
    for (let turn = 0; turn < 50; turn++) {
      await Promise.resolve();
    }
    expect(ran()).toEqual([{ rtc_id: 'r-2' }]);
  });

  it('is the only place that runs calls', async () => {
    runOnServer();
    await openApp();
    server.commit({ entity: 'rtc', data: call });
    await run(5_000);
    expect(ran()).toEqual([]);
  });
});
