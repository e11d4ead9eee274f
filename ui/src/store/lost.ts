import type { Database } from './database';

/** A page is not loaded again by itself before it is this old, so that what breaks at once makes no loop. */
export const SHORTEST_LIFE_MS = 5_000;

/** What to do about a store that is lost. */
export interface Lost {
  /** Loads the page again. */
  reload(): void;
  /** It could not be opened: nothing is kept, and loading the page again would not change that. */
  broken(): void;
}

/**
 * Watches whether a store is lost, once. The browser closes it when its own process for storage ends, and WebKit gives
 * the same page none any more, however often it is asked; so the page is loaded again.
 */
export function whenLost(database: Database, { reload, broken }: Lost): () => void {
  let wasOpen = false;
  let isLost = false;
  let waiting: ReturnType<typeof setTimeout> | undefined;
  const opened = () => {
    wasOpen = true;
  };
  // Told also when an attempt to open it has failed.
  const closed = () => {
    if (isLost) {
      return;
    }
    isLost = true;
    if (wasOpen) {
      waiting = setTimeout(reload, Math.max(0, SHORTEST_LIFE_MS - performance.now()));
    } else {
      broken();
    }
  };
  database.on('ready', opened);
  database.on('close', closed);
  return () => {
    database.on('close').unsubscribe(closed);
    clearTimeout(waiting);
  };
}
