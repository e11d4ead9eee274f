import type { Database } from '../store/database';
import { isCallOver, isTurnOver } from '../store/merge';
import type { Client } from '../wire/client';
import type {
  ApprovalDecision,
  CallProgress,
  Message,
  Mode,
  Preview,
  Resolution,
  Rtc,
  Session,
  Turn,
  Update,
} from '../wire/generated';
import { waitOf } from './calls';
import { entriesOf, withLive } from './entries';
import { watch } from './watch';

const EARLIER_PAGE = 50;

/** How much of what a running call tells is kept, in characters; its result has all that it is to have. */
const KEPT_PROGRESS = 20_000;

/** What is told at once is taken over at most once a frame. */
type NextFrame = (callback: () => void) => void;

/** One session as it is looked at. */
export class Conversation {
  messages = $state.raw<Message[]>([]);
  rtcs = $state.raw<Rtc[]>([]);
  turns = $state.raw<Turn[]>([]);
  session = $state.raw<Session | undefined>(undefined);
  hasEarlier = $state(false);
  isLoadingEarlier = $state(false);
  #earlier = $state.raw<Message[]>([]);
  #live = $state.raw<ReadonlyMap<string, Message>>(new Map());
  /** What calls have told while they ran, by call; of what is done the result has it. */
  told = $state.raw<ReadonlyMap<string, string>>(new Map());
  /** What has arrived since the last frame. */
  #arrived = new Map<string, Message>();
  #arrivedProgress: CallProgress[] = [];
  #isFrameAwaited = false;
  #stops: (() => void)[];

  readonly entries = $derived(
    entriesOf([...this.#earlier, ...withLive(this.messages, this.#live)], this.rtcs, this.turns),
  );
  readonly isBusy = $derived(this.turns.some((turn) => !isTurnOver(turn.status)));
  /** Text comes, maybe before its turn is known to run. */
  readonly isStreaming = $derived(this.#live.size > 0);
  readonly waiting = $derived(this.rtcs.filter((rtc) => waitOf(rtc) !== null));

  constructor(
    readonly session_id: string,
    private readonly client: Client,
    database: Database,
    /** Called when the store does not keep the session any more, because of another window. */
    dropped: () => void,
    private readonly nextFrame: NextFrame = (callback) => void requestAnimationFrame(callback),
  ) {
    let wasKept = false;
    this.#stops = [
      watch(
        async () => ({
          isKept: await database.isKept(session_id),
          isListed: (await database.sessions.get(session_id)) !== undefined,
        }),
        ({ isKept, isListed }) => {
          if (wasKept && !isKept && isListed) {
            dropped();
          }
          wasKept = isKept;
        },
      ),
      watch(
        () => database.messagesOf(session_id),
        (messages) => {
          this.messages = messages;
          this.#dropWhole();
        },
      ),
      watch(
        () => database.rtcs.where({ session_id }).toArray(),
        (rtcs) => (this.rtcs = rtcs.sort((one, other) => one.offset - other.offset)),
      ),
      watch(
        () => database.turns.where({ session_id }).toArray(),
        (turns) => (this.turns = turns),
      ),
      watch(
        () => database.sessions.get(session_id),
        (session) => (this.session = session),
      ),
      watch(
        () => database.hasEarlier(session_id),
        (hasEarlier) => (this.hasEarlier = hasEarlier && this.#earlier.at(0)?.global_offset !== 1),
      ),
    ];
  }

  /** Stops following the store. */
  close(): void {
    this.#stops.forEach((stop) => stop());
  }

  /** Takes text in the making. */
  live(update: Update): void {
    for (const [index, item] of update.items.entries()) {
      const message = update.data_list?.[index] as unknown as Message | undefined;
      if (item.entity === 'message' && message?.session_id === this.session_id) {
        this.#arrived.set(message.id, message);
        this.#awaitFrame();
      }
    }
  }

  /** Takes what a running call tells. */
  progress(progress: CallProgress): void {
    if (this.rtcs.some(({ id }) => id === progress.rtc_id)) {
      this.#arrivedProgress.push(progress);
      this.#awaitFrame();
    }
  }

  /** Asks for the messages before the first one that is shown. */
  async loadEarlier(): Promise<void> {
    const first = this.#earlier[0] ?? this.messages[0];
    if (!first || this.isLoadingEarlier) {
      return;
    }
    this.isLoadingEarlier = true;
    try {
      const { session_id } = this;
      const page = await this.client.call('v1.message.list', {
        session_id,
        order: 'newest_first',
        cursor: first.global_offset,
        limit: EARLIER_PAGE,
      });
      this.#earlier = [...page.items.reverse(), ...this.#earlier];
      this.hasEarlier = Boolean(page.next_cursor);
    } finally {
      this.isLoadingEarlier = false;
    }
  }

  /** Ends the running turn. */
  async stop(): Promise<void> {
    await this.client.call('v1.turn.stop', { session_id: this.session_id });
  }

  /** Opens the closed session again. */
  async reopen(): Promise<void> {
    await this.client.call('v1.session.open', { session_id: this.session_id });
  }

  /** Sets how much is asked before a tool runs. */
  async setMode(mode: Mode): Promise<void> {
    await this.client.call('v1.session.set_mode', { session_id: this.session_id, mode });
  }

  /** Asks again for what an approval of a call shows. */
  async look(rtc_id: string): Promise<Preview | null> {
    return (await this.client.call('v1.rtc.preview', { rtc_id })).preview;
  }

  /** Answers an approval. */
  async approve(rtc_id: string, decision: ApprovalDecision, reason: string): Promise<void> {
    await this.client.call('v1.rtc.approve', { rtc_id, decision, ...(reason ? { reason } : {}) });
  }

  /** Says what to make of a call whose outcome is unknown. */
  async resolve(rtc_id: string, decision: Resolution): Promise<void> {
    await this.client.call('v1.rtc.resolve', { rtc_id, decision });
  }

  #awaitFrame(): void {
    if (!this.#isFrameAwaited) {
      this.#isFrameAwaited = true;
      this.nextFrame(() => this.#takeArrived());
    }
  }

  #takeArrived(): void {
    this.#isFrameAwaited = false;
    if (this.#arrived.size > 0) {
      this.#live = new Map([...this.#live, ...this.#arrived]);
      this.#arrived = new Map();
      this.#dropWhole();
    }
    if (this.#arrivedProgress.length > 0) {
      const running = new Set(this.rtcs.filter((rtc) => !isCallOver(rtc.status)).map(({ id }) => id));
      const done = new Set(this.rtcs.filter((rtc) => rtc.status === 'completed').map(({ id }) => id));
      const told = new Map([...this.told].filter(([id]) => !done.has(id)));
      for (const { rtc_id, progress } of this.#arrivedProgress.splice(0)) {
        if (running.has(rtc_id) && progress.kind === 'text') {
          const before = told.get(rtc_id);
          const text = before === undefined ? progress.text : `${before}\n${progress.text}`;
          told.set(rtc_id, text.slice(-KEPT_PROGRESS));
        }
      }
      this.told = told;
    }
  }

  /** Of a message that is whole nothing in the making is needed. */
  #dropWhole(): void {
    if (this.#live.size === 0) {
      return;
    }
    const open = new Set(
      this.messages.filter((message) => message.streaming_status === 'streaming').map(({ id }) => id),
    );
    const known = new Set(this.messages.map(({ id }) => id));
    const live = [...this.#live].filter(([id]) => open.has(id) || !known.has(id));
    if (live.length !== this.#live.size) {
      this.#live = new Map(live);
    }
  }
}
