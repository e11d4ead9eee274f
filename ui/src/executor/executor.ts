import { waitOf } from '../state/calls';
import { isCallOver } from '../store/merge';
import { isPassing } from '../wire/errors';
import type { Methods, Rtc, Update } from '../wire/generated';
import { CLOCK, repeat, type Clock } from './delays';

/** What the executor needs of a connection. */
interface ExecutorLine {
  call<M extends keyof Methods>(method: M, request: Methods[M]['request']): Promise<Methods[M]['result']>;
}

/** The calls of one session, which run one after the other. */
interface Lane {
  /** Those that are open, as far as is known. */
  open: Map<string, Rtc>;
  /** The one that is run. */
  running: { rtc_id: string; stop: () => void } | null;
  /** What was run without ending; it is left alone until its record is another one. */
  left: string | null;
}

/** How many calls that have ended are remembered, so that a store that is behind does not bring them back. */
const REMEMBERED = 1_000;

/**
 * Lets the device run its calls: of each session the first one that is open, by its id, so that what was approved is what
 * runs. The device itself runs a call once, however many windows ask for it, and takes what no window asks for; so to ask
 * too often or too late does no harm.
 */
export class Executor {
  readonly #lanes = new Map<string, Lane>();
  /** Calls that have arrived and are not in the store yet. */
  readonly #arrived = new Set<string>();
  readonly #over = new Set<string>();
  #isStoreKnown = false;

  constructor(
    private readonly line: ExecutorLine,
    private readonly device_id: string,
    private readonly clock: Clock = CLOCK,
  ) {}

  /** Takes all open calls of the store. */
  stored(rtcs: Rtc[]): void {
    const own = rtcs.filter((rtc) => this.#isOwn(rtc));
    const listed = new Set(own.map(({ id }) => id));
    for (const { open } of this.#lanes.values()) {
      for (const id of open.keys()) {
        if (!listed.has(id) && !this.#arrived.has(id)) {
          open.delete(id);
        }
      }
    }
    for (const rtc of own) {
      this.#arrived.delete(rtc.id);
      this.#laneOf(rtc).open.set(rtc.id, rtc);
    }
    this.#isStoreKnown = true;
    for (const [session_id, lane] of this.#lanes) {
      this.#go(lane);
      if (lane.open.size === 0) {
        this.#lanes.delete(session_id);
      }
    }
  }

  /** Takes an update before the store has it, which saves the time of storing. */
  arrived(update: Update): void {
    const lanes = new Set<Lane>();
    for (const rtc of rtcsOf(update).filter((rtc) => rtc.device_id === this.device_id)) {
      const lane = this.#laneOf(rtc);
      if (isCallOver(rtc.status)) {
        this.#end(lane, rtc.id);
      } else if (this.#isOwn(rtc)) {
        this.#arrived.add(rtc.id);
        lane.open.set(rtc.id, rtc);
      }
      lanes.add(lane);
    }
    // Before the store is known, a call that comes before these may be missing.
    if (this.#isStoreKnown) {
      lanes.forEach((lane) => this.#go(lane));
    }
  }

  /** Asks for nothing any more. */
  close(): void {
    for (const lane of this.#lanes.values()) {
      lane.running?.stop();
      lane.running = null;
    }
    this.#lanes.clear();
  }

  #isOwn(rtc: Rtc): boolean {
    return rtc.device_id === this.device_id && !this.#over.has(rtc.id);
  }

  #laneOf({ session_id }: Rtc): Lane {
    const lane = this.#lanes.get(session_id) ?? { open: new Map<string, Rtc>(), running: null, left: null };
    this.#lanes.set(session_id, lane);
    return lane;
  }

  /** Runs the first call of a lane, if nothing else of it runs. */
  #go(lane: Lane): void {
    if (lane.running && lane.open.has(lane.running.rtc_id)) {
      return;
    }
    // It has ended, of which its own record has told first.
    lane.running?.stop();
    lane.running = null;
    let first: Rtc | undefined;
    for (const rtc of lane.open.values()) {
      first = first === undefined || rtc.offset < first.offset ? rtc : first;
    }
    if (first !== undefined && waitOf(first) === null && lane.left !== versionOf(first)) {
      this.#run(lane, first);
    }
  }

  #run(lane: Lane, rtc: Rtc): void {
    const running = { rtc_id: rtc.id, stop: () => {} };
    lane.running = running;
    running.stop = repeat(async () => {
      let isOver = false;
      try {
        isOver = isCallOver((await this.line.call('v1.rtc.run', { rtc_id: rtc.id })).status);
      } catch (error) {
        if (isPassing(error)) {
          return false;
        }
        // It waits for the user, is another's, or has ended: its record tells when that is otherwise.
      }
      if (lane.running === running) {
        lane.running = null;
        if (isOver) {
          this.#end(lane, rtc.id);
        } else {
          lane.left = versionOf(rtc);
          this.#arrived.delete(rtc.id);
        }
        this.#go(lane);
      }
      return true;
    }, this.clock);
  }

  #end(lane: Lane, rtc_id: string): void {
    lane.open.delete(rtc_id);
    this.#arrived.delete(rtc_id);
    this.#over.add(rtc_id);
    const [oldest] = this.#over;
    if (this.#over.size > REMEMBERED && oldest !== undefined) {
      this.#over.delete(oldest);
    }
  }
}

/** The calls that an update tells of. */
function rtcsOf(update: Update): Rtc[] {
  return update.items.flatMap((item, index) => {
    const data: unknown = item.entity === 'rtc' ? update.data_list?.[index] : null;
    return typeof data === 'object' && data !== null && 'status' in data ? [data as Rtc] : [];
  });
}

/** What tells one state of a call from another. */
function versionOf({ id, status, attempt, approval, outcome, updated_at }: Rtc): string {
  return [id, status, attempt, approval?.state, outcome, updated_at].join(' ');
}
