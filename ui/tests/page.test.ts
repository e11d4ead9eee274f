import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { message, turn } from '../src/testing/entities';
import { FakeServer, Refusal } from '../src/testing/fake-server';
import { fillWithSample, serveSample } from '../src/testing/sample';
import { barriers, shoot, startStage, type Stage } from './stage';

let stage: Stage;
let server: FakeServer;
let pages: Page[];
let complaints: string[];

beforeAll(async () => {
  stage = await startStage();
});

afterAll(() => stage?.close());

beforeEach(() => {
  server = new FakeServer();
  serveSample(server);
  pages = [];
  complaints = [];
});

afterEach(async () => {
  for (const page of pages) {
    await page.context().close();
  }
  expect(complaints).toEqual([]);
});

interface Look {
  width?: number;
  theme?: 'light' | 'dark';
  at?: string;
  isSignedIn?: boolean;
}

/** Opens the built page, under its policy, in front of the fake server. */
async function open({ width = 1280, theme = 'light', at = '', isSignedIn = true }: Look = {}): Promise<Page> {
  const { address } = stage;
  const context = await stage.browser.newContext({ viewport: { width, height: 860 }, colorScheme: theme });
  const page = await context.newPage();
  pages.push(page);
  page.on('console', (entry) => {
    const isExpected = !isSignedIn && entry.text().includes('401');
    if ((entry.type() === 'error' || entry.type() === 'warning') && !isExpected) {
      complaints.push(entry.text());
    }
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    if (!request.url().startsWith(address)) {
      complaints.push(`a request to ${request.url()}`);
    }
  });
  await page.route('**/auth/token', (route) =>
    isSignedIn
      ? route.fulfill({ json: { token: 't', user_id: server.user, device_id: 'device-1' } })
      : route.fulfill({ status: 401, body: '' }),
  );
  await page.routeWebSocket('**/connection/websocket', (socket) => {
    const connection = server.accept(
      (text) => socket.send(text),
      () => void socket.close({ code: 3001, reason: 'dropped' }),
    );
    socket.onMessage((text) => connection.receive(String(text)));
  });
  await page.goto(address + at);
  return page;
}

describe('the page', () => {
  it.each([
    [1280, 'light'],
    [1280, 'dark'],
    [420, 'light'],
    [420, 'dark'],
  ] as const)('looks well at %i pixels, %s', async (width, theme) => {
    fillWithSample(server);
    const page = await open({ width, theme, at: '#session/s-4' });
    await page.getByText('queued').waitFor();
    await shoot(page, `end-${width}-${theme}`);
    expect(await barriers(page)).toEqual([]);
    await page.locator('.scroller').evaluate((element) => (element.scrollTop = 0));
    await shoot(page, `start-${width}-${theme}`);
    await page.locator('.scroller').evaluate((element) => (element.scrollTop = 700));
    await shoot(page, `middle-${width}-${theme}`);
    await page.getByRole('button', { name: 'Files' }).click();
    await page.getByRole('button', { name: 'README.md' }).waitFor();
    await shoot(page, `files-${width}-${theme}`);
    expect(await barriers(page)).toEqual([]);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow).toBe(0);
  });

  it('stays at its end when it becomes wider and narrower, and moves nothing sideways', async () => {
    fillWithSample(server);
    const page = await open({ at: '#session/s-4' });
    await page.getByText('queued').waitFor();
    const scroller = page.locator('.scroller');
    const fromEnd = () =>
      scroller.evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight);
    await expect.poll(fromEnd).toBeLessThan(2);
    for (const width of [420, 1280, 420, 900]) {
      await page.setViewportSize({ width, height: 860 });
      await page.evaluate(
        () =>
          new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(null)))),
      );
      await expect.poll(fromEnd).toBeLessThan(2);
    }
    await page.getByRole('button', { name: 'Files' }).click();
    await page.getByRole('button', { name: 'README.md' }).waitFor();
    await page.setViewportSize({ width: 420, height: 860 });
    for (const name of ['.scroller', '.tree']) {
      const overflow = await page.locator(name).evaluate((element) => getComputedStyle(element).overflowX);
      expect(overflow, name).toBe('hidden');
    }
  });

  it('begins a session, shows text as it streams, and is found again after a reload', async () => {
    const page = await open();
    await page.getByRole('heading', { name: 'What shall be done?' }).waitFor();
    await shoot(page, 'new-1280-light');
    await page.getByLabel('Message').fill('Hello there');
    await page.keyboard.press('Enter');
    await page.locator('.bubble').getByText('Hello there').waitFor();
    const session_id = [...server.sessions.keys()].at(-1)!;
    server.commit({ entity: 'turn', data: turn({ id: 't-9', session_id }) });
    const fields = { id: 'a-1', session_id, global_offset: 2, streaming_status: 'streaming' as const };
    server.commit({ entity: 'message', data: message(fields, { type: 'markdown', data: '' }) });
    server.live(message(fields, { type: 'markdown', data: 'It is *coming' }));
    await page.getByText('It is *coming').waitFor();
    const whole = { ...fields, streaming_status: 'completed' as const };
    server.commit({
      entity: 'message',
      data: message(whole, { type: 'markdown', data: 'It is *coming* now' }),
    });
    server.live(message(fields, { type: 'markdown', data: 'It is *coming' }));
    await page.getByText('It is coming now').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await page.getByLabel('Message').press('Escape');
    await page.getByRole('button', { name: 'Send' }).waitFor();
    expect(server.calls.at(-1)?.method).toBe('v1.turn.stop');
    await page.getByLabel('Message').fill('not sent yet');
    await page.reload();
    await page.getByText('It is coming now').waitFor();
    await expect.poll(() => page.getByLabel('Message').inputValue()).toBe('not sent yet');
  });

  it('decides with the keyboard alone', async () => {
    fillWithSample(server);
    const page = await open({ at: '#session/s-4' });
    const card = page.getByRole('group', { name: 'Approval of write' });
    await card.waitFor();
    await page.keyboard.press('Alt+a');
    await expect.poll(() => card.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.keyboard.press('n');
    await page.getByLabel('Reason').fill('Keep the draft');
    await page.keyboard.press('Enter');
    await page.getByText('Denied on this device: Keep the draft').waitFor();
    expect(server.calls.at(-1)).toEqual({
      method: 'v1.rtc.approve',
      request: { rtc_id: 'r-6', decision: 'reject', reason: 'Keep the draft' },
    });
  });

  it('asks before a mode that asks nothing, also when arrow keys come by', async () => {
    fillWithSample(server);
    const page = await open({ at: '#session/s-4' });
    await page.getByRole('group', { name: 'Approval of write' }).waitFor();
    await page.getByLabel('Mode').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    const question = page.getByRole('alertdialog');
    await question.getByText('A call waits for your Yes now (write)').waitFor();
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    await page.getByLabel('Mode').selectOption('bypass');
    await question.getByText('bypass asks nothing').waitFor();
    for (const width of [1280, 420]) {
      await page.setViewportSize({ width, height: 860 });
      expect(await barriers(page)).toEqual([]);
      await shoot(page, `mode-${width}-light`);
    }
    const sets = () => server.calls.filter(({ method }) => method === 'v1.session.set_mode');
    expect(sets()).toEqual([]);
    await question.getByRole('button', { name: 'Change to bypass' }).click();
    await expect.poll(() => sets().length).toBe(1);
  });

  it('shows all of a long script, the answers in reach, and takes their keys from anywhere', async () => {
    fillWithSample(server);
    const lines = Array.from({ length: 300 }, (_, line) => `const value${line} = '${'long '.repeat(40)}';`);
    const call = server.rtcs.get('r-6')!;
    const preview = { kind: 'code' as const, text: lines.join('\n'), paths: [] };
    server.commit({ entity: 'rtc', data: { ...call, preview } });
    const page = await open({ width: 420, at: '#session/s-4' });
    const card = page.getByRole('group', { name: 'Approval of write' });
    await card.getByRole('button', { name: /more lines: show all/ }).click();
    await page.locator('.scroller').evaluate((element) => (element.scrollTop = 3_000));
    await shoot(page, 'long-420-light');
    const isInView = await card.getByRole('button', { name: 'Allow once' }).evaluate((element) => {
      const { left, top, width, height } = element.getBoundingClientRect();
      return element.contains(document.elementFromPoint(left + width / 2, top + height / 2));
    });
    expect(isInView).toBe(true);
    expect(await barriers(page)).toEqual([]);
    await page.locator('body').press('s');
    await page.getByText('Allowed for this session on this device').waitFor();
  });

  it('keeps the text of a file that was not saved beyond a reload', async () => {
    fillWithSample(server);
    const page = await open({ at: '#session/s-4' });
    const openFile = async () => {
      await page.getByRole('button', { name: 'Files' }).click();
      await page.getByRole('button', { name: 'README.md' }).click();
    };
    await openFile();
    await page.getByLabel('Text of /README.md').fill('not saved');
    await page.waitForTimeout(200);
    await page.reload();
    await openFile();
    await expect.poll(() => page.getByLabel('Text of /README.md').inputValue()).toBe('not saved');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('button', { name: 'Saved' }).waitFor();
  });

  it('says that there is no such session, and leads back', async () => {
    server.handlers['v1.message.list'] = () => {
      throw new Refusal('session.not_found', 'there is no session of this id');
    };
    const page = await open({ at: '#session/nonsense' });
    await page.getByRole('heading', { name: 'There is no such session' }).waitFor();
    await page.getByRole('button', { name: 'Begin a new session' }).click();
    await page.getByRole('heading', { name: 'What shall be done?' }).waitFor();
  });

  it('shows an answer that was given elsewhere, and says that the line is back', async () => {
    fillWithSample(server);
    const page = await open({ at: '#session/s-4' });
    await page.getByRole('group', { name: 'Approval of write' }).waitFor();
    server.dropAll();
    await page.getByText('Reconnecting').waitFor();
    const call = server.rtcs.get('r-6')!;
    server.commit({
      entity: 'rtc',
      data: {
        ...call,
        status: 'executing',
        approval: { ...call.approval!, state: 'approved', decision: 'once', decided_by: 'device-2' },
      },
    });
    await page.getByText('Allowed once on another device (device-2)').waitFor();
    await page.getByText('Connected', { exact: true }).waitFor();
  });

  it('answers questions and resolves an unknown outcome', async () => {
    fillWithSample(server);
    const page = await open({ at: '#session/s-4' });
    await page.getByLabel('Markdown').check();
    await page.getByText('# Visit').waitFor();
    await page.getByLabel('Wishes').check();
    await page.getByLabel('Own answer to: What belongs into it?').fill('The sign');
    await page.getByRole('button', { name: 'Answer' }).click();
    await expect
      .poll(() => server.calls.filter(({ method }) => method === 'v1.rtc.submit_result').at(-1)?.request)
      .toMatchObject({
        result: {
          answers: {
            'Which format shall the notes have?': 'Markdown',
            'What belongs into it?': 'Wishes, The sign',
          },
        },
      });
    await page.getByRole('button', { name: 'Let the model look' }).click();
    await expect
      .poll(() => server.calls.filter(({ method }) => method === 'v1.rtc.resolve'))
      .toEqual([{ method: 'v1.rtc.resolve', request: { rtc_id: 'r-8', decision: 'tell' } }]);
  });

  it('saves a file, and tells when somebody else was faster', async () => {
    fillWithSample(server);
    const page = await open({ at: '#session/s-4' });
    await page.getByRole('button', { name: 'Files' }).click();
    await page.getByRole('button', { name: 'README.md' }).click();
    const text = page.getByLabel('Text of /README.md');
    await text.waitFor();
    expect(server.calls.filter(({ method }) => method === 'v1.fs.list')).toHaveLength(1);
    await text.fill('mine');
    await page.keyboard.press('Control+s');
    await page.getByRole('button', { name: 'Saved' }).waitFor();
    const write = server.handlers['v1.fs.write']!;
    const read = server.handlers['v1.fs.read']!;
    const { hash } = read({ project_id: 'project-1', path: '/README.md' });
    write({ project_id: 'project-1', path: '/README.md', content: 'theirs', base_hash: hash });
    await text.fill('mine again');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('since you opened it').waitFor();
    await shoot(page, 'conflict-1280-light');
    await page.getByRole('button', { name: 'Overwrite with mine' }).click();
    await page.getByRole('button', { name: 'Saved' }).waitFor();
    expect(read({ project_id: 'project-1', path: '/README.md' }).content).toBe('mine again');
  });

  it('streams with at most one layout a frame, and nothing above moves', async () => {
    fillWithSample(server);
    const page = await open({ at: '#session/s-3' });
    const session_id = 's-3';
    for (let number = 1; number <= 150; number++) {
      const fields = { id: `old-${number}`, session_id, global_offset: number };
      const data = `Paragraph **${number}**\n\n* one\n* two\n`;
      server.commit({ entity: 'message', data: message(fields, { type: 'markdown', data }) });
    }
    const fields = { id: 'new', session_id, global_offset: 151, streaming_status: 'streaming' as const };
    server.commit({ entity: 'message', data: message(fields, { type: 'markdown', data: '' }) });
    await page.getByText('Paragraph 150').waitFor();
    await page.evaluate(() => new Promise((resolve) => requestIdleCallback(resolve)));

    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Performance.enable');
    const metrics = async () => {
      const { metrics } = await devtools.send('Performance.getMetrics');
      return new Map(metrics.map(({ name, value }) => [name, value]));
    };
    await page.evaluate(() => {
      const counter = globalThis as unknown as { frames: number };
      counter.frames = 0;
      const count = () => {
        counter.frames++;
        requestAnimationFrame(count);
      };
      requestAnimationFrame(count);
    });
    const before = await metrics();
    let text = '';
    for (let token = 0; token < 400; token++) {
      text += token % 40 === 39 ? '\n\n' : ` word${token}`;
      server.live(message(fields, { type: 'markdown', data: text }));
      if (token % 2 === 1) {
        await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
      }
    }
    await page.getByText('word398').waitFor();
    const after = await metrics();
    const frames = await page.evaluate(() => (globalThis as unknown as { frames: number }).frames);
    const grown = (name: string) => after.get(name)! - before.get(name)!;
    const [script, style, layout] = ['ScriptDuration', 'RecalcStyleDuration', 'LayoutDuration'].map((name) =>
      ((grown(name) * 1_000) / frames).toFixed(2),
    );
    console.log(
      `${frames} frames, ${grown('LayoutCount')} layouts; a frame: script ${script} ms, style ${style} ms, layout ${layout} ms`,
    );
    expect(grown('LayoutCount')).toBeLessThanOrEqual(frames + 2);
    const distance = await page
      .locator('.scroller')
      .evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight);
    expect(distance).toBeLessThan(2);
  });

  it('says what to do when it is signed out', async () => {
    const page = await open({ isSignedIn: false });
    await page.getByRole('heading', { name: 'This page is signed out' }).waitFor();
    await shoot(page, 'signed-out-1280-light');
  });
});
