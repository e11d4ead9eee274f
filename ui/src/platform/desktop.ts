import { Channel } from '@tauri-apps/api/core';

import { explain } from '../state/advice';
import type { SignIn } from '../wire/client';
import { RpcError, SignedOutError } from '../wire/errors';
import type { Project } from '../wire/generated';
import { command } from './command';
import { IpcSocket } from './ipc-socket';
import type { Platform, WindowEvent } from './platform';

/** A window of the desktop program. */
export function desktop(): Platform {
  return {
    place: 'window',
    // A name only: the socket leads to the program itself. The client library takes `http…` for another transport.
    endpoint: 'ipc://engine',
    websocket: IpcSocket,
    fetchToken,
    executes: true,
    folders: { choose: () => command<Project | null>('choose_folder') },
    openWindow: (session) => command('open_window', { session }),
    openLink: (url) => command('open_link', { url }),
    reload: () => location.reload(),
    watch: (told) => {
      command('window_watch', { told: new Channel<WindowEvent>(told) }).catch((error: unknown) =>
        told({ type: 'problem', text: explain(error) }),
      );
    },
  };
}

/** The window belongs to the user of the program: if that gives no token, asking again does not help. */
async function fetchToken(): Promise<SignIn> {
  try {
    return await command<SignIn>('sign_in');
  } catch (error) {
    throw new SignedOutError((error as RpcError).message);
  }
}
