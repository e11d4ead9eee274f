import { invoke } from '@tauri-apps/api/core';

import { RpcError } from '../wire/errors';

/** Runs a command of the program that the window belongs to. Rejects with an `RpcError`. */
export async function command<T>(name: string, parameters: Record<string, unknown> = {}): Promise<T> {
  try {
    return await invoke<T>(name, parameters);
  } catch (reason) {
    const { code, message } = (reason ?? {}) as { code?: unknown; message?: unknown };
    throw typeof code === 'string' && typeof message === 'string'
      ? new RpcError(code, message)
      : new RpcError('rpc.internal_error', reason instanceof Error ? reason.message : String(reason));
  }
}
