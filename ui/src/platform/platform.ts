import type { ClientOptions } from '../wire/client';
import type { Project } from '../wire/generated';

/** What the window is told from outside of its page. */
export type WindowEvent =
  /** A folder that the window was started with, or that a later start of the program asked for. */
  | { type: 'opened'; project: Project }
  /** Something that the user should know. */
  | { type: 'problem'; text: string };

/** What the page runs in: how it reaches the engine, and what can be done there. What a place cannot do is null. */
export interface Platform extends ClientOptions {
  /** Whose words fit: a browser is signed in by an address, a window by the program that it belongs to. */
  readonly place: 'browser' | 'window';
  /** Whether this page runs the calls of its device. */
  readonly executes: boolean;
  readonly folders: {
    /** Lets the user choose a folder, which is open then; null if they chose none. */
    choose(): Promise<Project | null>;
  } | null;
  /** Shows a session, or the place to begin one, in another window. */
  readonly openWindow: ((session_id: string | null) => Promise<void>) | null;
  /** Opens an address outside; null where a link does so by itself. */
  readonly openLink: ((url: string) => Promise<void>) | null;
  /** Loads the page again. */
  reload(): void;
  /** Tells what happens to the window from now on. */
  watch(told: (event: WindowEvent) => void): void;
}
