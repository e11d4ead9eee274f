import Dexie, { type Collection, type EntityTable, type InsertType, type Table } from 'dexie';

import type { Message, Rtc, Session, Turn, Update } from '../wire/generated';
import { isCallOver, isTurnOver, mergeMessage, mergeRtc, mergeTurn } from './merge';

/** Where the stored data is in the topic. */
export interface Cursor {
  offset: number;
  epoch: string;
}

/** A session whose messages are kept. */
interface Opened {
  session_id: string;
  /** Milliseconds, when it was last opened; the longest unopened is dropped first. */
  opened_at: number;
  /** The first kept message by its place; what comes before is asked for, so that there are no holes. */
  first_offset: number;
}

/** A message that was not sent yet. */
interface Draft {
  key: string;
  text: string;
}

/** The text of a file that was not saved yet. */
export interface FileDraft {
  project_id: string;
  path: string;
  text: string;
  /** What the content that it was made from is known by. */
  hash: string;
}

/** How the user answered questions of the model, until the server has it. */
export interface Submit {
  rtc_id: string;
  client_id: string;
  /** What was asked is answered by this; null: the user declined. */
  answer: Record<string, unknown> | null;
}

/** What the server says of the end of one session. */
export interface SessionSnapshot {
  session_id: string;
  messages: Message[];
  turns: Turn[];
  rtcs: Rtc[];
  /** Whether there are messages before these. */
  has_earlier: boolean;
}

/** What the server says of a user. */
export interface UserSnapshot {
  sessions: Session[];
  /** Sessions to keep opened. */
  opened: SessionSnapshot[];
  /** Turns and calls of other sessions; those that are not over are kept. */
  turns: Turn[];
  rtcs: Rtc[];
}

/** How many messages of an opened session are kept. */
export const KEPT_MESSAGES = 200;
/** Trimming waits until this many more have come, so that not every message pays for it. */
const TRIM_SLACK = 50;
/** How many sessions are kept opened. */
export const KEPT_SESSIONS = 20;

/**
 * The page's cache of one user's data. It is bounded: all sessions, what is not over of any session, and the last messages
 * of the sessions that were opened. Everything else comes by request.
 */
export class Database extends Dexie {
  declare readonly sessions: EntityTable<Session, 'id'>;
  declare readonly turns: EntityTable<Turn, 'id'>;
  declare readonly messages: EntityTable<Message, 'id'>;
  declare readonly rtcs: EntityTable<Rtc, 'id'>;
  declare readonly opened: EntityTable<Opened, 'session_id'>;
  declare readonly drafts: EntityTable<Draft, 'key'>;
  declare readonly file_drafts: Table<FileDraft, [string, string]>;
  declare readonly submits: EntityTable<Submit, 'rtc_id'>;
  declare readonly cursors: EntityTable<Cursor & { channel: 'topic' }, 'channel'>;

  constructor(user: string) {
    // What another window has stored is read, not what this one remembers of it.
    super(`rtc-desktop-${user}`, { cache: 'disabled' });
    const tables = {
      sessions: 'id',
      turns: 'id, session_id',
      messages: 'id, [session_id+global_offset]',
      rtcs: 'id, session_id, status',
      opened: 'session_id, opened_at',
      drafts: 'key',
      cursors: 'channel',
    };
    this.version(1).stores(tables);
    // What version 1 kept may have holes; without a cursor everything is loaded anew.
    this.version(2)
      .stores({ ...tables, file_drafts: '[project_id+path], project_id' })
      .upgrade((change) => change.table('cursors').clear());
    this.version(3).stores({ submits: 'rtc_id' });
  }

  /** How far the stored data is, if there is any. */
  async cursor(): Promise<Cursor | undefined> {
    const stored = await this.cursors.get('topic');
    return stored && { offset: stored.offset, epoch: stored.epoch };
  }

  /**
   * Stores updates together with the cursor behind them, or nothing at all. What is at or before the stored cursor was
   * stored before, maybe by another window, and is left out.
   */
  async apply(updates: { offset: number; update: Update | null }[], behind: Cursor): Promise<void> {
    await this.#change(async () => {
      const cursor = await this.cursor();
      if (cursor?.epoch !== behind.epoch) {
        throw new Error('the stored data belongs to another epoch');
      }
      if (updates[0] && updates[0].offset > cursor.offset + 1) {
        throw new Error('the stored data is not as far as these updates');
      }
      for (const { offset, update } of updates) {
        if (offset > cursor.offset && update !== null) {
          await this.#put(update);
        }
      }
      if (behind.offset > cursor.offset) {
        await this.cursors.put({ channel: 'topic', ...behind });
      }
    });
  }

  /**
   * Drops everything but what the user has written and takes over what the server says, which is at least as new as the cursor. Stores
   * nothing, and says so, if another window has stored in the meantime what is as new.
   */
  async replace(
    { sessions, opened, turns, rtcs }: UserSnapshot,
    cursor: Cursor,
    former?: Cursor,
  ): Promise<boolean> {
    return this.#change(async () => {
      const stored = await this.cursor();
      const isAsNew = stored?.epoch === cursor.epoch && stored.offset >= cursor.offset;
      if (isAsNew && stored.offset !== former?.offset) {
        return false;
      }
      await Promise.all(
        [this.sessions, this.turns, this.messages, this.rtcs, this.opened].map((table) => table.clear()),
      );
      await this.sessions.bulkPut(sessions.filter((session) => session.deleted_at === null));
      for (const snapshot of opened) {
        await this.#putSnapshot(snapshot);
      }
      for (const turn of turns) {
        await this.#putTurn(turn);
      }
      for (const rtc of rtcs) {
        await this.#putRtc(rtc);
      }
      await this.cursors.put({ channel: 'topic', ...cursor });
      return true;
    });
  }

  /**
   * Keeps the messages of a session from now on: the snapshot, and what of the session changed since, up to a position.
   * Stores nothing, and says so, if the stored data is beyond that position: what is at or before the cursor is never
   * applied again, so the session would lack it for good.
   */
  async openSession(
    snapshot: SessionSnapshot,
    position: Cursor | undefined,
    since: { offset: number; update: Update | null }[] = [],
  ): Promise<boolean> {
    return this.#change(async () => {
      const cursor = await this.cursor();
      if (cursor && (cursor.epoch !== position?.epoch || cursor.offset > position.offset)) {
        return false;
      }
      await this.#putSnapshot(snapshot);
      for (const { update } of since) {
        if (update !== null) {
          await this.#put(update, snapshot.session_id);
        }
      }
      const surplus = (await this.opened.count()) - KEPT_SESSIONS;
      if (surplus > 0) {
        for (const { session_id } of await this.opened.orderBy('opened_at').limit(surplus).toArray()) {
          await this.#closeSession(session_id);
        }
      }
      return true;
    });
  }

  /** Whether the messages of a session are kept; another window may have dropped them. */
  async isKept(session_id: string): Promise<boolean> {
    return this.#isOpened(session_id);
  }

  /** Notes that an opened session was looked at again; whether it is kept. */
  async touch(session_id: string): Promise<boolean> {
    return (await this.opened.update(session_id, { opened_at: Date.now() })) > 0;
  }

  /** Whether messages of an opened session come before the kept ones. */
  async hasEarlier(session_id: string): Promise<boolean> {
    return ((await this.opened.get(session_id))?.first_offset ?? 0) > 1;
  }

  /** The kept messages of a session, in order. */
  messagesOf(session_id: string): Promise<Message[]> {
    return this.#range(session_id).toArray();
  }

  #change<T>(change: () => Promise<T>): Promise<T> {
    return this.transaction(
      'rw',
      [this.sessions, this.turns, this.messages, this.rtcs, this.opened, this.drafts, this.cursors],
      change,
    );
  }

  /** Takes over an update, or what of it belongs to one session. */
  async #put(update: Update, session_id?: string): Promise<void> {
    for (const [index, item] of update.items.entries()) {
      const data = update.data_list?.[index];
      if (typeof data !== 'object' || data === null || Array.isArray(data)) {
        continue;
      }
      const isOfAnother =
        item.entity === 'session' || ('session_id' in data && data['session_id'] !== session_id);
      if (session_id !== undefined && isOfAnother) {
        continue;
      }
      const isGone = 'deleted_at' in data && typeof data.deleted_at === 'string';
      const entity: unknown = data;
      switch (item.entity) {
        case 'session':
          await (isGone ? this.#forget(item.entity_id) : this.sessions.put(entity as Session));
          break;
        case 'turn':
          await (isGone ? this.turns.delete(item.entity_id) : this.#putTurn(entity as Turn));
          break;
        case 'message':
          await (isGone ? this.messages.delete(item.entity_id) : this.#putMessage(entity as Message));
          break;
        case 'rtc':
          await (isGone ? this.rtcs.delete(item.entity_id) : this.#putRtc(entity as Rtc));
          break;
        case 'file':
          break;
      }
    }
  }

  async #putTurn(arriving: Turn): Promise<void> {
    const turn = mergeTurn(await this.turns.get(arriving.id), arriving);
    await (isTurnOver(turn.status) && !(await this.#isOpened(turn.session_id))
      ? this.turns.delete(turn.id)
      : this.turns.put(turn));
  }

  async #putRtc(arriving: Rtc): Promise<void> {
    const rtc = mergeRtc(await this.rtcs.get(arriving.id), arriving);
    await (isCallOver(rtc.status) && !(await this.#isOpened(rtc.session_id))
      ? this.rtcs.delete(rtc.id)
      : this.rtcs.put(rtc));
  }

  async #putMessage(arriving: Message): Promise<void> {
    const opened = await this.opened.get(arriving.session_id);
    if (opened === undefined || arriving.global_offset < opened.first_offset) {
      return;
    }
    await this.messages.put(mergeMessage(await this.messages.get(arriving.id), arriving));
    await this.#trim(opened);
  }

  async #putSnapshot(snapshot: SessionSnapshot): Promise<void> {
    const { session_id, messages, turns, rtcs, has_earlier } = snapshot;
    // A mixture with what was kept before might have holes.
    await this.#clearSession(session_id);
    const first = messages.reduce((least, { global_offset }) => Math.min(least, global_offset), Infinity);
    const first_offset = has_earlier && Number.isFinite(first) ? first : 0;
    await this.opened.put({ session_id, opened_at: Date.now(), first_offset });
    for (const turn of turns) {
      await this.#putTurn(turn);
    }
    for (const rtc of rtcs) {
      await this.#putRtc(rtc);
    }
    for (const message of messages) {
      await this.#putMessage(message);
    }
  }

  async #trim({ session_id }: Opened): Promise<void> {
    const count = await this.#range(session_id).count();
    if (count <= KEPT_MESSAGES + TRIM_SLACK) {
      return;
    }
    const all = await this.messagesOf(session_id);
    const kept = all.slice(-KEPT_MESSAGES);
    await this.messages.bulkDelete(all.slice(0, -KEPT_MESSAGES).map((message) => message.id));
    await this.opened.update(session_id, { first_offset: kept[0]!.global_offset });
    const messages = new Set(kept.map((message) => message.id));
    await this.#clearOver(
      session_id,
      (rtc) => !messages.has(rtc.message_id),
      (turn) => kept.every((message) => message.turn_id !== turn.id),
    );
  }

  async #closeSession(session_id: string): Promise<void> {
    await this.opened.delete(session_id);
    await this.#clearSession(session_id);
  }

  /** What is not over stays: lists show it. */
  async #clearSession(session_id: string): Promise<void> {
    await this.#range(session_id).delete();
    await this.#clearOver(session_id);
  }

  async #clearOver(
    session_id: string,
    isUnwantedRtc: (rtc: Rtc) => boolean = () => true,
    isUnwantedTurn: (turn: Turn) => boolean = () => true,
  ): Promise<void> {
    const rtcs = this.rtcs.where({ session_id });
    await rtcs.filter((rtc) => isCallOver(rtc.status) && isUnwantedRtc(rtc)).delete();
    const turns = this.turns.where({ session_id });
    await turns.filter((turn) => isTurnOver(turn.status) && isUnwantedTurn(turn)).delete();
  }

  #range(session_id: string): Collection<Message, string, InsertType<Message, 'id'>> {
    const index = this.messages.where('[session_id+global_offset]');
    return index.between([session_id, Dexie.minKey], [session_id, Dexie.maxKey]);
  }

  async #forget(session_id: string): Promise<void> {
    await this.#closeSession(session_id);
    await this.turns.where({ session_id }).delete();
    await this.rtcs.where({ session_id }).delete();
    await this.sessions.delete(session_id);
    await this.drafts.delete(session_id);
  }

  async #isOpened(session_id: string): Promise<boolean> {
    return (await this.opened.get(session_id)) !== undefined;
  }
}
