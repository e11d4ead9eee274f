import { isCallOver, isTurnOver } from '../store/merge';
import type { Rtc, Turn } from '../wire/generated';

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

/** How many calls of each session wait for the user. */
export function waitingBySession(rtcs: Rtc[]): Map<string, number> {
  const waiting = new Map<string, number>();
  for (const rtc of rtcs.filter((rtc) => waitOf(rtc) !== null)) {
    waiting.set(rtc.session_id, (waiting.get(rtc.session_id) ?? 0) + 1);
  }
  return waiting;
}

/** The sessions in which something goes on. */
export function sessionsAtWork(turns: Turn[]): Set<string> {
  return new Set(turns.filter(({ status }) => !isTurnOver(status)).map(({ session_id }) => session_id));
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
      return rtc.approval?.state === 'rejected'
        ? 'denied'
        : wasStarted(rtc)
          ? 'stopped while it ran'
          : 'not run';
  }
}

/** Whether a call ever ran, maybe only for a part. */
export function wasStarted(rtc: Rtc): boolean {
  return rtc.attempt > 0;
}

/** How long the call took in milliseconds, without the time in which it waited for a Yes. */
export function durationOf(rtc: Rtc): number | null {
  if (rtc.completed_at === null || (rtc.status === 'rejected' && !wasStarted(rtc))) {
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

/** Which device, in words. */
function placeOf(device: string, thisDevice: string | null): string {
  return device === thisDevice ? 'on this device' : `on another device (${device.slice(0, 8)})`;
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
  if (approval.decision === null) {
    // Nobody answered: a mode or a rule that came later made the question needless.
    return approval.state === 'approved' ? 'Allowed by the change of mode or a rule' : 'Not allowed any more';
  }
  const decision = {
    once: 'Allowed once',
    session: 'Allowed for this session',
    project: 'Allowed for this project',
    reject: 'Denied',
    never: 'Denied for good',
  }[approval.decision];
  const where = approval.decided_by === null ? '' : ` ${placeOf(approval.decided_by, thisDevice)}`;
  return `${decision}${where}${approval.reason ? `: ${approval.reason}` : ''}`;
}

/** Where questions were answered, if the server tells it. */
export function answerText(rtc: Rtc, thisDevice: string | null): string | null {
  const device = rtc.tool_name === ASK_USER && isCallOver(rtc.status) ? textField(rtc, 'answered_by') : null;
  return device === null ? null : `Answered ${placeOf(device, thisDevice)}`;
}

/** A part of what a call would do. */
export interface Ask {
  label: string;
  text: string;
  language: string;
}

/** The long texts that a tool is given, and what they are. */
const TEXTS: Record<string, [name: string, label: string, language?: string][]> = {
  script: [['code', 'Code that would run', 'javascript']],
  edit: [
    ['old_string', 'Text to replace'],
    ['new_string', 'New text'],
  ],
  write: [['content', 'Text to write']],
};

/** What a call would do by its own arguments, all of them. */
export function asksOf(tool: string, parameters: unknown): Ask[] {
  const rest = { ...fieldsOf(parameters) };
  const asks: Ask[] = [];
  for (const [name, label, language = ''] of TEXTS[tool] ?? []) {
    const text = textField(parameters, name);
    if (text !== null) {
      asks.push({ label, text, language });
      delete rest[name];
    }
  }
  const names = Object.keys(rest).filter((name) => rest[name] !== null);
  // A line above says what the call is about.
  if (asks.length === 0 || names.some((name) => name !== 'path' && name !== 'title')) {
    asks.push({ label: 'Arguments', text: JSON.stringify(rest, null, 2), language: '' });
  }
  return asks;
}

/** Tools of which an approval shows more than their arguments. */
const PREVIEWED: readonly string[] = ['script', 'edit', 'write'];

/** Whether what a call would really do could not be shown. */
export function isUnseen({ tool_name, preview }: Rtc): boolean {
  if (!preview) {
    return PREVIEWED.includes(tool_name);
  }
  // Words without a path are the reason why there is nothing to show.
  return preview.kind === 'text' && (tool_name === 'script' || preview.paths.length === 0);
}
