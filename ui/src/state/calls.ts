import { isCallOver } from '../store/merge';
import type { Rtc } from '../wire/generated';

/** The tool whose calls the user answers. */
export const ASK_USER = 'askUser';

/** What a call waits for the user for, if it does. */
export type Wait = 'approval' | 'question' | 'unknown_outcome';

/** What a call waits for the user for, if it does. */
export function waitOf(rtc: Rtc): Wait | null {
  if (isCallOver(rtc.status)) {
    return null;
  }
  if (rtc.approval?.state === 'open') {
    return 'approval';
  }
  if (rtc.outcome === 'unknown') {
    return 'unknown_outcome';
  }
  return rtc.tool_name === ASK_USER ? 'question' : null;
}

/** How a call stands, in words. */
export function stateOf(rtc: Rtc): string {
  switch (waitOf(rtc)) {
    case 'approval':
      return 'needs your Yes';
    case 'question':
      return 'asks you';
    case 'unknown_outcome':
      return 'outcome unknown';
    case null:
      break;
  }
  switch (rtc.status) {
    case 'pending':
      return 'waits';
    case 'sent':
      return 'taken';
    case 'executing':
      return 'runs';
    case 'completed':
      return 'done';
    case 'failed':
      return 'failed';
    case 'timeout':
      return 'timed out';
    case 'rejected':
      return rtc.approval?.state === 'rejected' ? 'denied' : 'not run';
  }
}

/** How long the call took in milliseconds, without the time in which it waited for a Yes. */
export function durationOf(rtc: Rtc): number | null {
  if (rtc.completed_at === null || rtc.status === 'rejected') {
    return null;
  }
  return Date.parse(rtc.completed_at) - Date.parse(rtc.approval?.decided_at ?? rtc.created_at);
}

/** A duration for people. */
export function durationText(milliseconds: number): string {
  if (milliseconds < 1_000) {
    return `${Math.max(0, Math.round(milliseconds))} ms`;
  }
  const seconds = milliseconds / 1_000;
  return seconds < 60
    ? `${seconds.toFixed(1)} s`
    : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** The fields of a JSON object, or none. */
export function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

/** A field that is text. */
export function textField(value: unknown, name: string): string | null {
  const field = fieldsOf(value)[name];
  return typeof field === 'string' ? field : null;
}

/** What a call is about, in a few words for its line. */
export function targetOf(parameters: unknown): string {
  const pattern = textField(parameters, 'pattern');
  const path = textField(parameters, 'path');
  if (pattern !== null) {
    return path === null || path === '/' ? pattern : `${pattern} in ${path}`;
  }
  return path ?? textField(parameters, 'title') ?? textField(parameters, 'name') ?? '';
}

/** What was decided on an approval, and where. */
export function decisionText(rtc: Rtc, thisDevice: string | null): string | null {
  const { approval } = rtc;
  if (!approval || approval.state === 'open') {
    return null;
  }
  if (approval.state === 'withdrawn') {
    return 'Not needed any more';
  }
  const words = {
    once: 'Allowed once',
    session: 'Allowed for this session',
    project: 'Allowed for this project',
    reject: 'Denied',
    never: 'Denied for good',
  } as const;
  const decision = approval.decision === null ? 'Answered' : words[approval.decision];
  const where =
    approval.decided_by === null
      ? ''
      : approval.decided_by === thisDevice
        ? ' on this device'
        : ` on another device (${approval.decided_by.slice(0, 8)})`;
  return `${decision}${where}${approval.reason ? `: ${approval.reason}` : ''}`;
}
