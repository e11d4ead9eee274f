// @vitest-environment node
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { rtc, waiting } from '../testing/entities';
import { LINE_CLOSED, RpcError } from '../wire/errors';
import type { Ran, Rtc, RtcStatus, Update } from '../wire/generated';
import { Executor } from './executor';

/** A run that was asked for and has not ended yet. */
interface Run {
  rtc_id: string;
  end(status?: RtcStatus): Promise<void>;
  fail(code: string): Promise<void>;
}

let runs: Run[];
let executor: Executor;

const line: ConstructorParameters<typeof Executor>[0] = {
  call: (method, request) =>
    new Promise((resolve, reject) => {
      expect(method).toBe('v1.rtc.run');
      const { rtc_id } = request as { rtc_id: string };
      runs.push({
        rtc_id,
        end: async (status = 'completed') => {
          resolve({ rtc_id, status, digest: null } satisfies Ran as never);
          await settle();
        },
        fail: async (code) => {
          reject(new RpcError(code, 'refused'));
          await settle();
        },
      });
    }),
};

const settle = () => new Promise((resolve) => setImmediate(resolve));
const asked = () => runs.map(({ rtc_id }) => rtc_id);

function call(number: number, fields: Partial<Rtc> = {}): Rtc {
  return rtc({ id: `r-${number}`, session_id: 's-1', offset: number, ...fields });
}

function told(...rtcs: Rtc[]): Update {
  return {
    id: 'u',
    offset: 1,
    items: rtcs.map(({ id }) => ({ entity: 'rtc', action: 'updated', entity_id: id })),
    data_list: rtcs,
  };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  runs = [];
  executor = new Executor(line, 'device-1');
});

afterEach(() => {
  executor.close();
  vi.useRealTimers();
});

describe('a lane', () => {
  it('runs the first open call of its session, and the next one when that has ended', async () => {
    executor.stored([call(2), call(1), call(3)]);
    expect(asked()).toEqual(['r-1']);
    await runs[0]!.end();
    expect(asked()).toEqual(['r-1', 'r-2']);
    // The store is behind, and must not bring back what has ended.
    executor.stored([call(1), call(2), call(3)]);
    await settle();
    expect(asked()).toEqual(['r-1', 'r-2']);
    await runs[1]!.end('failed');
    expect(asked()).toEqual(['r-1', 'r-2', 'r-3']);
  });

  it('runs beside those of other sessions', () => {
    executor.stored([call(1), call(2), rtc({ id: 'else', session_id: 's-2', offset: 9 })]);
    expect(asked()).toEqual(['r-1', 'else']);
  });

  it('leaves calls of other devices alone', () => {
    executor.stored([call(1, { device_id: 'device-2' })]);
    executor.arrived(told(call(2, { device_id: 'device-2' })));
    expect(asked()).toEqual([]);
  });

  it.each([
    ['an approval', waiting({ id: 'r-1', offset: 1 })],
    ['an answer', call(1, { tool_name: 'askUser' })],
    ['a look at its outcome', call(1, { status: 'executing', outcome: 'unknown' })],
  ])('waits with everything behind a call that waits for %s', async (_, first) => {
    executor.stored([first, call(2)]);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(asked()).toEqual([]);
    executor.stored([call(2)]);
    expect(asked()).toEqual(['r-2']);
  });

  it('runs a call when it was approved', () => {
    const open = waiting({ id: 'r-1', offset: 1 });
    executor.stored([open]);
    expect(asked()).toEqual([]);
    executor.arrived(told({ ...open, approval: { ...open.approval!, state: 'approved' } }));
    expect(asked()).toEqual(['r-1']);
  });

  it('goes on when the record of what it runs tells of its end, before the run is answered', async () => {
    executor.stored([call(1), call(2)]);
    executor.arrived(told(call(1, { status: 'completed' })));
    expect(asked()).toEqual(['r-1', 'r-2']);
    await runs[0]!.end();
    expect(asked()).toEqual(['r-1', 'r-2']);
  });

  it('asks for nothing after it was closed', async () => {
    executor.stored([call(1), call(2)]);
    executor.close();
    await runs[0]!.end();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked()).toEqual(['r-1']);
  });
});

describe('a run that does not get through', () => {
  it.each([LINE_CLOSED, 'line.timeout', 'rpc.internal_error', 'engine.shutting_down', 'store.full'])(
    'is asked for again (%s)',
    async (code) => {
      executor.stored([call(1), call(2)]);
      for (const [index, seconds] of [1, 2, 4, 8, 16, 30, 30].entries()) {
        await runs[index]!.fail(code);
        await vi.advanceTimersByTimeAsync(seconds * 1_000 - 1);
        expect(runs).toHaveLength(index + 1);
        await vi.advanceTimersByTimeAsync(1);
        expect(runs).toHaveLength(index + 2);
      }
      await runs.at(-1)!.end();
      expect(asked().at(-1)).toBe('r-2');
    },
  );

  it.each([
    'approval.required',
    'outcome_unknown',
    'rtc.already_claimed',
    'rtc.invalid_state',
    'rtc.not_found',
    'auth.permission_denied',
  ])('is left alone until its record changes (%s)', async (code) => {
    executor.stored([call(1), call(2)]);
    await runs[0]!.fail(code);
    await vi.advanceTimersByTimeAsync(120_000);
    executor.stored([call(1), call(2)]);
    expect(asked()).toEqual(['r-1']);
    executor.stored([call(1, { attempt: 1 }), call(2)]);
    expect(asked()).toEqual(['r-1', 'r-1']);
    await runs[1]!.fail(code);
    executor.stored([call(2)]);
    expect(asked()).toEqual(['r-1', 'r-1', 'r-2']);
  });

  it('is asked for again at once if its record changed while it was refused', async () => {
    executor.stored([call(1)]);
    executor.arrived(told(call(1, { attempt: 1 })));
    await runs[0]!.fail('rtc.invalid_state');
    expect(asked()).toEqual(['r-1', 'r-1']);
  });

  it('is not asked for again when the call has ended meanwhile', async () => {
    executor.stored([call(1)]);
    await runs[0]!.fail(LINE_CLOSED);
    executor.stored([]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked()).toEqual(['r-1']);
  });
});

describe('an update that arrives', () => {
  it('starts a run before it is stored, and the store does not end that', async () => {
    executor.stored([]);
    executor.arrived(told(call(2), call(1)));
    expect(asked()).toEqual(['r-1']);
    executor.stored([]);
    await runs[0]!.end();
    expect(asked()).toEqual(['r-1', 'r-2']);
  });

  it('starts nothing before the store is known, which may have calls that come first', () => {
    executor.arrived(told(call(2)));
    expect(asked()).toEqual([]);
    executor.stored([call(1)]);
    expect(asked()).toEqual(['r-1']);
  });

  it('may tell of entities that are gone, or of others', () => {
    executor.stored([]);
    const items = [
      { entity: 'rtc', action: 'updated', entity_id: 'r-1' } as const,
      { entity: 'session', action: 'updated', entity_id: 's-1' } as const,
      { entity: 'rtc', action: 'updated', entity_id: 'r-2' } as const,
    ];
    executor.arrived({ id: 'u', offset: 1, items, data_list: [{ deleted_at: 'now' }, { status: 'idle' }] });
    executor.arrived({ id: 'u', offset: 2, items });
    expect(asked()).toEqual([]);
  });
});

it('two executors ask for the same call, and both go on by its end', async () => {
  const other = new Executor(line, 'device-1');
  for (const each of [executor, other]) {
    each.stored([call(1), call(2)]);
  }
  expect(asked()).toEqual(['r-1', 'r-1']);
  await runs[0]!.end();
  expect(asked()).toEqual(['r-1', 'r-1', 'r-2']);
  await runs[1]!.end();
  expect(asked()).toEqual(['r-1', 'r-1', 'r-2', 'r-2']);
  other.close();
});
