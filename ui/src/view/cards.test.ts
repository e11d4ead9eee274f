import { flushSync, mount, unmount, type Component } from 'svelte';
import { afterEach, describe, expect, it, vi } from 'vitest';

import type { App } from '../state/app.svelte';
import { rtc } from '../testing/entities';
import type { Rtc } from '../wire/generated';
import ApprovalCard from './ApprovalCard.svelte';
import Composer from './Composer.svelte';
import QuestionCard from './QuestionCard.svelte';
import UnknownOutcomeCard from './UnknownOutcomeCard.svelte';

const mounted: object[] = [];

afterEach(async () => {
  for (const component of mounted.splice(0)) {
    await unmount(component);
  }
  document.body.replaceChildren();
});

function show<Props extends Record<string, unknown>>(component: Component<Props>, props: Props): void {
  mounted.push(mount(component, { target: document.body, props }));
  flushSync();
}

function find<E extends HTMLElement>(selector: string): E {
  const element = document.querySelector<E>(selector);
  if (!element) {
    throw new Error(`there is no ${selector} in ${document.body.innerHTML}`);
  }
  return element;
}

function button(name: string): HTMLButtonElement {
  return [...document.querySelectorAll('button')].find((button) => button.textContent?.includes(name))!;
}

function press(element: Element, key: string, more: KeyboardEventInit = {}): boolean {
  const isLeft = element.dispatchEvent(
    new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }),
  );
  flushSync();
  return !isLeft;
}

function type(element: HTMLInputElement | HTMLTextAreaElement, text: string): void {
  element.value = text;
  element.dispatchEvent(new Event('input', { bubbles: true }));
  flushSync();
}

const waiting = (fields: Partial<Rtc> = {}): Rtc =>
  rtc({
    id: 'r-1',
    session_id: 's-1',
    tool_name: 'script',
    parameters: { code: 'let a = 1;' },
    approval: {
      state: 'open',
      why: 'A script',
      decision: null,
      reason: null,
      decided_at: null,
      decided_by: null,
    },
    preview: {
      kind: 'code',
      text: 'let a = 1; //\u202e evil',
      paths: ['/a.txt'],
      program: { digest: 'd', params: { n: 7 } },
    },
    ...fields,
  });

describe('an approval', () => {
  it('shows all that would run: code, parameters and paths, with nothing hidden in it', () => {
    show(ApprovalCard, { rtc: waiting(), decide: () => Promise.resolve() });
    const text = document.body.textContent!;
    expect(text).toContain('let a = 1; //⟨U+202E⟩ evil');
    expect(text).toContain('"n": 7');
    expect(text).toContain('/a.txt');
  });

  it.each([
    ['y', 'once'],
    ['s', 'session'],
    ['p', 'project'],
    ['Y', 'once'],
  ])('the key %s answers %s', (key, decision) => {
    const decide = vi.fn(() => Promise.resolve());
    show(ApprovalCard, { rtc: waiting(), decide });
    press(find('[role=group]'), key);
    expect(decide).toHaveBeenCalledExactlyOnceWith(decision, '');
  });

  it('a no takes a reason, in which the keys are letters', async () => {
    const decide = vi.fn(() => Promise.resolve());
    show(ApprovalCard, { rtc: waiting(), decide });
    press(find('[role=group]'), 'n');
    const field = find<HTMLInputElement>('input');
    await Promise.resolve();
    expect(document.activeElement).toBe(field);
    press(field, 'y');
    expect(decide).not.toHaveBeenCalled();
    type(field, ' not now ');
    press(field, 'Enter', { isComposing: true });
    expect(decide).not.toHaveBeenCalled();
    press(field, 'Enter');
    expect(decide).toHaveBeenCalledExactlyOnceWith('reject', 'not now');
  });

  it('is answered once, and not by keys that mean something else', async () => {
    let answered = () => {};
    const decide = vi.fn(() => new Promise<void>((resolve) => (answered = resolve)));
    show(ApprovalCard, { rtc: waiting(), decide });
    const card = find('[role=group]');
    press(card, 's', { ctrlKey: true });
    press(card, 'y', { repeat: true });
    expect(decide).not.toHaveBeenCalled();
    press(card, 'y');
    press(card, 'p');
    button('Allow once').click();
    expect(decide).toHaveBeenCalledOnce();
    answered();
    await Promise.resolve();
  });
});

describe('a question', () => {
  const asked = rtc({
    id: 'r-1',
    session_id: 's-1',
    tool_name: 'askUser',
    parameters: {
      questions: [
        {
          question: 'Which one?',
          header: 'Which',
          options: [
            { label: 'A', description: 'first', preview: 'looks like a' },
            { label: 'B', description: 'second' },
          ],
        },
        {
          question: 'What?',
          header: 'What',
          multiSelect: true,
          options: [
            { label: 'X', description: '' },
            { label: 'Y', description: '' },
          ],
        },
      ],
    },
  });

  it('can be answered as soon as one part is, and shows the preview of the choice', () => {
    const submit = vi.fn(() => Promise.resolve());
    show(QuestionCard, { rtc: asked, submit });
    expect(button('Answer').disabled).toBe(true);
    find('input[type=radio]').click();
    flushSync();
    expect(document.body.textContent).toContain('looks like a');
    button('Answer').click();
    expect(submit).toHaveBeenCalledExactlyOnceWith({
      answers: { 'Which one?': 'A' },
      annotations: { 'Which one?': { preview: 'looks like a' } },
    });
  });

  it('takes a choice back when it is chosen again', () => {
    show(QuestionCard, { rtc: asked, submit: () => Promise.resolve() });
    const first = find<HTMLInputElement>('input[type=radio]');
    first.click();
    flushSync();
    expect(button('Answer').disabled).toBe(false);
    first.click();
    flushSync();
    expect(first.checked).toBe(false);
    expect(button('Answer').disabled).toBe(true);
  });

  it('takes several choices and own words together', () => {
    const submit = vi.fn(() => Promise.resolve());
    show(QuestionCard, { rtc: asked, submit });
    for (const box of document.querySelectorAll<HTMLInputElement>('input[type=checkbox]')) {
      box.click();
      flushSync();
    }
    type(find('[aria-label="Own answer to: What?"]'), 'Z');
    button('Answer').click();
    expect(submit).toHaveBeenCalledExactlyOnceWith({ answers: { 'What?': 'X, Y, Z' } });
  });

  it('can be declined', () => {
    const submit = vi.fn(() => Promise.resolve());
    show(QuestionCard, { rtc: asked, submit });
    button('Decline').click();
    expect(submit).toHaveBeenCalledExactlyOnceWith(null);
  });
});

describe('an unknown outcome', () => {
  it.each([
    ['Run it again', 'retry'],
    ['It is done', 'done'],
    ['Let the model look', 'tell'],
  ])('“%s” resolves it by %s', (name, decision) => {
    const resolve = vi.fn(() => Promise.resolve());
    show(UnknownOutcomeCard, { rtc: waiting({ error_message: 'The file differs.' }), resolve });
    expect(document.body.textContent).toContain('The file differs.');
    button(name).click();
    expect(resolve).toHaveBeenCalledExactlyOnceWith(decision);
  });
});

describe('the composer', () => {
  function compose(more: { isBusy?: boolean; obstacle?: string } = {}) {
    const app = {
      selected: 's-1',
      signIn: null,
      draft: () => Promise.resolve('kept'),
      setDraft: vi.fn(() => Promise.resolve()),
      send: vi.fn(() => Promise.resolve()),
      attempt: async (action: () => Promise<unknown>) => {
        await action();
        return true;
      },
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
    expect(app.send).toHaveBeenCalledExactlyOnceWith('你好', null);
  });

  it('begins with the draft of the session and keeps what is typed', async () => {
    const { app, field } = compose();
    await Promise.resolve();
    flushSync();
    expect(field.value).toBe('kept');
    type(field, 'more');
    expect(app.setDraft).toHaveBeenLastCalledWith('s-1', 'more');
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
