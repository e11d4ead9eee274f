import { detailsOf, explain, isDiskFull } from './advice';

/** What a notice is about that is over by itself: a folder that could not be opened, a disk that is full. */
export type About = 'folder' | 'disk';

/** Something to tell the user until they have read it. */
export interface Notice {
  id: number;
  text: string;
  isError: boolean;
  /** For those who look closer. */
  details: string | null;
  about: About | null;
}

/** How many notices are shown at once. */
const MAX_NOTICES = 3;

/** What the user is told; the same text once. */
export class Notices {
  list = $state.raw<Notice[]>([]);
  #lastId = 0;

  /** Shows a notice. */
  tell(text: string, isError: boolean, about: About | null = null, details: string | null = null): void {
    const others = this.list.filter((notice) => notice.text !== text);
    this.list = [...others.slice(1 - MAX_NOTICES), { id: ++this.#lastId, text, isError, about, details }];
  }

  /** Shows an error: what happened, and what to do. */
  tellError(error: unknown, about: About | null = null): void {
    this.tell(explain(error), true, isDiskFull(error) ? 'disk' : about, detailsOf(error));
  }

  /** Takes away what is over. */
  over(about: About): void {
    this.list = this.list.filter((notice) => notice.about !== about);
  }

  /** Takes a notice away. */
  dismiss(id: number): void {
    this.list = this.list.filter((notice) => notice.id !== id);
  }
}
