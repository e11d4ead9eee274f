import { mkdir } from 'node:fs/promises';

import axe from 'axe-core';
import { chromium, type Browser, type Page } from 'playwright-core';
import { preview } from 'vite';

const screenshots = new URL('../screenshots/', import.meta.url).pathname;

/** The built page, served under its policy, and a browser to look at it. */
export interface Stage {
  browser: Browser;
  address: string;
  close(): Promise<void>;
}

/** Serves what was built, and starts a browser. */
export async function startStage(): Promise<Stage> {
  await mkdir(screenshots, { recursive: true });
  const served = await preview({ preview: { port: 0, host: '127.0.0.1' } });
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  });
  return {
    browser,
    address: served.resolvedUrls!.local[0]!,
    close: async () => {
      await browser.close();
      await served.close();
    },
  };
}

/** What is wrong for people who see little or use the keyboard. */
export async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run();
    return violations.flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`),
    );
  });
}

/** Makes a picture for people to look at. */
export async function shoot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: `${screenshots}${name}.png` });
}
