// A person before the page, on a real engine. `tests/page` starts it with the address that `serve` printed and the
// project's folder; on stdout it tells what it does, and asks for `kill` and `start` of the server.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import axe from 'axe-core';
import { chromium } from 'playwright-core';

const [address, project] = process.argv.slice(2);
const screenshots = new URL('../screenshots/', import.meta.url).pathname;
const visit = join(project, 'docs/visit.txt');

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
/** Lets the test do something with the server. */
async function server(word) {
  console.log(word);
  assert.equal((await answers.next()).value, 'done');
}

await mkdir(screenshots, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, locale: 'en-GB' });
context.setDefaultTimeout(60_000);

/** What the browser complains of, and what it asks of others. A server that was killed is no complaint. */
const complaints = [];
let isServerThere = true;
async function newPage() {
  const page = await context.newPage();
  page.on('console', (entry) => {
    const isOfLine = !isServerThere && /WebSocket|ERR_CONNECTION|Failed to load/.test(entry.text());
    if (['error', 'warning'].includes(entry.type()) && !isOfLine) {
      complaints.push(entry.text());
    }
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    if (new URL(request.url()).host !== new URL(address).host) {
      complaints.push(`a request to ${request.url()}`);
    }
  });
  return page;
}

async function say(page, text) {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.keyboard.press('Enter');
}

/** Waits until nothing goes on any more. */
const idle = (page) => page.getByRole('button', { name: 'Send' }).waitFor();
/** What is said in the conversation itself; it is read out as well. */
const said = (page, text) => page.locator('.entry').getByText(text);
const card = (page, name) => page.getByRole('article', { name });
const approval = (page) => page.getByRole('group', { name: 'Approval of edit' });
const connected = (page) => page.getByText('Connected', { exact: true }).waitFor({ state: 'attached' });
const bubbles = (page) => page.locator('.bubble .said').allTextContents();

/** What keeps people out who see little or use the keyboard. */
async function barriers(page) {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { violations } = await globalThis.axe.run();
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}`));
  });
}

/** Pictures for people to look at, in every width and theme, with nothing that hangs over the edge. */
async function shoot(page, name) {
  for (const width of [1280, 420]) {
    for (const colorScheme of ['light', 'dark']) {
      await page.setViewportSize({ width, height: 860 });
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${screenshots}${name}-${width}-${colorScheme}.png` });
      assert.deepEqual(await barriers(page), []);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.equal(overflow, 0, `${name} at ${width}`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 860 });
  await page.emulateMedia({ colorScheme: 'light' });
}

async function work() {
  const page = await newPage();

  console.log('the printed address opens the page, and signs one browser in');
  await page.goto(address);
  await page.getByRole('heading', { name: 'What shall be done?' }).waitFor();
  assert.equal(new URL(page.url()).pathname, '/');
  await connected(page);
  const stranger = await browser.newContext();
  const elsewhere = await stranger.newPage();
  await elsewhere.goto(address);
  await elsewhere.getByRole('heading', { name: 'This address was used already' }).waitFor();
  await elsewhere.goto(new URL('/', address).href);
  await elsewhere.getByRole('heading', { name: 'Not signed in' }).waitFor();
  await stranger.close();
  await page.goto(address);
  await page.getByRole('heading', { name: 'What shall be done?' }).waitFor();

  console.log('a message is sent, calls and formatted text appear');
  await say(page, 'Where do the notes say colour?');
  await said(page, 'I look for it.').waitFor();
  await card(page, 'grep colour in /docs: done').waitFor();
  await card(page, 'read /docs/visit.txt: done').waitFor();
  await page.getByRole('cell', { name: 'docs/changes.txt' }).waitFor();
  await page.getByRole('heading', { name: 'What I would do' }).waitFor();
  await idle(page);
  assert.equal(await page.locator('.markdown img').count(), 0);

  console.log('the mode is switched');
  await page.getByLabel('Mode').selectOption('manual');
  await page.locator('.shown').getByText('manual').waitFor();

  console.log('an edit waits with its difference, is allowed with a key, and is done');
  await say(page, 'Correct the visit');
  await approval(page).waitFor();
  await page.getByText('+They want the front in a warm color, between brick and chalk.').waitFor();
  assert.match(await readFile(visit, 'latin1'), /warm colour/);
  await shoot(page, 'engine-approval');
  await page.keyboard.press('Alt+a');
  await page.keyboard.press('y');
  await card(page, 'edit /docs/visit.txt: done').waitFor();
  await said(page, 'It is corrected.').waitFor();
  await idle(page);
  assert.match(await readFile(visit, 'latin1'), /warm color,/);

  console.log('an approval is still open after a reload, and another window sees who answered');
  await say(page, 'Say who it was');
  await approval(page).waitFor();
  await page.reload();
  await approval(page).waitFor();
  const other = await newPage();
  await other.goto(page.url());
  await approval(other).waitFor();
  await other.getByRole('button', { name: 'Deny…' }).click();
  await other.getByLabel('Reason').fill('It was her daughter');
  await other.getByRole('button', { name: 'Deny', exact: true }).click();
  await page.getByText('Denied on this device: It was her daughter').waitFor();
  await said(page, 'Then it stays as it is.').waitFor();
  await approval(page).waitFor({ state: 'detached' });
  await idle(page);

  console.log('questions are answered, in either window');
  await say(other, 'Ask me');
  await page.getByLabel('Markdown').check();
  await page.getByText('# Visit').waitFor();
  await page.getByLabel('Wishes').check();
  await page.getByLabel('Own answer to: What belongs into it?').fill('The sign');
  await shoot(page, 'engine-question');
  await page.getByRole('button', { name: 'Answer' }).click();
  await said(other, 'Good to know; I go on with that.').waitFor();
  await card(other, 'askUser : done').getByText('Wishes, The sign').waitFor();
  await idle(other);

  console.log('text appears as it streams, and Esc stops it');
  await say(page, 'Tell me a story');
  await said(page, 'It had a sign').waitFor();
  assert.equal(await page.locator('.markdown strong').last().textContent(), 'paint shop');
  await page.getByLabel('Message', { exact: true }).press('Escape');
  await said(page, 'Stopped').waitFor();
  await idle(page);
  await idle(other);

  console.log('the server is killed under an open approval, and nothing is missed or twice');
  await say(page, 'Forget the chalk');
  await approval(page).waitFor();
  const before = await bubbles(page);
  const cards = await page.getByRole('article').count();
  isServerThere = false;
  await server('kill');
  await page.getByText('Reconnecting').waitFor();
  await page.getByLabel('Message', { exact: true }).fill('not sent yet');
  await server('start');
  await connected(page);
  await connected(other);
  isServerThere = true;
  await approval(page).waitFor();
  assert.deepEqual(await bubbles(page), before);
  assert.equal(await page.getByRole('article').count(), cards);
  assert.equal(await page.getByLabel('Message', { exact: true }).inputValue(), 'not sent yet');
  await page.getByRole('button', { name: 'Allow once' }).click();
  await said(page, 'It is corrected.').nth(1).waitFor();
  await idle(page);
  await say(page, 'Are you there?');
  for (const shown of [page, other]) {
    await said(shown, 'Yes, as before.').waitFor();
    await idle(shown);
    assert.deepEqual(await bubbles(shown), [...before, 'Are you there?']);
    assert.equal(await said(shown, 'Yes, as before.').count(), 1);
  }
  await other.close();

  console.log('a file is opened, edited and saved, and a conflict is told');
  await page.getByRole('button', { name: 'Files' }).click();
  await page.getByRole('button', { name: 'docs' }).click();
  await page.getByRole('button', { name: 'visit.txt' }).click();
  const text = page.getByLabel('Text of /docs/visit.txt');
  await text.waitFor();
  assert.match(await text.inputValue(), /Café de la Place/);
  await text.fill((await text.inputValue()).replace('Thursday', 'Friday'));
  await page.keyboard.press('Control+s');
  await page.getByRole('button', { name: 'Saved' }).waitFor();
  const saved = await readFile(visit, 'latin1');
  assert.match(saved, /Café de la Place, Friday/);
  await writeFile(visit, saved.replace('Friday', 'Saturday'), 'latin1');
  await text.fill((await text.inputValue()).replace('Friday', 'Sunday'));
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('since you opened it').waitFor();
  assert.match(await readFile(visit, 'latin1'), /Saturday/);
  await shoot(page, 'engine-files');
  await page.getByRole('button', { name: 'Overwrite with mine' }).click();
  await page.getByRole('button', { name: 'Saved' }).waitFor();
  assert.match(await readFile(visit, 'latin1'), /Café de la Place, Sunday/);
  await page.getByRole('button', { name: 'Files' }).click();

  console.log('a session is renamed, and another one is deleted');
  await page.getByRole('button', { name: 'Rename or delete Where do the notes' }).click();
  await page.getByLabel('Title').fill('The visit');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1 }).getByText('The visit').waitFor();
  await page.getByRole('button', { name: 'New session' }).click();
  await say(page, 'Are you there?');
  await said(page, 'Yes, as before.').waitFor();
  await idle(page);
  await page.getByRole('button', { name: 'Rename or delete Are you there?' }).click();
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('“Are you there?” was deleted.').waitFor();
  await page.getByRole('heading', { name: 'What shall be done?' }).waitFor();
}

try {
  await work();
  assert.deepEqual(complaints, []);
} catch (error) {
  for (const [number, page] of context.pages().entries()) {
    await page.screenshot({ path: `${screenshots}engine-failed-${number}.png` });
  }
  console.error(complaints);
  throw error;
}
await browser.close();
process.exit();
