import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { project } from '../testing/entities';
import { FakeNative } from '../testing/fake-native';
import { RpcError, SignedOutError } from '../wire/errors';
import { desktop } from './desktop';

let native: FakeNative;

beforeEach(() => {
  native = new FakeNative();
});

afterEach(() => native.remove());

describe('a window', () => {
  it('signs in by the program, and says why if it cannot', async () => {
    const signIn = { token: 't', user_id: 'user-1', device_id: 'device-1' };
    native.commands['sign_in'] = () => signIn;
    expect(await desktop().fetchToken()).toEqual(signIn);
    native.commands['sign_in'] = () => {
      throw { code: 'engine.shutting_down', message: 'the engine is ending' };
    };
    const refusal = await desktop()
      .fetchToken()
      .catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(SignedOutError);
    expect((refusal as Error).message).toBe('the engine is ending');
  });

  it('lets a folder be chosen, or none', async () => {
    const chosen = project({ id: 'p-1' });
    native.commands['choose_folder'] = () => chosen;
    expect(await desktop().folders!.choose()).toEqual(chosen);
    native.commands['choose_folder'] = () => null;
    expect(await desktop().folders!.choose()).toBeNull();
    native.commands['choose_folder'] = () => {
      throw { code: 'project.unusable', message: 'it is a file' };
    };
    const refusal = await desktop()
      .folders!.choose()
      .catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(RpcError);
    expect(refusal).toMatchObject({ code: 'project.unusable', message: 'it is a file' });
  });

  it('is told what happens to it, also that it cannot be told', async () => {
    const told = vi.fn();
    native.commands['window_watch'] = ({ told }) =>
      native.tell(told, { type: 'opened', project: project({ id: 'p-1' }) });
    desktop().watch(told);
    await vi.waitFor(() => expect(told).toHaveBeenCalledOnce());
    expect(told).toHaveBeenCalledWith({ type: 'opened', project: project({ id: 'p-1' }) });
    delete native.commands['window_watch'];
    desktop().watch(told);
    await vi.waitFor(() => expect(told).toHaveBeenCalledTimes(2));
    expect(told.mock.lastCall?.[0]).toMatchObject({ type: 'problem' });
  });

  it('opens windows and addresses by their commands', async () => {
    native.commands['open_window'] = native.commands['open_link'] = () => null;
    await desktop().openWindow!('s-1');
    await desktop().openWindow!(null);
    await desktop().openLink!('https://example.org/');
    expect(native.calls).toEqual([
      { name: 'open_window', parameters: { session: 's-1' } },
      { name: 'open_window', parameters: { session: null } },
      { name: 'open_link', parameters: { url: 'https://example.org/' } },
    ]);
  });
});

it('nothing but the platform knows of the program around the window', () => {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(ts|svelte)$/.test(name),
  );
  const users = sources.filter((name) => readFileSync(join('src', name), 'utf8').includes("'@tauri-apps/"));
  expect(sources.length).toBeGreaterThan(50);
  expect(users.sort()).toEqual([
    'platform/command.ts',
    'platform/desktop.test.ts',
    'platform/desktop.ts',
    'platform/ipc-socket.ts',
  ]);
});
