import { flushSync } from 'svelte';
import { describe, expect, it, vi } from 'vitest';

import type { App } from '../state/app.svelte';
import { button, find, press, show, type } from '../testing/dom';
import Composer from './Composer.svelte';
import ModeSwitch from './ModeSwitch.svelte';
import Said from './Said.svelte';

describe('the composer', () => {
  function compose(more: { isBusy?: boolean; obstacle?: string } = {}) {
    const app = {
      selected: 's-1',
      signIn: null,
      drafts: { get: () => Promise.resolve('kept'), put: vi.fn(() => Promise.resolve()) },
      send: vi.fn(() => Promise.resolve()),
      tell: vi.fn(),
      attempt: vi.fn(async (action: () => Promise<unknown>) => {
        await action();
        return true;
      }),
    };
    const stop = vi.fn();
    const props = {
      app: app as unknown as App,
      project_id: null,
      isBusy: false,
      obstacle: null,
      stop,
      ...more,
    };
    show(Composer, props);
    return { app, stop, field: find<HTMLTextAreaElement>('textarea') };
  }

  it('sends by Enter, but not while an input method composes, and not by Shift+Enter', () => {
    const { app, field } = compose();
    type(field, '你好');
    expect(press(field, 'Enter', { isComposing: true })).toBe(false);
    expect(press(field, 'Enter', { keyCode: 229 })).toBe(false);
    expect(press(field, 'Enter', { shiftKey: true })).toBe(false);
    expect(app.send).not.toHaveBeenCalled();
    expect(press(field, 'Enter')).toBe(true);
    expect(app.send).toHaveBeenCalledExactlyOnceWith('你好', null, null);
  });

  it('takes the text at once when it is sent, so that what is typed meanwhile is another message', async () => {
    const { app, field } = compose();
    let answered = () => {};
    app.send.mockImplementation(() => new Promise<void>((resolve) => (answered = resolve)));
    type(field, 'first');
    press(field, 'Enter');
    expect(field.value).toBe('');
    type(field, 'xyz');
    press(field, 'Enter');
    expect(app.send).toHaveBeenCalledOnce();
    answered();
    await new Promise((resolve) => setTimeout(resolve));
    flushSync();
    expect(field.value).toBe('xyz');
    press(field, 'Enter');
    expect(app.send).toHaveBeenLastCalledWith('xyz', null, null);
    expect(app.drafts.put).toHaveBeenLastCalledWith('s-1', 'xyz');
  });

  it('gives the text back if it was not sent, and nothing else was typed', async () => {
    const { app, field } = compose();
    app.attempt.mockImplementation(() => Promise.resolve(false));
    type(field, 'first');
    press(field, 'Enter');
    await new Promise((resolve) => setTimeout(resolve));
    flushSync();
    expect(field.value).toBe('first');
    press(field, 'Enter');
    type(field, 'second');
    await new Promise((resolve) => setTimeout(resolve));
    flushSync();
    expect(field.value).toBe('second');
    expect(app.tell).toHaveBeenCalledExactlyOnceWith('Not sent: first', true);
  });

  it('begins with the draft of the session and keeps what is typed', async () => {
    const { app, field } = compose();
    await Promise.resolve();
    flushSync();
    expect(field.value).toBe('kept');
    type(field, 'more');
    expect(app.drafts.put).toHaveBeenLastCalledWith('s-1', 'more');
  });

  it('stops while a turn runs and nothing is typed', () => {
    const { stop, field } = compose({ isBusy: true });
    button('Stop').click();
    expect(stop).toHaveBeenCalledOnce();
    type(field, 'next');
    expect(button('Stop')).toBeUndefined();
    expect(button('Send').disabled).toBe(false);
  });

  it('sends nothing where nothing can be sent', () => {
    const { app, field } = compose({ obstacle: 'This session is closed' });
    expect(field.placeholder).toBe('This session is closed');
    type(field, 'x');
    press(field, 'Enter');
    expect(app.send).not.toHaveBeenCalled();
  });
});

describe('the mode', () => {
  function choose(value: string): void {
    const select = find<HTMLSelectElement>('select');
    select.value = value;
    select.dispatchEvent(new Event('change', { bubbles: true }));
    flushSync();
  }

  it('that asks nothing is set after a Yes only, which says what waits', async () => {
    const set = vi.fn(() => Promise.resolve(true));
    show(ModeSwitch, { mode: 'edit' as const, waiting: ['script', 'edit'], set });
    choose('bypass');
    expect(set).not.toHaveBeenCalled();
    expect(find<HTMLSelectElement>('select').value).toBe('edit');
    expect(find('[role=alertdialog]').textContent).toMatch(/2 calls wait.*script, edit.*runs at once/s);
    press(find('[role=alertdialog] button'), 'Escape');
    expect(document.querySelector('[role=alertdialog]')).toBeNull();
    expect(set).not.toHaveBeenCalled();
    choose('bypass');
    button('Change to bypass').click();
    expect(set).toHaveBeenCalledExactlyOnceWith('bypass');
  });

  it('is asked about where it would run what waits, and only there', () => {
    const set = vi.fn(() => Promise.resolve(true));
    show(ModeSwitch, { mode: 'manual' as const, waiting: ['edit'], set });
    choose('edit');
    expect(set).not.toHaveBeenCalled();
    button('Keep manual').click();
    flushSync();
    choose('plan');
    expect(set).toHaveBeenCalledExactlyOnceWith('plan');
  });

  it('of a new session may be left to the server', () => {
    const set = vi.fn(() => Promise.resolve(true));
    show(ModeSwitch, { mode: null, set });
    expect(find<HTMLSelectElement>('select').value).toBe('');
    choose('manual');
    expect(set).toHaveBeenCalledExactlyOnceWith('manual');
  });
});

describe('what was said', () => {
  it('is folded where it is very long', () => {
    show(Said, { text: 'x'.repeat(100_000) });
    expect(document.body.textContent!.length).toBeLessThan(5_000);
    button('Show').click();
    flushSync();
    expect(document.body.textContent!.length).toBeGreaterThan(100_000);
  });
});
