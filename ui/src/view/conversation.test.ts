import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { App } from '../state/app.svelte';
import type { Conversation } from '../state/conversation.svelte';
import { find, show } from '../testing/dom';
import ConversationView from './Conversation.svelte';

/** What the page looks like; nothing has a size here by itself. */
let size: { scrollTop: number; scrollHeight: number; clientHeight: number; clientWidth: number };
let resized: () => void;
let frames: (() => void)[];

beforeEach(() => {
  frames = [];
  vi.stubGlobal('requestAnimationFrame', (frame: () => void) => frames.push(frame));
  vi.stubGlobal(
    'ResizeObserver',
    class {
      constructor(told: () => void) {
        resized = told;
      }
      observe(): void {}
      disconnect(): void {}
    },
  );
  const conversation = { entries: [], waiting: [], hasEarlier: false, isBusy: false };
  const app = { submits: new Map() };
  show(ConversationView, {
    app: app as unknown as App,
    conversation: conversation as unknown as Conversation,
  });
  size = { scrollTop: 0, scrollHeight: 3_000, clientHeight: 500, clientWidth: 420 };
  for (const name of Object.keys(size) as (keyof typeof size)[]) {
    Object.defineProperty(find('.scroller'), name, {
      get: () => size[name],
      set: (value: number) => (size[name] = Math.min(value, size.scrollHeight - size.clientHeight)),
    });
  }
  resized();
  scrolled(2_500);
});

afterEach(() => vi.unstubAllGlobals());

function scrolled(scrollTop: number): void {
  size.scrollTop = scrollTop;
  find('.scroller').dispatchEvent(new Event('scroll'));
}

describe('a conversation', () => {
  it('is followed at its end, until its reader goes up', () => {
    size.scrollHeight = 4_000;
    resized();
    expect(size.scrollTop).toBe(3_500);
    scrolled(3_500);
    scrolled(3_000);
    size.scrollHeight = 5_000;
    resized();
    expect(size.scrollTop).toBe(3_000);
    scrolled(4_490);
    resized();
    expect(size.scrollTop).toBe(4_500);
  });

  it('stays at its end when its column becomes another one', () => {
    // Wider, so that the text is shorter, and then less so, because the list stands beside it.
    Object.assign(size, { clientWidth: 1_020, scrollHeight: 2_000 });
    scrolled(1_200);
    resized();
    expect(size.scrollTop).toBe(1_500);
  });

  it('stays at its end when the window becomes another one and back in one frame', () => {
    window.dispatchEvent(new Event('resize'));
    scrolled(2_000);
    frames.forEach((frame) => frame());
    expect(size.scrollTop).toBe(2_500);
  });
});
