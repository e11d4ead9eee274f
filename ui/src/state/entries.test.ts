import { describe, expect, it } from 'vitest';

import { message, rtc, turn } from '../testing/entities';
import type { ContentData, Message, Preview } from '../wire/generated';
import {
  answerText,
  asksOf,
  decisionText,
  durationOf,
  durationText,
  isUnseen,
  stateOf,
  targetOf,
  waitOf,
} from './calls';
import { entriesOf, withLive } from './entries';

function say(number: number, content: ContentData, fields: Partial<Message> = {}): Message {
  return message({ id: `m-${number}`, session_id: 's-1', global_offset: number, ...fields }, content);
}

const call = { id: 'c-1', tool_name: 'read', input: '{}' };

describe('what is shown of a conversation', () => {
  it('is in order, a call with its result is one entry, and what is queued comes last', () => {
    const messages = [
      say(4, { type: 'markdown', data: 'Done' }),
      say(1, { type: 'text', data: 'Read' }),
      say(3, { type: 'toolcall_output', data: { ...call, output: 'text' } }, { parent_message_id: 'm-2' }),
      say(2, { type: 'toolcall_input', data: call }),
      say(0, { type: 'text', data: 'Later' }, { streaming_status: 'pending' }),
    ];
    const entries = entriesOf(messages, [rtc({ id: 'r-1', session_id: 's-1', message_id: 'm-2' })], []);
    expect(entries.map(({ kind, id }) => `${kind} ${id}`)).toEqual([
      'user m-1',
      'call m-2',
      'answer m-4',
      'user m-0',
    ]);
    expect(entries[1]).toMatchObject({ output: { output: 'text' }, rtc: { id: 'r-1' } });
  });

  it('names the scenarios of a message, and leaves out what only the model reads of them', () => {
    const scenario = { title: 'Tidying', filepath: '/scenarios/tidy.md', file_content: 'Sort.' };
    const prompt = { name: 'scenarios', title: 'Tidying', body: '# Tidying' };
    const messages = [
      say(1, { type: 'user_message', data: { text: 'Go on', scenarios: [scenario] } }),
      say(2, { type: 'prompt', data: prompt }, { role: 'system', parent_message_id: 'm-1' }),
    ];
    expect(entriesOf(messages, [], [])).toEqual([
      { kind: 'user', id: 'm-1', text: 'Go on', scenarios: ['Tidying'], isQueued: false },
    ]);
  });

  it('has the answer of a turn before the message that was queued meanwhile, in whatever order they come', () => {
    const one = { turn_id: 't-1' };
    const two = { turn_id: 't-2' };
    const messages = [
      say(1, { type: 'text', data: 'First' }, { ...one, turn_offset: 1 }),
      say(2, { type: 'markdown', data: 'I look' }, { ...one, turn_offset: 2 }),
      say(3, { type: 'text', data: 'Second' }, { ...two, turn_offset: 1 }),
      say(4, { type: 'markdown', data: 'Done with the first' }, { ...one, turn_offset: 3 }),
      say(5, { type: 'text', data: 'Third' }, { streaming_status: 'pending' }),
      say(6, { type: 'markdown', data: 'Done with the second' }, { ...two, turn_offset: 2 }),
    ];
    const shown = ['m-1', 'm-2', 'm-4', 'm-3', 'm-6', 'm-5'];
    expect(entriesOf(messages, [], []).map(({ id }) => id)).toEqual(shown);
    expect(entriesOf(messages.reverse(), [], []).map(({ id }) => id)).toEqual(shown);
  });

  it('has what was queued when a turn was stopped behind its end', () => {
    const of = { turn_id: 't-1' };
    const messages = [
      say(1, { type: 'text', data: 'First' }, { ...of, turn_offset: 1 }),
      say(2, { type: 'text', data: 'Queued' }, { ...of, turn_offset: 3 }),
      say(3, { type: 'markdown', data: 'I look' }, { ...of, turn_offset: 2 }),
    ];
    const turns = [turn({ id: 't-1', session_id: 's-1', status: 'cancelled' })];
    expect(entriesOf(messages, [], turns)).toMatchObject([
      { id: 'm-1' },
      { id: 'm-3' },
      { kind: 'stopped', unread: 1 },
      { id: 'm-2' },
    ]);
  });

  it('passes over what this page does not know', () => {
    const unknown = { ...say(1, { type: 'text', data: '' }), content: '{"type":"hologram","data":1}' };
    const broken = { ...say(2, { type: 'text', data: '' }), content: 'no json' };
    expect(entriesOf([unknown, broken, { ...broken, id: 'x', content: 'null' }], [], [])).toEqual([]);
  });
});

describe('text in the making', () => {
  const streaming = say(1, { type: 'markdown', data: '' }, { streaming_status: 'streaming' });
  const live = say(1, { type: 'markdown', data: 'so far' }, { streaming_status: 'streaming' });
  const whole = say(1, { type: 'markdown', data: 'so far and on' });

  it.each([
    ['takes the place of the stored beginning', [streaming], [live]],
    ['never overwrites a message that is whole', [whole], [whole]],
    ['is shown before its beginning is stored', [], [live]],
  ])('%s', (_, stored, shown) => {
    expect(withLive(stored, new Map([[live.id, live]]))).toEqual(shown);
  });
});

describe('a call', () => {
  const approval = {
    state: 'open',
    why: '',
    decision: null,
    reason: null,
    decided_at: null,
    decided_by: null,
  } as const;
  const own = { id: 'r-1', session_id: 's-1' };

  it.each([
    ['approval', 'needs your Yes', rtc({ ...own, approval })],
    ['question', 'asks you', rtc({ ...own, tool_name: 'askUser', status: 'sent' })],
    ['unknown_outcome', 'outcome unknown', rtc({ ...own, status: 'executing', outcome: 'unknown' })],
    [null, 'runs', rtc({ ...own, status: 'executing' })],
    [null, 'not run', rtc({ ...own, status: 'rejected', approval: { ...approval, state: 'withdrawn' } })],
    [
      null,
      'stopped while it ran',
      rtc({
        ...own,
        status: 'rejected',
        attempt: 1,
        effect: 'unknown',
        approval: { ...approval, state: 'approved' },
      }),
    ],
    [null, 'denied', rtc({ ...own, status: 'rejected', approval: { ...approval, state: 'rejected' } })],
    [null, 'done', rtc({ ...own, tool_name: 'askUser', status: 'completed' })],
  ])('waits for %s and is said to be “%s”', (wait, words, record) => {
    expect(waitOf(record)).toBe(wait);
    expect(stateOf(record)).toBe(words);
  });

  it('say where a turn was stopped', () => {
    const of = (number: number, turn_id: string) =>
      message(
        { id: `m-${number}`, session_id: 's-1', global_offset: number, turn_id },
        { type: 'markdown', data: '' },
      );
    const turns = (['cancelled', 'completed', 'cancelled'] as const).map((status, index) =>
      turn({ id: `t-${index}`, session_id: 's-1', status }),
    );
    const entries = entriesOf([of(1, 't-0'), of(2, 't-0'), of(3, 't-1'), of(4, 't-2')], [], turns);
    expect(entries.map(({ id }) => id)).toEqual(['m-1', 'm-2', 'end of t-0', 'm-3', 'm-4', 'end of t-2']);
  });

  it('took the time since its Yes', () => {
    const decided = { ...approval, state: 'approved', decided_at: '2026-01-01T12:01:00Z' } as const;
    const completed_at = '2026-01-01T12:01:01.5Z';
    expect(durationOf(rtc({ ...own, completed_at, approval: decided }))).toBe(1_500);
    expect([durationText(84), durationText(1_500), durationText(125_000)]).toEqual([
      '84 ms',
      '1.5 s',
      '2 min 5 s',
    ]);
  });

  it.each([
    [{ path: '/a' }, '/a'],
    [{ pattern: 'x', path: '/' }, 'x'],
    [{ pattern: 'x', path: '/src' }, 'x in /src'],
    [{ title: 'Count' }, 'Count'],
    [null, ''],
  ])('%j is about “%s”', (parameters, target) => {
    expect(targetOf(parameters)).toBe(target);
  });

  it('tells who decided', () => {
    const decided = {
      ...approval,
      state: 'rejected',
      decision: 'reject',
      reason: 'no',
      decided_by: 'd',
    } as const;
    expect(decisionText(rtc({ ...own, approval: decided }), 'd')).toBe('Denied on this device: no');
    expect(decisionText(rtc({ ...own, approval: decided }), 'e')).toBe('Denied on another device (d): no');
    expect(decisionText(rtc({ ...own, approval }), 'd')).toBeNull();
  });

  it('tells that nobody was asked after a change of the mode', () => {
    const needless = { ...approval, state: 'approved' } as const;
    expect(decisionText(rtc({ ...own, approval: needless }), 'd')).toMatch(/change of mode/);
  });

  it('tells where questions were answered, if the server does', () => {
    const answered = { ...rtc({ ...own, tool_name: 'askUser', status: 'completed' }), answered_by: 'd' };
    expect(answerText(answered, 'd')).toBe('Answered on this device');
    expect(answerText(answered, 'e')).toBe('Answered on another device (d)');
    expect(answerText(rtc({ ...own, tool_name: 'askUser', status: 'completed' }), 'd')).toBeNull();
  });

  const words = (text: string, paths: string[] = []) => ({ kind: 'text' as const, text, paths });
  it.each<[string, Preview | null, boolean]>([
    ['script', null, true],
    ['script', words('The folder is not there.'), true],
    ['script', { kind: 'code', text: 'x', paths: [] }, false],
    ['edit', words('The folder is not there.'), true],
    ['edit', words('It is not in the file.', ['/a']), false],
    ['edit', { kind: 'diff', text: '', paths: ['/a'] }, false],
    ['read', null, false],
  ])('%s with the preview %j is unseen: %s', (tool_name, preview, isBlind) => {
    expect(isUnseen(rtc({ ...own, tool_name, preview }))).toBe(isBlind);
  });

  it.each([
    ['script', { title: 't', code: 'a()' }, [['Code that would run', 'a()']]],
    [
      'edit',
      { path: '/a', old_string: 'a', new_string: 'b', replace_all: true },
      [
        ['Text to replace', 'a'],
        ['New text', 'b'],
        ['Arguments', JSON.stringify({ path: '/a', replace_all: true }, null, 2)],
      ],
    ],
    ['write', { path: '/a', content: 'c' }, [['Text to write', 'c']]],
    ['ls', { path: '/a' }, [['Arguments', JSON.stringify({ path: '/a' }, null, 2)]]],
  ])('%s would do what %j says', (tool, parameters, parts) => {
    expect(asksOf(tool, parameters).map(({ label, text }) => [label, text])).toEqual(parts);
  });
});
