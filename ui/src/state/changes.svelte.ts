import type { Client } from '../wire/client';
import type { TurnChanges } from '../wire/generated';

/** What of a session is to be put back; without anything the last turn. */
export interface Undo {
  turn_id?: string;
  rtc_id?: string;
  path?: string;
  hunks?: number[];
}

/** How many turns with changes are shown. */
const SHOWN_TURNS = 50;

/** What the calls of a session changed, and how it is put back. */
export class Changes {
  /** The last turn first; null as long as that is not known. */
  turns = $state.raw<TurnChanges[] | null>(null);
  /** Whether there are older ones. */
  hasMore = $state(false);
  /** Something is put back now. */
  isBusy = $state(false);

  constructor(
    private readonly session_id: string,
    private readonly line: Pick<Client, 'call'>,
  ) {}

  /** Asks what there is. */
  async load(): Promise<void> {
    const page = await this.line.call('v1.session.changes', {
      session_id: this.session_id,
      limit: SHOWN_TURNS,
    });
    this.turns = page.items;
    this.hasMore = page.next_cursor != null;
  }

  /** Puts something back. What was done of it is shown, whether it failed or not. */
  undo(what: Undo): Promise<void> {
    return this.#change(() => this.line.call('v1.session.undo', { session_id: this.session_id, ...what }));
  }

  /** Takes the last undo back. */
  redo(): Promise<void> {
    return this.#change(() => this.line.call('v1.session.redo', { session_id: this.session_id }));
  }

  async #change(action: () => Promise<unknown>): Promise<void> {
    if (this.isBusy) {
      return;
    }
    this.isBusy = true;
    try {
      await action();
    } finally {
      this.isBusy = false;
      await this.load();
    }
  }
}
