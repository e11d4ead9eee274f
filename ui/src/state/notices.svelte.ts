import { detailsOf, explain } from './advice';

/** Something to tell the user until they have read it. */
export interface Notice {
  id: number;
  text: string;
  isError: boolean;
  /** For those who look closer. */
  details: string | null;
}

/** How many notices are shown at once. */
const MAX_NOTICES = 3;

/** What the user is told; the same text once. */
export class Notices {
  list = $state.raw<Notice[]>([]);
  #lastId = 0;

  /** Shows a notice. */
  tell(text: string, isError: boolean, details: string | null = null): void {
    const others = this.list.filter((notice) => notice.text !== text);
    this.list = [...others.slice(1 - MAX_NOTICES), { id: ++this.#lastId, text, isError, details }];
  }

  /** Shows an error: what happened, and what to do. */
  tellError(error: unknown): void {
    this.tell(explain(error), true, detailsOf(error));
  }

  /** Takes a notice away. */
  dismiss(id: number): void {
    this.list = this.list.filter((notice) => notice.id !== id);
  }
}
