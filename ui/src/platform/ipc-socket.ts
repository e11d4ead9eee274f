import { Channel } from '@tauri-apps/api/core';

import { command } from './command';

/** What the other end of a socket tells. Nothing follows a close. */
type SocketEvent = { type: 'frame'; data: string } | { type: 'close'; code: number; reason: string };

/** Why and with which code a socket has closed. */
interface Closing {
  code: number;
  reason: string;
}

/** What was taken is acknowledged in steps of this many characters, far below what the other end lets stand open. */
const ACKNOWLEDGED_AT_ONCE = 64 * 1024;
/** Characters that may wait to be sent; with more the socket is broken, and the client makes another one. */
export const MAX_UNSENT = 16 * 1024 * 1024;

/** The codes of WebSocket closes. */
const NORMAL = 1000;
const BROKEN = 1006;

/** A socket to the engine in the program itself, with as much of a WebSocket as the client library uses. */
export class IpcSocket {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: ((event: Closing) => void) | null = null;
  /** Never called: whatever goes wrong is a close. */
  onerror: ((error: unknown) => void) | null = null;
  binaryType = 'blob';
  readyState = 0;

  #socket: number | null = null;
  /** What was told before the socket was known to be open. */
  #early: SocketEvent[] = [];
  #tail: Promise<void> = Promise.resolve();
  #unsent = 0;
  #unacknowledged = 0;

  /** Opens a socket; its handlers may be set until the current task ends. */
  constructor(readonly url: string) {
    void this.#open();
  }

  /** Sends a frame after those before it. */
  send(frame: string): void {
    if (this.readyState !== 1) {
      return;
    }
    this.#unsent += frame.length;
    if (this.#unsent > MAX_UNSENT && this.#unsent > frame.length) {
      this.close();
      return;
    }
    const socket = this.#socket;
    // Commands run side by side, so the next frame waits until the one before has been taken.
    this.#tail = this.#tail.then(async () => {
      try {
        if (this.readyState === 1) {
          await command('socket_send', { socket, frame });
        }
      } catch (error) {
        this.#end({ code: BROKEN, reason: (error as Error).message });
      } finally {
        this.#unsent -= frame.length;
      }
    });
  }

  /** Closes the socket; nothing is told after that. */
  close(): void {
    if (this.readyState === 1) {
      this.#tellClose();
    }
    this.#end({ code: NORMAL, reason: '' });
  }

  async #open(): Promise<void> {
    try {
      const frames = new Channel<SocketEvent>((event) => this.#take(event));
      this.#socket = await command<number>('socket_open', { frames });
    } catch (error) {
      this.#end({ code: BROKEN, reason: (error as Error).message });
      return;
    }
    if (this.readyState !== 0) {
      // It was closed before it was open.
      this.#tellClose();
      return;
    }
    this.readyState = 1;
    this.onopen?.();
    this.#early.splice(0).forEach((event) => this.#take(event));
  }

  #take(event: SocketEvent): void {
    if (this.readyState === 0) {
      this.#early.push(event);
    } else if (this.readyState !== 1) {
      return;
    } else if (event.type === 'close') {
      this.#end(event);
    } else {
      try {
        this.onmessage?.({ data: event.data });
      } finally {
        this.#acknowledge(event.data.length);
      }
    }
  }

  #acknowledge(taken: number): void {
    this.#unacknowledged += taken;
    if (this.#unacknowledged >= ACKNOWLEDGED_AT_ONCE) {
      const bytes = this.#unacknowledged;
      this.#unacknowledged = 0;
      // That the socket is gone is told by its close.
      command('socket_acknowledge', { socket: this.#socket, bytes }).catch(() => undefined);
    }
  }

  #tellClose(): void {
    command('socket_close', { socket: this.#socket }).catch(() => undefined);
  }

  #end({ code, reason }: Closing): void {
    if (this.readyState < 2) {
      this.readyState = 3;
      this.#early = [];
      queueMicrotask(() => this.onclose?.({ code, reason }));
    }
  }
}
