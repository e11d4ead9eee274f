import { flushSync } from 'svelte';
import { describe, expect, it, vi } from 'vitest';

import { button, find, press, show, type } from '../testing/dom';
import { rtc, waiting } from '../testing/entities';
import ApprovalCard from './ApprovalCard.svelte';
import QuestionCard from './QuestionCard.svelte';
import UnknownOutcomeCard from './UnknownOutcomeCard.svelte';

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

describe('an approval of what cannot be shown', () => {
  const words = { kind: 'text', text: 'The folder is not there.', paths: [] } as const;

  it('shows what the call says itself, and can be refused only', () => {
    const decide = vi.fn(() => Promise.resolve());
    show(ApprovalCard, { rtc: waiting({ preview: { ...words, paths: [] } }), decide });
    expect(document.body.textContent).toContain('The folder is not there.');
    expect(document.body.textContent).toContain('let a = 1;');
    expect(document.body.textContent).toContain('cannot be allowed');
    expect(button('Allow once')).toBeUndefined();
    for (const key of ['y', 's', 'p']) {
      press(find('[role=group]'), key);
    }
    expect(decide).not.toHaveBeenCalled();
    expect(button('Deny')).toBeDefined();
  });

  it('is not looked at again where it is a program that was only named', () => {
    const parameters = { title: 'Count', action: 'run', path: '/count.js' };
    show(ApprovalCard, { rtc: waiting({ parameters, preview: { ...words, paths: [] } }), decide: vi.fn() });
    expect(button('Look again')).toBeUndefined();
    expect(button('Deny')).toBeDefined();
  });

  it('is looked at again, and can be allowed once it can be shown', async () => {
    const look = vi.fn(() => Promise.resolve({ kind: 'code' as const, text: 'the real code', paths: [] }));
    const decide = vi.fn(() => Promise.resolve());
    show(ApprovalCard, { rtc: waiting({ preview: { ...words, paths: [] } }), decide, look });
    button('Look again').click();
    await new Promise((resolve) => setTimeout(resolve));
    flushSync();
    expect(document.body.textContent).toContain('the real code');
    button('Allow once').click();
    expect(decide).toHaveBeenCalledExactlyOnceWith('once', '');
  });
});

describe('a long approval', () => {
  it('says how much is not shown, next to the answers, and shows it', () => {
    const text = Array.from({ length: 300 }, (_, line) => `line ${line}`).join('\n');
    const preview = { kind: 'code' as const, text, paths: [] };
    show(ApprovalCard, { rtc: waiting({ preview }), decide: () => Promise.resolve() });
    expect(document.body.textContent).not.toContain('line 299');
    button('276 more lines').click();
    flushSync();
    expect(document.body.textContent).toContain('line 299');
    expect(button('more lines')).toBeUndefined();
  });

  it('counts the characters of a line that is long', () => {
    const preview = { kind: 'code' as const, text: `${' '.repeat(9_000)}evil()`, paths: [] };
    show(ApprovalCard, { rtc: waiting({ preview }), decide: () => Promise.resolve() });
    button('7,006 more characters').click();
    flushSync();
    expect(document.body.textContent).toContain('evil()');
  });
});

describe('the keys of an approval', () => {
  const shown = () => {
    const decide = vi.fn(() => Promise.resolve());
    show(ApprovalCard, { rtc: waiting(), decide });
    return decide;
  };

  it('work from anywhere', () => {
    const decide = shown();
    press(document.body, 's');
    expect(decide).toHaveBeenCalledExactlyOnceWith('session', '');
  });

  it('are letters where something is typed', () => {
    const decide = shown();
    const field = document.createElement('textarea');
    document.body.append(field);
    press(field, 'y');
    expect(decide).not.toHaveBeenCalled();
  });

  it('are those of the first card, if there are several', () => {
    const first = shown();
    const second = shown();
    press(document.body, 'y');
    expect(first).toHaveBeenCalledOnce();
    expect(second).not.toHaveBeenCalled();
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

describe('an answer that is on its way', () => {
  it.each([
    [
      { answers: { 'Which one?': 'A', 'What?': 'X, Y' } },
      ['Which one? A', 'What? X, Y', 'Your answer is kept'],
    ],
    [null, ['That you declined is kept']],
  ])('is shown, and not asked for again', (answer, texts) => {
    show(QuestionCard, {
      rtc: rtc({ id: 'r-1', session_id: 's-1', tool_name: 'askUser' }),
      kept: { answer },
      submit: () => Promise.resolve(),
    });
    texts.forEach((text) => expect(find('[role=status]').textContent).toContain(text));
    expect(document.querySelector('button, input')).toBeNull();
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
