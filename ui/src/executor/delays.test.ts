// @vitest-environment node
import { describe, expect, it } from 'vitest';

import { repeat, type Clock } from './delays';

/** A clock that a test turns: what was put off last happens when it says so. */
function clockOfTest() {
  const delays: number[] = [];
  let next: (() => void) | null = null;
  const clock: Clock = {
    after: (milliseconds, happen) => {
      delays.push(milliseconds / 1_000);
      next = happen;
      return () => (next = null);
    },
  };
  const turn = async () => {
    const happen = next;
    next = null;
    happen?.();
    await settle();
    return happen !== null;
  };
  return { clock, delays, turn };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('what is repeated', () => {
  it('is tried at once, and then after 1, 2, 4, 8, 16, 30, 30 … seconds', async () => {
    const { clock, delays, turn } = clockOfTest();
    let tries = 0;
    repeat(async () => ++tries === 9, clock);
    expect(tries).toBe(1);
    await settle();
    while (await turn());
    expect(tries).toBe(9);
    expect(delays).toEqual([1, 2, 4, 8, 16, 30, 30, 30]);
  });

  it('goes on after an attempt that throws', async () => {
    const { clock, delays, turn } = clockOfTest();
    let tries = 0;
    repeat(() => (++tries === 1 ? Promise.reject(new Error('broken')) : Promise.resolve(true)), clock);
    await settle();
    while (await turn());
    expect([tries, delays]).toEqual([2, [1]]);
  });

  it('is not tried again once it was stopped, between attempts or within one', async () => {
    const { clock, turn } = clockOfTest();
    let tries = 0;
    const stop = repeat(() => Promise.resolve(++tries < 0), clock);
    await settle();
    stop();
    expect(await turn()).toBe(false);
    repeat(() => Promise.resolve(++tries < 0), clock)();
    await settle();
    expect(await turn()).toBe(false);
    expect(tries).toBe(2);
  });
});
