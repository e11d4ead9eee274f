import { describe, expect, it } from 'vitest';

import { message, rtc, turn } from '../testing/entities';
import type { ContentData, Message } from '../wire/generated';
import { decisionText, durationOf, durationText, stateOf, targetOf, waitOf } from './calls';
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
});
