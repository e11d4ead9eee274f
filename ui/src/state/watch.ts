import { liveQuery } from 'dexie';

/** Runs a query over the store now and after each change of what it read, also by another window. */
export function watch<T>(query: () => Promise<T>, set: (value: T) => void): () => void {
  const subscription = liveQuery(query).subscribe({
    next: set,
    // The store was closed, or the browser took it away; the topic tells of it.
    error: (error: unknown) => console.warn('a query of the store failed', error),
  });
  return () => subscription.unsubscribe();
}
