import type { Platform } from '../platform/platform';
import type { Client } from '../wire/client';
import { isLineError } from '../wire/errors';
import type { Project } from '../wire/generated';

/** How many folders of before are known: those of sessions that are shown, and those to choose from. */
const MAX_RECENT = 200;

/** The folders that sessions work in, and the one for the next session. */
export class Folders {
  /** Those that are open, the last one last. */
  open = $state.raw<Project[]>([]);
  /** Those that were opened before, the last one first. */
  #recent = $state.raw<Project[]>([]);
  #chosen = $state<string | null>(null);
  /** Those that were opened again here, or could not be. */
  readonly #tried = new Set<string>();
  /** Counts what was done here, so that a list from before is not taken over it. */
  #changes = 0;

  /** The folder of a new session. */
  readonly current = $derived(this.open.find(({ id }) => id === this.#chosen) ?? this.open[0] ?? null);
  /** Folders that may be opened again. */
  readonly closed = $derived(this.#recent.filter(({ id }) => !this.open.some((open) => open.id === id)));

  constructor(
    private readonly line: Pick<Client, 'call'>,
    private readonly chooser: Platform['folders'],
    /** Called when a folder was opened. */
    private readonly opened: () => void,
  ) {}

  /** Whether the user opens folders here, and so is asked whether they trust them. */
  get areChosenHere(): boolean {
    return this.chooser !== null;
  }

  /** A folder, open or not, if it is known here. */
  find(project_id: string | null): Project | undefined {
    return [...this.open, ...this.#recent].find(({ id }) => id === project_id);
  }

  /** Whether nothing may be done in a folder before the user says that they trust it. */
  awaitsTrust(project: Project | null | undefined): boolean {
    return this.areChosenHere && project?.trusted === false;
  }

  /** Asks which folders there are. */
  async load(): Promise<void> {
    for (;;) {
      const before = this.#changes;
      const open = (await this.line.call('v1.project.list', {})).items;
      const recent = this.areChosenHere
        ? (await this.line.call('v1.project.recent', { limit: MAX_RECENT })).items
        : [];
      if (before === this.#changes) {
        this.open = open;
        this.#recent = recent;
        return;
      }
    }
  }

  /** Makes an open folder that of the next session. */
  use(project_id: string): void {
    this.#chosen = project_id;
  }

  /** Takes a folder that was opened, for the next session. */
  take(project: Project): void {
    this.#put(project);
    this.#chosen = project.id;
    this.opened();
  }

  /** Lets the user choose a folder; whether they did. */
  async choose(): Promise<boolean> {
    const project = (await this.chooser?.choose()) ?? null;
    if (project !== null) {
      this.take(project);
    }
    return project !== null;
  }

  /** Opens a folder of before. */
  async reopen({ root: path }: Project): Promise<void> {
    this.take((await this.line.call('v1.project.open', { path })).item);
  }

  /** Opens a folder that was open at an earlier start, if it is trusted and still there. */
  async openAgain({ id, root: path, trusted }: Project): Promise<void> {
    if (!this.areChosenHere || !trusted || this.#tried.has(id) || this.open.some((open) => open.id === id)) {
      return;
    }
    this.#tried.add(id);
    try {
      this.#put((await this.line.call('v1.project.open', { path })).item);
    } catch (error) {
      // What is wrong with it is told where its files are looked at; a line that broke comes back.
      if (isLineError(error)) {
        this.#tried.delete(id);
      }
    }
  }

  /** Notes that the user trusts a folder. */
  async trust({ id: project_id }: Project): Promise<void> {
    this.#put((await this.line.call('v1.project.trust', { project_id, trusted: true })).item);
  }

  /** Closes a folder; it can be opened again. */
  async close(project: Project): Promise<void> {
    await this.line.call('v1.project.close', { project_id: project.id });
    this.#changes++;
    this.open = this.open.filter(({ id }) => id !== project.id);
    this.#recent = [project, ...this.#recent.filter(({ id }) => id !== project.id)];
  }

  #put(project: Project): void {
    this.#changes++;
    this.open = this.open.some(({ id }) => id === project.id)
      ? this.open.map((open) => (open.id === project.id ? project : open))
      : [...this.open, project];
    // What is known of it from before is old.
    this.#recent = this.#recent.map((recent) => (recent.id === project.id ? project : recent));
  }
}
