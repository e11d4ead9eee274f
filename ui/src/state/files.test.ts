import { beforeEach, describe, expect, it } from 'vitest';

import { RpcError } from '../wire/errors';
import type { Methods } from '../wire/generated';
import { Files, isChanged } from './files.svelte';

let disk: Map<string, string>;
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
    'v1.fs.list': () => ({
      items: (
        [
          ['b.txt', 'file'],
          ['z', 'folder'],
          ['a.txt', 'file'],
        ] as const
      ).map(([name, kind]) => ({ name, kind, size: null, modified_at: null })),
    }),
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
  files = new Files('p-1', {
    call: async (method, request) => (answers[method] as (request: unknown) => never)(request),
  });
});

describe('files', () => {
  it('lists folders first', async () => {
    await files.refresh();
    const folder = files.folders['/'];
    expect(folder?.phase === 'listed' && folder.entries.map(({ name }) => name)).toEqual([
      'z',
      'a.txt',
      'b.txt',
    ]);
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
