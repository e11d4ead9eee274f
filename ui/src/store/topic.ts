import type { HistoryPage, Publication, TopicHandlers } from '../wire/client';
import { RpcError, UNRECOVERABLE_POSITION } from '../wire/errors';
import type { Methods, Rtc, Session, Turn, Update } from '../wire/generated';
import { KEPT_MESSAGES, type Cursor, type Database, type SessionSnapshot } from './database';
import { isCallOver, isTurnOver } from './merge';

/** What the topic needs of a connection. */
export interface TopicLine {
  call<M extends keyof Methods>(method: M, request: Methods[M]['request']): Promise<Methods[M]['result']>;
  history(channel: string, limit: number, since?: Cursor): Promise<HistoryPage>;
  subscribeTopic(channel: string, handlers: TopicHandlers): () => void;
}

/** How far the stored data is behind the server. */
export type TopicState =
  | { phase: 'loading' }
  | { phase: 'catching_up'; done: number; total: number }
  | { phase: 'current' }
  | { phase: 'failed'; reason: string };

/** What the topic tells. */
export interface TopicListener {
  state(state: TopicState): void;
  /** An update has arrived and is to be stored; may not throw. Those that are asked for by pages are stored only. */
  arrived(update: Update): void;
  /** The server's history is another one now; what was cached is replaced. */
  cleared(): void;
}

/** Updates asked for at once. */
export const HISTORY_PAGE = 1_000;
/** More updates than this do not wait in memory: the history has them. */
export const MAX_WAITING = 5_000;
/** Sessions of the list that are loaded when there is no cache; older ones are told of when they change. */
const MAX_SESSIONS = 500;
/** Sessions that are looked through for what waits for the user when there is no cache. */
const SESSIONS_LOOKED_INTO = 20;
const LIST_PAGE = 1_000;
/** How often a session is loaded again because the cache was replaced while it was loaded. */
const MAX_OPENINGS = 5;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;

/** The history cannot be continued from the cursor. */
class LostPosition extends Error {}

/**
 * Keeps the store in step with the user's topic: each update once, in order, the cursor never ahead of the data. All
 * writes of entities go through one queue, so that a snapshot is never older than what was stored before it.
 */
export class Topic {
  #waiting: Publication[] = [];
  #tail: Promise<unknown> = Promise.resolve();
  #isDraining = false;
  #unsubscribe: (() => void) | null = null;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #generation = 0;
  #isClosed = false;
  /** The session to reload first when the cache is dropped. */
  #shown: string | null = null;

  constructor(
    readonly channel: string,
    private readonly line: TopicLine,
    private readonly database: Database,
    private readonly listener: TopicListener,
  ) {}

  /** Subscribes from the stored cursor. */
  start(): void {
    const generation = ++this.#generation;
    let wasAsked = false;
    this.#unsubscribe = this.line.subscribeTopic(this.channel, {
      position: () => {
        // Asked again: the server has refused to recover from the position that it was given.
        const isRefused = wasAsked;
        wasAsked = true;
        return this.#enqueue(() => this.#position(isRefused)).catch((error: unknown) => {
          // The client library asks again by itself.
          this.listener.state({ phase: 'failed', reason: reasonOf(error) });
          throw error;
        });
      },
      publication: (publication) => {
        if (generation === this.#generation) {
          this.#receive(publication);
        }
      },
      unrecovered: () => {
        if (generation === this.#generation) {
          this.#enqueue(() => this.#catchUp()).catch((error: unknown) => this.#fail(generation, error));
        }
      },
    });
  }

  /** Ends the subscription. */
  close(): void {
    this.#isClosed = true;
    this.#stop();
  }

  /** Keeps a session from now on, loading it if it is not kept yet. */
  open(session_id: string): Promise<void> {
    this.#shown = session_id;
    return this.#enqueue(() => this.#open(session_id));
  }

  /** Waits for everything that has arrived until now to be stored. */
  async settled(): Promise<void> {
    let tail;
    do {
      tail = this.#tail;
      await tail;
    } while (tail !== this.#tail);
  }

  async #open(session_id: string): Promise<void> {
    for (let tries = 0; tries < MAX_OPENINGS; tries++) {
      if (await this.database.touch(session_id)) {
        return;
      }
      // The position first, so that the snapshot is at least as new.
      const position = await this.database.cursor();
      if (await this.#keep(await this.#snapshot(session_id), position)) {
        return;
      }
    }
    throw new Error('the session changes faster than it can be loaded');
  }

  /**
   * Stores a snapshot that was taken at a position. Where another window has stored more in the meantime, it is brought
   * as far from the history; if that cannot be, nothing is stored.
   */
  async #keep(snapshot: SessionSnapshot, position: Cursor | undefined): Promise<boolean> {
    const since: Publication[] = [];
    while (!(await this.database.openSession(snapshot, position, since))) {
      const news = position === undefined ? [] : await this.#since(position);
      if (position === undefined || news.length === 0) {
        return false;
      }
      since.push(...news);
      position = { offset: news.at(-1)!.offset, epoch: position.epoch };
    }
    return true;
  }

  /** What came after a position; nothing if the history does not go on from it. */
  async #since(position: Cursor): Promise<Publication[]> {
    try {
      const { publications, top } = await this.line.history(this.channel, HISTORY_PAGE, position);
      const news = newer(publications, position);
      return top.epoch === position.epoch && isContiguous(news, position) ? news : [];
    } catch (error) {
      if (isPositionLost(error)) {
        return [];
      }
      throw error;
    }
  }

  #enqueue<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(step);
    this.#tail = result.catch(() => undefined);
    return result;
  }

  #receive(publication: Publication): void {
    if (publication.update !== null) {
      this.listener.arrived(publication.update);
    }
    this.#waiting.push(publication);
    if (this.#waiting.length > MAX_WAITING) {
      // The newest one is enough to see the gap.
      this.#waiting.splice(0, this.#waiting.length - 1);
    }
    if (!this.#isDraining) {
      this.#isDraining = true;
      const generation = this.#generation;
      this.#enqueue(() => {
        this.#isDraining = false;
        return generation === this.#generation ? this.#drain() : Promise.resolve();
      }).catch((error: unknown) => this.#fail(generation, error));
    }
  }

  /** Stores what waits. A hole before or in it is filled from the history, which has every offset. */
  async #drain(): Promise<void> {
    const batch = this.#waiting.splice(0).sort((one, other) => one.offset - other.offset);
    const cursor = await this.#storedCursor();
    const news = newer(batch, cursor);
    if (news.length === 0) {
      return;
    }
    if (isContiguous(news, cursor)) {
      await this.database.apply(news, { offset: news.at(-1)!.offset, epoch: cursor.epoch });
    } else {
      await this.#catchUp();
      const after = await this.#storedCursor();
      if (after.epoch !== cursor.epoch) {
        throw new LostPosition('what has arrived belongs to the history of before');
      }
      const rest = newer(news, after);
      if (rest.length > 0) {
        if (!isContiguous(rest, after)) {
          throw new LostPosition(`the history ends at ${after.offset}, before ${rest[0]!.offset}`);
        }
        await this.database.apply(rest, { offset: rest.at(-1)!.offset, epoch: after.epoch });
      }
    }
    this.#current();
  }

  /** The position to subscribe from. */
  async #position(isRefused: boolean): Promise<Cursor> {
    const cursor = await this.database.cursor();
    if (cursor === undefined) {
      await this.#reload();
    } else if (isRefused) {
      await this.#catchUp();
    } else {
      this.listener.state({ phase: 'current' });
      return cursor;
    }
    return this.#storedCursor();
  }

  /** Pages through the history until the stored data is at its end. */
  async #catchUp(): Promise<void> {
    try {
      let cursor = await this.#storedCursor();
      const start = cursor.offset;
      for (;;) {
        const page = await this.line.history(this.channel, HISTORY_PAGE, cursor);
        const news = newer(page.publications, cursor);
        if (page.top.epoch !== cursor.epoch || page.top.offset < cursor.offset) {
          throw new LostPosition('the history is another one');
        }
        if (news.length === 0) {
          if (page.top.offset > cursor.offset) {
            throw new LostPosition('the history has lost its start');
          }
          break;
        }
        if (!isContiguous(news, cursor)) {
          throw new LostPosition('the history has a hole');
        }
        cursor = { offset: news.at(-1)!.offset, epoch: cursor.epoch };
        await this.database.apply(news, cursor);
        if (cursor.offset >= page.top.offset) {
          break;
        }
        this.listener.state({
          phase: 'catching_up',
          done: cursor.offset - start,
          total: page.top.offset - start,
        });
      }
      this.#current();
    } catch (error) {
      if (!isPositionLost(error)) {
        throw error;
      }
      await this.#reload();
      this.listener.cleared();
    }
  }

  /** Drops the cache and loads by query what still exists. */
  async #reload(): Promise<void> {
    this.listener.state({ phase: 'loading' });
    const former = await this.database.cursor();
    // The position first: what the queries say is at least as new, and applying an update twice changes nothing.
    const { top } = await this.line.history(this.channel, 0);
    const sessions = await this.#sessions();
    const shown = sessions.find((session) => session.id === this.#shown);
    const opened = shown ? [await this.#snapshot(shown.id)] : [];
    const turns: Turn[] = [];
    const rtcs: Rtc[] = [];
    for (const { id: session_id, status } of sessions.slice(0, SESSIONS_LOOKED_INTO)) {
      if (session_id !== shown?.id && status !== 'closed') {
        const open = (await this.#turns(session_id)).filter((turn) => !isTurnOver(turn.status));
        turns.push(...open);
        if (open.length > 0) {
          rtcs.push(...(await this.#rtcs(session_id)));
        }
      }
    }
    const isStored = await this.database.replace({ sessions, opened, turns, rtcs }, top, former);
    if (!isStored && shown) {
      await this.#open(shown.id);
    }
    this.#current();
  }

  async #sessions(): Promise<Session[]> {
    return (await this.line.call('v1.session.list', { limit: MAX_SESSIONS })).items;
  }

  #turns(session_id: string): Promise<Turn[]> {
    return everyPage((cursor) => this.line.call('v1.turn.list', { session_id, limit: LIST_PAGE, cursor }));
  }

  #rtcs(session_id: string): Promise<Rtc[]> {
    return everyPage((cursor) => this.line.call('v1.rtc.list', { session_id, limit: LIST_PAGE, cursor }));
  }

  async #snapshot(session_id: string): Promise<SessionSnapshot> {
    const request = { session_id, limit: KEPT_MESSAGES, order: 'newest_first' as const };
    const { items: messages, next_cursor } = await this.line.call('v1.message.list', request);
    const ids = new Set(messages.map((message) => message.id));
    const shown = new Set(messages.map((message) => message.turn_id));
    const turns = await this.#turns(session_id);
    const rtcs = await this.#rtcs(session_id);
    return {
      session_id,
      messages,
      turns: turns.filter((turn) => shown.has(turn.id) || !isTurnOver(turn.status)),
      rtcs: rtcs.filter((rtc) => ids.has(rtc.message_id) || !isCallOver(rtc.status)),
      has_earlier: Boolean(next_cursor),
    };
  }

  async #storedCursor(): Promise<Cursor> {
    const cursor = await this.database.cursor();
    if (cursor === undefined) {
      throw new LostPosition('nothing is stored');
    }
    return cursor;
  }

  #current(): void {
    this.#failures = 0;
    this.listener.state({ phase: 'current' });
  }

  /** The library's position is ahead of the stored one now: the subscription is made again from what is stored. */
  #fail(generation: number, error: unknown): void {
    if (generation !== this.#generation || this.#isClosed) {
      return;
    }
    this.#stop();
    const delay = Math.min(FIRST_RETRY_MS * 2 ** this.#failures++, MAX_RETRY_MS);
    this.listener.state({ phase: 'failed', reason: reasonOf(error) });
    this.#retry = setTimeout(() => this.start(), delay);
  }

  #stop(): void {
    this.#generation++;
    this.#waiting = [];
    clearTimeout(this.#retry);
    this.#unsubscribe?.();
    this.#unsubscribe = null;
  }
}

/** Everything of a list, which is in order of time, so that what is newest is on its last page. */
async function everyPage<T>(
  page: (cursor: string | null) => Promise<{ items: T[]; next_cursor?: string | null }>,
): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | null | undefined = null;
  do {
    const { items, next_cursor } = await page(cursor);
    all.push(...items);
    cursor = next_cursor;
  } while (cursor);
  return all;
}

/** What lies behind the cursor, each offset once. */
function newer(sorted: Publication[], cursor: Cursor): Publication[] {
  return sorted.filter(({ offset }, index) => offset > cursor.offset && offset !== sorted[index - 1]?.offset);
}

function isContiguous(news: Publication[], cursor: Cursor): boolean {
  return news.every(({ offset }, index) => offset === cursor.offset + 1 + index);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function isPositionLost(error: unknown): boolean {
  return (
    error instanceof LostPosition || (error instanceof RpcError && error.code === UNRECOVERABLE_POSITION)
  );
}
