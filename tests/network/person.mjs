// A person before the page: opens the address, says something, allows a call, reads the answer. Whatever the page asks
// of another server than its own is a failure; what the browser asks by itself is not of the page and not counted.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const { chromium } = createRequire(`${process.cwd()}/package.json`)('playwright-core');

const [address, text, heard, tool] = process.argv.slice(2);
const own = new URL(address).host;

const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
const page = await browser.newPage({ locale: 'en-GB' });
page.setDefaultTimeout(60_000);

const asked = [];
const note = ({ url }) => {
  const { protocol, host } = new URL(url);
  // What is in the page already, and goes nowhere.
  if (protocol !== 'data:' && protocol !== 'blob:') {
    asked.push(host);
  }
};
page.on('request', (request) => note({ url: request.url() }));
page.on('websocket', (socket) => note({ url: socket.url() }));

await page.goto(address);
await page.getByText('Connected', { exact: true }).waitFor({ state: 'attached' });
await page.getByLabel('Message', { exact: true }).fill(text);
await page.keyboard.press('Enter');
if (tool) {
  await page
    .getByRole('group', { name: `Approval of ${tool}` })
    .getByRole('button', { name: 'Allow once' })
    .click();
}
await page.locator('.entry').getByText(heard).first().waitFor();
await page.getByRole('button', { name: 'Send' }).waitFor();
assert.ok(asked.length > 2, 'the requests of the page are seen');
assert.deepEqual(
  asked.filter((host) => host !== own),
  [],
);
await browser.close();
process.exit();
