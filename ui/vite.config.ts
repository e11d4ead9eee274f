import { gzipSync } from 'node:zlib';

import { svelte } from '@sveltejs/vite-plugin-svelte';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

/** What the server sends with the page; the built page is tried under it. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The most bytes, gzipped, of all that a browser has to have before it shows anything of the product. */
const MAX_BEFORE_FIRST_PAINT = 250_000;

/** Fails a build of which too much is needed before the first paint: entries, what they load at once, and styles. */
const firstPaint: Plugin = {
  name: 'first-paint',
  generateBundle(_, bundle) {
    const needed = new Set<string>();
    const need = (name: string) => {
      const file = bundle[name];
      if (file?.type === 'chunk' && !needed.has(name)) {
        needed.add(name);
        file.imports.forEach(need);
      }
    };
    for (const [name, file] of Object.entries(bundle)) {
      if (file.type === 'chunk' && file.isEntry) {
        need(name);
        file.dynamicImports.forEach(need);
      } else if (name.endsWith('.css')) {
        needed.add(name);
      }
    }
    const sizes = [...needed].map((name) => {
      const file = bundle[name]!;
      return gzipSync(file.type === 'chunk' ? file.code : file.source).length;
    });
    const size = sizes.reduce((sum, bytes) => sum + bytes, 0);
    if (size > MAX_BEFORE_FIRST_PAINT) {
      this.error(`${size} bytes before the first paint, ${MAX_BEFORE_FIRST_PAINT} are the limit`);
    }
    this.info(`${size} bytes before the first paint`);
  },
};

export default defineConfig({
  plugins: [svelte(), firstPaint],
  build: {
    target: 'es2022',
    // Nothing is inlined: a `data:` script or style would be refused by the policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  preview: { headers: { 'Content-Security-Policy': contentSecurityPolicy } },
  test: {
    projects: [
      {
        extends: true,
        resolve: { conditions: ['browser'] },
        test: {
          name: 'unit',
          environment: 'jsdom',
          include: ['src/**/*.test.ts'],
          setupFiles: ['src/testing/setup.ts'],
          // Timers are fake; this is for a machine that is busy with something else.
          testTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          environment: 'node',
          include: ['tests/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
