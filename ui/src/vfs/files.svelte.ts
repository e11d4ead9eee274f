import { explain } from '../state/advice';
import { RpcError } from '../wire/errors';
import type { Code, FileChanged, FileEntry, FileKind, Methods } from '../wire/generated';
import type { FileDrafts } from './drafts';
import { isChanged, openFile, type OpenFile } from './open-file';

/** What the files need of a connection. */
interface FilesLine {
  call<M extends keyof Methods>(method: M, request: Methods[M]['request']): Promise<Methods[M]['result']>;
}

/** A folder that is shown. */
export type Folder =
  { phase: 'loading' } | { phase: 'listed'; entries: FileEntry[] } | { phase: 'failed'; reason: string };

/** The most bytes of a file that is edited here; a larger one is for a real editor. */
const MAX_BYTES = 2 * 1024 * 1024;

/** Names by the numbers in them: f2 before f10. */
const names = new Intl.Collator(undefined, { numeric: true });

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

/** The folder of a project: a tree, and files that are edited by hand. */
export class Files {
  folders = $state<Record<string, Folder>>({});
  expanded = $state<string[]>(['/']);
  /** Files with changes that are not saved stay here while another one is looked at. */
  files = $state<Record<string, OpenFile>>({});
  shown = $state<string | null>(null);
  error = $state<string | null>(null);
  /** Files of which an unsaved text was left, maybe by the page before a reload. */
  drafted = $state<string[]>([]);

  readonly file = $derived(this.shown === null ? undefined : this.files[this.shown]);

  /** Texts whose drafts are not kept yet, or could not be. */
  #unkept = new Set<string>();
  /** What changed and was not looked at yet; many changes of a folder are one. */
  #stale = new Set<string>();
  #renewing: Promise<void> | null = null;
  /** Drafts are written one after the other, the last text of a file last. */
  #keeping = new Map<string, Promise<void>>();

  constructor(
    readonly project_id: string,
    private readonly line: FilesLine,
    private readonly drafts: FileDrafts,
  ) {}

  /** Whether something would be lost with the page. */
  get isUnkept(): boolean {
    return this.#unkept.size > 0;
  }

  /** Takes over what the user has typed, and keeps it. */
  type(path: string, text: string): void {
    const file = this.files[path];
    if (file) {
      file.text = text;
      void this.#keep(path);
    }
  }

  /** Waits until what was typed until now is kept. */
  async settled(): Promise<void> {
    await Promise.all(this.#keeping.values());
  }

  /** Lists all folders that are open, again, and looks at the files that are. */
  async refresh(): Promise<void> {
    await Promise.all([
      this.drafts.paths(this.project_id).then((paths) => (this.drafted = paths)),
      ...this.expanded.map((path) => this.#list(path)),
      ...Object.values(this.files).map((file) => this.#follow(file)),
    ]);
  }

  /** Takes in that something was changed, maybe by somebody else: what is looked at is as it is now. */
  changed({ path }: FileChanged): Promise<void> {
    this.#stale.add(path);
    this.#renewing ??= this.#renew().finally(() => (this.#renewing = null));
    return this.#renewing;
  }

  /** Opens or closes a folder. */
  async toggle(path: string): Promise<void> {
    if (this.expanded.includes(path)) {
      this.expanded = this.expanded.filter((expanded) => expanded !== path);
    } else {
      this.expanded.push(path);
      await this.#list(path);
    }
  }

  /** Opens or shows an entry, of a link what it leads to. */
  async choose(path: string, kind: FileKind): Promise<void> {
    this.error = null;
    try {
      const { project_id } = this;
      const target =
        kind === 'link' ? (await this.line.call('v1.fs.stat', { project_id, path })).item.kind : kind;
      await (target === 'folder' ? this.toggle(path) : this.show(path));
    } catch (error) {
      this.error = explain(error);
    }
  }

  /** Shows a file; one with unsaved changes as it was left. */
  async show(path: string): Promise<void> {
    this.error = null;
    if (!isChanged(this.files[path])) {
      try {
        await this.#open(path);
      } catch (error) {
        this.error = explain(error);
        return;
      }
    }
    this.shown = path;
  }

  /** Goes back to the tree. */
  leave(): void {
    if (this.shown !== null && !isChanged(this.file)) {
      delete this.files[this.shown];
    }
    this.shown = null;
    this.error = null;
  }

  /** Drops the user's changes and reads the file as it is now. */
  async reload(): Promise<void> {
    await this.#change(async (file) => {
      await this.#read(file.path);
      await this.#keep(file.path);
    });
  }

  /** Saves, if the file is still what it was when it was read. */
  async save(): Promise<void> {
    await this.#change((file) => this.#write(file, file.hash));
  }

  /** Saves over what somebody else wrote. */
  async overwrite(): Promise<void> {
    await this.#change(async (file) => {
      await this.#write(file, await this.#hash(file.path));
    });
  }

  async #renew(): Promise<void> {
    while (this.#stale.size > 0) {
      const stale = new Set(this.#stale);
      this.#stale.clear();
      // Of a folder in which much changed only the folder is told.
      const isStale = (path: string) => stale.has(path) || stale.has(parentOf(path));
      const folders = this.expanded.filter((path) => [...stale, ...[...stale].map(parentOf)].includes(path));
      const files = Object.values(this.files).filter((file) => isStale(file.path));
      await Promise.all([
        ...folders.map((path) => this.#list(path)),
        ...files.map((file) => this.#follow(file)),
      ]);
    }
  }

  /** Shows a file as it is now; what the user has typed stays, and they are told. */
  async #follow(file: OpenFile): Promise<void> {
    const hash = await this.#hash(file.path).catch(() => file.hash);
    if (hash === file.hash || file.isSaving || this.files[file.path] !== file) {
      return;
    }
    if (hash === null || isChanged(file)) {
      file.isConflicting = true;
      return;
    }
    await this.#read(file.path).catch((error: unknown) => (this.error = explain(error)));
  }

  async #list(path: string): Promise<void> {
    this.folders[path] ??= { phase: 'loading' };
    try {
      const entries: FileEntry[] = [];
      let cursor: string | null | undefined = null;
      do {
        const request: Methods['v1.fs.list']['request'] = { project_id: this.project_id, path, cursor };
        const page = await this.line.call('v1.fs.list', request);
        entries.push(...page.items);
        cursor = page.next_cursor;
      } while (cursor);
      const rank = (entry: FileEntry) => (entry.kind === 'folder' ? 0 : 1);
      const sorted = entries.sort(
        (one, other) => rank(one) - rank(other) || names.compare(one.name, other.name),
      );
      this.folders[path] = { phase: 'listed', entries: sorted };
    } catch (error) {
      this.folders[path] = { phase: 'failed', reason: explain(error) };
    }
  }

  /** Reads a file, and lays over it what the user has left unsaved. */
  async #open(path: string): Promise<void> {
    await this.#keeping.get(path);
    const draft = await this.drafts.get(this.project_id, path).catch(() => undefined);
    let isGone = false;
    try {
      await this.#read(path);
    } catch (error) {
      if (draft === undefined || !hasCode(error, 'file.not_found')) {
        throw error;
      }
      // Removed in the meantime; what was typed is still there.
      isGone = true;
      this.files[path] = openFile(path, '', draft.hash);
    }
    const file = this.files[path]!;
    if (draft === undefined) {
      return;
    }
    if (draft.text === file.saved) {
      await this.#keep(path);
    } else {
      const isConflicting = isGone || draft.hash !== file.hash;
      Object.assign(file, { text: draft.text, hash: draft.hash, isConflicting });
    }
  }

  /** Keeps the text of a file as it is now, or forgets it if it is saved. */
  #keep(path: string): Promise<void> {
    const isWaiting = this.#unkept.has(path) && this.#keeping.has(path);
    this.#unkept.add(path);
    if (isWaiting) {
      // What is written now is followed by what the text is then.
      return this.#keeping.get(path)!;
    }
    const keeping = this.#keepNow(path).finally(() => {
      if (this.#keeping.get(path) === keeping) {
        this.#keeping.delete(path);
      }
    });
    this.#keeping.set(path, keeping);
    return keeping;
  }

  async #keepNow(path: string): Promise<void> {
    const { project_id } = this;
    try {
      let text;
      do {
        const file = this.files[path];
        text = file?.text;
        await (file && isChanged(file)
          ? this.drafts.put({ project_id, path, text: file.text, hash: file.hash })
          : this.drafts.delete(project_id, path));
      } while (this.files[path]?.text !== text);
      const others = this.drafted.filter((drafted) => drafted !== path);
      this.drafted = isChanged(this.files[path]) ? [...others, path] : others;
      this.#unkept.delete(path);
    } catch {
      // What is changed is still unkept, of which the page tells when it is left.
      if (!isChanged(this.files[path])) {
        this.#unkept.delete(path);
      }
    }
  }

  async #read(path: string): Promise<void> {
    const request = { project_id: this.project_id, path, format: 'text', limit: MAX_BYTES } as const;
    const { content, hash, next_offset } = await this.line.call('v1.fs.read', request);
    if (next_offset != null) {
      throw new RpcError('file.too_large', `${path} has more than ${MAX_BYTES / 1024 / 1024} MB of text`);
    }
    // As a text field gives it back; the server keeps the line ends that the file has.
    const saved = content.replaceAll('\r\n', '\n');
    this.files[path] = openFile(path, saved, hash);
  }

  /** Of the content on disk; nothing where there is no file any more. */
  async #hash(path: string): Promise<string | null> {
    try {
      return (await this.line.call('v1.fs.stat', { project_id: this.project_id, path })).item.hash;
    } catch (error) {
      if (hasCode(error, 'file.not_found')) {
        return null;
      }
      throw error;
    }
  }

  async #write(file: OpenFile, base_hash: string | null): Promise<void> {
    const { project_id } = this;
    const content = file.text;
    try {
      const { hash } = await this.line.call('v1.fs.write', {
        project_id,
        path: file.path,
        content,
        base_hash,
      });
      Object.assign(file, { saved: content, hash, isConflicting: false, wasSaved: true });
      await this.#keep(file.path);
    } catch (error) {
      if (!hasCode(error, 'file.conflict') && !hasCode(error, 'file.not_found')) {
        throw error;
      }
      file.isConflicting = true;
    }
  }

  async #change(change: (file: OpenFile) => Promise<void>): Promise<void> {
    const { file } = this;
    if (!file || file.isSaving) {
      return;
    }
    this.error = null;
    file.isSaving = true;
    try {
      await change(file);
    } catch (error) {
      this.error = explain(error);
    } finally {
      file.isSaving = false;
    }
  }
}

function hasCode(error: unknown, code: Code): boolean {
  return error instanceof RpcError && error.code === code;
}
