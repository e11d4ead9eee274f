import type { Message, Rtc, RtcStatus, StreamingStatus, Turn, TurnStatus } from '../wire/generated';

/** Whether a call has ended; it never changes again. */
export function isCallOver(status: RtcStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'timeout' || status === 'rejected';
}

/** Whether a turn has ended; it never changes again. */
export function isTurnOver(status: TurnStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled' || status === 'merged';
}

/** Whether a message has its final text. */
export function isMessageWhole(status: StreamingStatus): boolean {
  return status === 'completed' || status === 'failed';
}

/** What of a stored and an arriving record is kept: the arriving one, unless it would bring an ended one back. */
function keepEnded<T extends object>(stored: T | undefined, arriving: T, isOver: (entity: T) => boolean): T {
  return stored !== undefined && isOver(stored) && !isOver(arriving) ? stored : arriving;
}

/** The message to keep. */
export function mergeMessage(stored: Message | undefined, arriving: Message): Message {
  return keepEnded(stored, arriving, (message) => isMessageWhole(message.streaming_status));
}

/** The turn to keep. */
export function mergeTurn(stored: Turn | undefined, arriving: Turn): Turn {
  return keepEnded(stored, arriving, (turn) => isTurnOver(turn.status));
}

/** The call to keep. */
export function mergeRtc(stored: Rtc | undefined, arriving: Rtc): Rtc {
  return keepEnded(stored, arriving, (rtc) => isCallOver(rtc.status));
}
