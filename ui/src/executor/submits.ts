import { liveQuery } from 'dexie';

import type { Database, Submit } from '../store/database';
import { isPassing, RpcError } from '../wire/errors';
import type { Methods } from '../wire/generated';
import { CLOCK, repeat, type Clock } from './delays';

/** What submits need of a connection. */
interface SubmitLine {
  call<M extends keyof Methods>(method: M, request: Methods[M]['request']): Promise<Methods[M]['result']>;
}

/** What is told of submits. None of these may throw. */
export interface SubmitListener {
  /** The calls whose answers are on their way. */
  kept(submits: ReadonlyMap<string, Submit>): void;
  /** An answer came too late, or cannot be one: why. */
  refused(submit: Submit, reason: string): void;
}

/** Refusals after which an answer may be taken all the same. */
const STILL_OPEN = ['approval.required', 'rtc.already_claimed'];

/**
 * Hands in the user's answers to questions: kept first, and sent until the server has them, also after a reload. Every
 * window sends what is kept; to the server the same answer twice is one.
 */
export class Submits {
  readonly #sending = new Map<string, () => void>();
  readonly #unwatch: () => void;

  constructor(
    private readonly line: SubmitLine,
    private readonly table: Database['submits'],
    private readonly device_id: string,
    private readonly listener: SubmitListener,
    private readonly clock: Clock = CLOCK,
  ) {
    const subscription = liveQuery(() => table.toArray()).subscribe({
      next: (submits) => this.#stored(submits),
      error: (error: unknown) => console.warn('answers that are kept cannot be read', error),
    });
    this.#unwatch = () => subscription.unsubscribe();
  }

  /** Keeps an answer and begins to send it. Where nothing can be kept, it is sent once, and rejects if it was not taken. */
  async submit(submit: Submit): Promise<void> {
    const isKept = await this.table.put(submit).then(
      () => true,
      () => false,
    );
    if (!isKept) {
      await this.line.call('v1.rtc.submit_result', requestOf(submit));
    }
  }

  /** Sends nothing any more; what is kept stays. */
  close(): void {
    this.#unwatch();
    this.#sending.forEach((stop) => stop());
    this.#sending.clear();
  }

  #stored(submits: Submit[]): void {
    const kept = new Map(submits.map((submit) => [submit.rtc_id, submit]));
    for (const [rtc_id, stop] of this.#sending) {
      if (!kept.has(rtc_id)) {
        stop();
        this.#sending.delete(rtc_id);
      }
    }
    for (const submit of submits) {
      if (!this.#sending.has(submit.rtc_id)) {
        this.#sending.set(
          submit.rtc_id,
          repeat(() => this.#send(submit), this.clock),
        );
      }
    }
    this.listener.kept(kept);
  }

  async #send(submit: Submit): Promise<boolean> {
    let refusal: string | null = null;
    try {
      await this.line.call('v1.rtc.submit_result', requestOf(submit));
      refusal = await this.#other(submit.rtc_id);
    } catch (error) {
      if (isPassing(error) || STILL_OPEN.includes((error as RpcError).code)) {
        return false;
      }
      refusal = (error as RpcError).message;
    }
    // Whoever takes it away tells the user, and no other window.
    const isMine = await this.table.db.transaction('rw', this.table, async () => {
      const isThere = (await this.table.get(submit.rtc_id)) !== undefined;
      await this.table.delete(submit.rtc_id);
      return isThere;
    });
    if (isMine && refusal !== null) {
      this.listener.refused(submit, refusal);
    }
    return true;
  }

  /** How else a call has ended than by an answer of this device. */
  async #other(rtc_id: string): Promise<string | null> {
    let item;
    try {
      ({ item } = await this.line.call('v1.rtc.get', { rtc_id }));
    } catch (error) {
      if (error instanceof RpcError && error.code === 'rtc.not_found') {
        return null;
      }
      throw error;
    }
    if (item.answered_by === this.device_id) {
      return null;
    }
    return item.answered_by == null ? 'it had ended before' : 'it was answered on another device before';
  }
}

function requestOf({ rtc_id, client_id, answer }: Submit): Methods['v1.rtc.submit_result']['request'] {
  return {
    rtc_id,
    client_id,
    ...(answer === null
      ? { success: false, error: 'User declined to answer questions' }
      : { success: true, result: answer }),
  };
}
