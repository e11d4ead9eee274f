import type { Database } from './database';

/** The draft of a session that does not exist yet. */
const NEW_SESSION = 'new';

/** What of this tab outlives a reload; nothing where the browser keeps nothing. */
export function storageOfTab(): Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> | null {
  try {
    return sessionStorage;
  } catch {
    return null;
  }
}

/**
 * The texts of the message field until they are sent, by session. What the store does not have, because it is not known
 * yet or takes nothing, outlives a reload beside it.
 */
export class Drafts {
  readonly #unstored = new Map<string, string>();
  #database: Database | null = null;

  constructor(private readonly tab = storageOfTab()) {}

  /** Keeps them in a store from now on, also what was typed before. */
  async use(database: Database): Promise<void> {
    this.#database = database;
    const left = JSON.parse(this.tab?.getItem(this.#name()) ?? '[]') as [key: string, text: string][];
    for (const [key, text] of left) {
      if (!this.#unstored.has(key)) {
        this.#unstored.set(key, text);
      }
    }
    await Promise.all([...this.#unstored.keys()].map((key) => this.#store(key)));
  }

  /** The text that was left for a session, or with `null` for a new one. */
  async get(session_id: string | null): Promise<string> {
    const key = session_id ?? NEW_SESSION;
    const stored = () => this.#database?.drafts.get(key).catch(() => undefined);
    return this.#unstored.get(key) ?? (await stored())?.text ?? '';
  }

  /** Keeps a text. */
  async put(session_id: string | null, text: string): Promise<void> {
    const key = session_id ?? NEW_SESSION;
    this.#unstored.set(key, text);
    await this.#store(key);
  }

  /** Keeps beside the store what it does not have; for when the page ends. */
  setAside(): void {
    if (this.#database === null) {
      return;
    }
    try {
      if (this.#unstored.size > 0) {
        this.tab?.setItem(this.#name(), JSON.stringify([...this.#unstored]));
      } else {
        this.tab?.removeItem(this.#name());
      }
    } catch (error) {
      console.warn('what was typed cannot be kept', error);
    }
  }

  async #store(key: string): Promise<void> {
    const text = this.#unstored.get(key);
    if (this.#database === null || text === undefined) {
      return;
    }
    const { drafts } = this.#database;
    try {
      await (text === '' ? drafts.delete(key) : drafts.put({ key, text }));
      if (this.#unstored.get(key) === text) {
        this.#unstored.delete(key);
      }
    } catch (error) {
      // It is still kept here, and set aside when the page ends.
      console.warn('what was typed is not stored', error);
    }
  }

  /** Of another user nothing is taken. */
  #name(): string {
    return `drafts of ${this.#database?.name}`;
  }
}
