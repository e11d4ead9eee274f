import { beforeEach, describe, expect, it } from 'vitest';

import { RpcError } from '../wire/errors';
import type { Methods } from '../wire/generated';
import type { FileDraft } from '../store/database';
import type { FileDrafts } from './drafts';
import { Files } from './files.svelte';
import { isChanged } from './open-file';

/** What outlives a page; a page that is loaded again gets the same. */
let kept: Map<string, FileDraft>;
let isKeeping: boolean;
let open: () => Files;

const drafts: FileDrafts = {
  paths: () => Promise.resolve([...kept.keys()]),
  get: (_, path) => Promise.resolve(kept.get(path)),
  put: (draft) =>
    isKeeping ? Promise.resolve(void kept.set(draft.path, draft)) : Promise.reject(new Error('no room')),
  delete: (_, path) => Promise.resolve(void kept.delete(path)),
};

let disk: Map<string, string>;
/** How often a folder was listed. */
let lists = 0;
let files: Files;

function contentAt(path: string): string {
  const content = disk.get(path);
  if (content === undefined) {
    throw new RpcError('file.not_found', `there is no file ${path}`);
  }
  return content;
}

beforeEach(() => {
  disk = new Map([['/a.txt', 'one']]);
  const answers: { [M in keyof Methods]?: (request: Methods[M]['request']) => Methods[M]['result'] } = {
    'v1.fs.list': () => (
      (lists += 1),
      {
        items: (
          [
            ['f10.txt', 'file'],
            ['f100.txt', 'file'],
            ['f2.txt', 'file'],
            ['z', 'folder'],
            ['a.txt', 'file'],
          ] as const
        ).map(([name, kind]) => ({ name, kind, size: null, modified_at: null })),
      }
    ),
    'v1.fs.read': ({ path }) => {
      const content = contentAt(path);
      const size = content.length;
      return { path, content, format: 'text', size, hash: `#${content}`, encoding: 'utf-8' };
    },
    'v1.fs.stat': ({ path }) => {
      const content = contentAt(path);
      const item = { path, kind: 'file' as const, size: content.length, modified_at: null };
      return { item: { ...item, hash: `#${content}` } };
    },
    'v1.fs.write': ({ path, content, base_hash }) => {
      if (disk.has(path) ? `#${disk.get(path)}` !== base_hash : base_hash != null) {
        throw new RpcError('file.conflict', 'changed');
      }
      disk.set(path, content);
      return { path, hash: `#${content}`, size: content.length, created: false };
    },
  };
  const line: ConstructorParameters<typeof Files>[1] = {
    call: async (method, request) => (answers[method] as (request: unknown) => never)(request),
  };
  open = () => new Files('p-1', line, drafts);
  kept = new Map();
  isKeeping = true;
  files = open();
});

describe('files', () => {
  it('lists folders first, and names by their numbers', async () => {
    await files.refresh();
    const folder = files.folders['/'];
    expect(folder?.phase === 'listed' && folder.entries.map(({ name }) => name)).toEqual([
      'z',
      'a.txt',
      'f2.txt',
      'f10.txt',
      'f100.txt',
    ]);
  });

  it('keeps what was typed beyond a reload, and forgets it when it is saved', async () => {
    await files.show('/a.txt');
    files.type('/a.txt', 't');
    files.type('/a.txt', 'typed');
    expect(files.isUnkept).toBe(true);
    await files.settled();
    expect(files.isUnkept).toBe(false);
    expect(kept.get('/a.txt')).toMatchObject({ text: 'typed', hash: '#one' });

    files = open();
    await files.refresh();
    expect(files.drafted).toEqual(['/a.txt']);
    await files.show('/a.txt');
    expect(files.file).toMatchObject({ text: 'typed', saved: 'one', isConflicting: false });
    await files.save();
    expect(disk.get('/a.txt')).toBe('typed');
    expect(kept.size).toBe(0);
    expect(files.file?.wasSaved).toBe(true);
  });

  it('says that a file is another one than the draft was made from, also if it is gone', async () => {
    await files.show('/a.txt');
    files.type('/a.txt', 'mine');
    await files.settled();
    disk.set('/a.txt', 'theirs');
    files = open();
    await files.show('/a.txt');
    expect(files.file).toMatchObject({ text: 'mine', isConflicting: true });
    await files.save();
    expect(disk.get('/a.txt')).toBe('theirs');

    disk.delete('/a.txt');
    files = open();
    await files.show('/a.txt');
    expect(files.file).toMatchObject({ text: 'mine', isConflicting: true });
    await files.overwrite();
    expect(disk.get('/a.txt')).toBe('mine');
    expect(kept.size).toBe(0);
  });

  it('tells what could not be kept, until it is saved or dropped', async () => {
    isKeeping = false;
    await files.show('/a.txt');
    files.type('/a.txt', 'typed');
    await files.settled();
    expect(files.isUnkept).toBe(true);
    await files.reload();
    expect(files.isUnkept).toBe(false);
  });

  it('saves what was changed', async () => {
    await files.show('/a.txt');
    files.file!.text = 'two';
    await files.save();
    expect(disk.get('/a.txt')).toBe('two');
    expect(isChanged(files.file)).toBe(false);
  });

  it('keeps what was typed while it was saved', async () => {
    await files.show('/a.txt');
    files.file!.text = 'two';
    const saving = files.save();
    files.file!.text = 'two and more';
    await saving;
    expect(disk.get('/a.txt')).toBe('two');
    expect(isChanged(files.file)).toBe(true);
  });

  it('does not overwrite what somebody else wrote, unless it is told to', async () => {
    await files.show('/a.txt');
    files.file!.text = 'mine';
    disk.set('/a.txt', 'theirs');
    await files.save();
    expect(files.file!.isConflicting).toBe(true);
    expect(disk.get('/a.txt')).toBe('theirs');
    await files.overwrite();
    expect(files.file!.isConflicting).toBe(false);
    expect(disk.get('/a.txt')).toBe('mine');
  });

  it('writes a file anew that was removed in the meantime, if it is told to', async () => {
    await files.show('/a.txt');
    files.file!.text = 'mine';
    disk.delete('/a.txt');
    await files.save();
    expect(files.file!.isConflicting).toBe(true);
    await files.overwrite();
    expect(disk.get('/a.txt')).toBe('mine');
  });

  it('does not take other line ends for a change', async () => {
    disk.set('/a.txt', 'one\r\ntwo\r\n');
    await files.show('/a.txt');
    expect(files.file!.text).toBe('one\ntwo\n');
    expect(isChanged(files.file)).toBe(false);
  });

  it('takes what somebody else wrote when that is wanted', async () => {
    await files.show('/a.txt');
    files.file!.text = 'mine';
    disk.set('/a.txt', 'theirs');
    await files.save();
    await files.reload();
    expect(files.file).toMatchObject({ text: 'theirs', isConflicting: false });
  });

  it('follows what others change, and lets nobody lose what they type', async () => {
    const changed = (path: string) => files.changed({ project_id: 'p-1', path, change: 'changed' });
    await files.refresh();
    await files.show('/a.txt');
    disk.set('/a.txt', 'theirs');
    lists = 0;
    await Promise.all([changed('/a.txt'), changed('/b.txt'), changed('/d/unseen')]);
    expect(files.file).toMatchObject({ text: 'theirs', isConflicting: false });
    // Many changes of a folder are one, and what is not open is not listed.
    expect(lists).toBeLessThanOrEqual(2);
    files.file!.text = 'mine';
    disk.set('/a.txt', 'theirs again');
    // Of a folder in which much changed only the folder is told.
    await changed('/');
    expect(files.file).toMatchObject({ text: 'mine', isConflicting: true });
    await files.reload();
    expect(files.file).toMatchObject({ text: 'theirs again', isConflicting: false });
    disk.delete('/a.txt');
    await changed('/a.txt');
    expect(files.file).toMatchObject({ text: 'theirs again', isConflicting: true });
  });

  it('keeps unsaved changes while another file is looked at', async () => {
    disk.set('/b.txt', 'b');
    await files.show('/a.txt');
    files.file!.text = 'mine';
    files.leave();
    await files.show('/b.txt');
    files.leave();
    await files.show('/a.txt');
    expect(files.file!.text).toBe('mine');
  });

  it('says why a file cannot be read', async () => {
    await files.show('/none');
    expect(files.error).toBe('There is no file /none.');
    expect(files.shown).toBeNull();
  });
});
