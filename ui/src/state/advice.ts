import { isLineError, LINE_CLOSED, LINE_TIMEOUT, RpcError } from '../wire/errors';
import type { Code } from '../wire/generated';

/** What a person can do about an error, by its code. */
const ADVICE: { [code in Code | typeof LINE_CLOSED | typeof LINE_TIMEOUT]?: string } = {
  [LINE_CLOSED]: 'The connection broke before the answer came. It is made again by itself; then try again.',
  [LINE_TIMEOUT]: 'No answer came in time. Look whether RTC Desktop still runs, then try again.',
  'session.not_found': 'This session is gone, maybe deleted elsewhere. Choose another one.',
  'session.closed': 'This session is closed. Open it again to go on.',
  'approval.closed': 'It was already answered, here or on another device.',
  'rtc.invalid_state': 'The call has gone on in the meantime; there is nothing left to decide.',
  'rtc.not_found': 'The call is gone, maybe with its session.',
  'store.full': 'Free some space on the disk that the data is on, then try again. Nothing is lost.',
  'engine.shutting_down': 'RTC Desktop is ending. Start it again, then reload this page.',
  'auth.permission_denied': 'This sign-in may look on, but not do this.',
};

/** What to do where the store cannot be opened. */
export const STORE_BROKEN =
  'The storage of this page does not work, so nothing new is shown. Look whether the disk is full and whether pages ' +
  'may keep data here, then reload the page.';

/** Requests of which the engine complains; what it says is for those who wrote the page. */
const OF_REQUESTS: readonly string[] = [
  'rpc.invalid_request',
  'rpc.invalid_argument',
  'rpc.method_not_found',
] satisfies Code[];

/** An error in words: what happened, and what to do. */
export function explain(error: unknown): string {
  if (error instanceof RpcError && OF_REQUESTS.includes(error.code)) {
    return 'This request was not taken. Reload the page; it may be older than what it speaks with.';
  }
  const message = error instanceof Error ? error.message : String(error);
  const advice = error instanceof RpcError ? ADVICE[error.code as Code] : undefined;
  if (isLineError(error)) {
    return advice ?? message;
  }
  const sentence = message === '' ? '' : `${message[0]!.toUpperCase()}${message.slice(1)}`;
  return [sentence.replace(/([^.!?])$/, '$1.'), advice].filter(Boolean).join(' ');
}

/** What of an error is for those who look closer, if there is anything. */
export function detailsOf(error: unknown): string | null {
  if (!(error instanceof RpcError) || isLineError(error)) {
    return null;
  }
  if (OF_REQUESTS.includes(error.code)) {
    return [`${error.code}: ${error.message}`, error.details].filter(Boolean).join('\n');
  }
  return error.details;
}

/** Whether there is no room on the disk that the data is on. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof RpcError && error.code === ('store.full' satisfies Code);
}
