const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;

/** Lets something happen later, unless it is taken back. */
export interface Clock {
  after(milliseconds: number, happen: () => void): () => void;
}

/** The time of the page. */
export const CLOCK: Clock = {
  after: (milliseconds, happen) => {
    const timer = setTimeout(happen, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** How long to wait after so many failures: 1, 2, 4, 8, 16, 30, 30 … seconds. */
export function delayAfter(failures: number): number {
  return Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS);
}

/**
 * Makes an attempt at once, and again after each delay, until one says that it is done. One that throws has failed.
 * Gives what ends it; an attempt under way is not followed by another one then.
 */
export function repeat(attempt: () => Promise<boolean>, clock: Clock = CLOCK): () => void {
  let isStopped = false;
  let failures = 0;
  let cancel = () => {};
  const next = async () => {
    const isDone = await attempt().catch(() => false);
    if (!isDone && !isStopped) {
      cancel = clock.after(delayAfter(++failures), () => void next());
    }
  };
  void next();
  return () => {
    isStopped = true;
    cancel();
  };
}
