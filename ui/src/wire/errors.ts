import type { Code } from './generated';

/** A request that was refused or did not get through. Branch on `code`, never on the text. */
export class RpcError extends Error {
  override readonly name = 'RpcError';

  constructor(
    readonly code: string,
    message: string,
    /** More for programs, as it was sent. */
    readonly details: string | null = null,
  ) {
    super(message);
  }
}

/** There is no token for this page, and asking again gives none. */
export class SignedOutError extends Error {
  override readonly name = 'SignedOutError';
}

/** The line broke before the answer came. */
export const LINE_CLOSED = 'line.closed';
/** No answer in time. */
export const LINE_TIMEOUT = 'line.timeout';
/** The position is not one of the stream any more. */
export const UNRECOVERABLE_POSITION = 'line.unrecoverable_position';

/** The client library's own codes that a caller can do something about. */
const LIBRARY_CODES: Record<number, string> = {
  1: LINE_TIMEOUT,
  2: LINE_CLOSED,
  4: LINE_CLOSED,
  11: LINE_CLOSED,
  112: UNRECOVERABLE_POSITION,
};

/** Whether a request got no answer; it may or may not have had its effect. */
export function isLineError(error: unknown): boolean {
  return error instanceof RpcError && (error.code === LINE_CLOSED || error.code === LINE_TIMEOUT);
}

/** Refusals that may be over in a while, although nothing of the request was wrong. */
const PASSING: readonly string[] = [
  'rpc.internal_error',
  'auth.unauthorized',
  'engine.shutting_down',
  'store.full',
] satisfies Code[];

/** Whether the same request may get through later. */
export function isPassing(error: unknown): boolean {
  return isLineError(error) || !(error instanceof RpcError) || PASSING.includes(error.code);
}

/** Whether an error says that there is no session of that id, also because it is no id. */
export function isNoSession(error: unknown): boolean {
  return (
    error instanceof RpcError &&
    (error.code === 'session.not_found' || /^rpc\.invalid_(?:argument|request)$/.test(error.code))
  );
}

/** Makes an `RpcError` of what the client library rejects with: `{code: number, message: "code: text"}`, with details on a second line. */
export function toRpcError(reason: unknown): RpcError {
  if (reason instanceof RpcError) {
    return reason;
  }
  const { code, message } = (reason ?? {}) as { code?: unknown; message?: unknown };
  const text = typeof message === 'string' ? message : String(reason);
  const known = typeof code === 'number' ? LIBRARY_CODES[code] : undefined;
  if (known !== undefined) {
    return new RpcError(known, text);
  }
  const split = /^([a-z][a-z_]*(?:\.[a-z_]+)*): ([^\n]*)(?:\n([\s\S]*))?$/.exec(text);
  return split
    ? new RpcError(split[1]!, split[2]!, split[3] ?? null)
    : new RpcError('rpc.internal_error', text);
}
