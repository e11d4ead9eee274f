import { isMessageWhole } from '../store/merge';
import type { ContentData, ErrorContent, Message, Rtc, ToolCall, Turn } from '../wire/generated';

/** One thing in a conversation as it is shown. */
export type Entry =
  | { kind: 'user'; id: string; text: string; scenarios: string[]; isQueued: boolean }
  | { kind: 'answer'; id: string; text: string; isStreaming: boolean; isBroken: boolean }
  | { kind: 'thinking'; id: string; text: string; isStreaming: boolean }
  | { kind: 'call'; id: string; call: ToolCall; output: ToolCall | null; rtc: Rtc | null }
  | { kind: 'error'; id: string; error: ErrorContent }
  /** `unread`: how many messages came too late for the turn, and stand behind this. */
  | { kind: 'stopped'; id: string; unread: number };

/** The types of content that are nothing but a text. */
const TEXTS: readonly string[] = ['text', 'markdown', 'thinking'] satisfies ContentData['type'][];

/** Parsed once: while text streams, the other messages are looked at in every frame. */
const contents = new WeakMap<Message, ContentData | null>();

/** What a message says, or nothing where this page does not know its type or its shape. */
export function contentOf(message: Message): ContentData | null {
  let content = contents.get(message);
  if (content === undefined) {
    content = parse(message.content);
    contents.set(message, content);
  }
  return content;
}

function parse(text: string): ContentData | null {
  try {
    const content = JSON.parse(text) as ContentData | null;
    const data: unknown = content?.data;
    const isText = content !== null && TEXTS.includes(content.type);
    return typeof data === (isText ? 'string' : 'object') && data !== null ? content : null;
  } catch {
    return null;
  }
}

/** Puts text in the making over stored messages. A message that is whole stays as it is, however late text arrives. */
export function withLive(stored: Message[], live: ReadonlyMap<string, Message>): Message[] {
  if (live.size === 0) {
    return stored;
  }
  const ids = new Set(stored.map((message) => message.id));
  const shown = stored.map((message) =>
    isMessageWhole(message.streaming_status) ? message : (live.get(message.id) ?? message),
  );
  return [...shown, ...[...live.values()].filter((message) => !ids.has(message.id))];
}

/** Where messages stand: by the first user message that their turn took, then as the turn has them. */
function inOrder(messages: Message[]): Message[] {
  const firstOfTurn = new Map<string, number>();
  for (const { turn_id, role, global_offset } of messages) {
    if (turn_id !== null && role === 'user') {
      firstOfTurn.set(turn_id, Math.min(firstOfTurn.get(turn_id) ?? Infinity, global_offset));
    }
  }
  // A queued message belongs to no turn yet; it is read after everything that is there.
  const rank = ({ turn_id, streaming_status, global_offset }: Message) =>
    streaming_status === 'pending'
      ? Infinity
      : ((turn_id === null ? undefined : firstOfTurn.get(turn_id)) ?? global_offset);
  const ranks = new Map(messages.map((message) => [message, rank(message)]));
  return [...messages].sort((one, other) => {
    const [first, second] = [ranks.get(one)!, ranks.get(other)!];
    return first === second
      ? one.turn_offset - other.turn_offset || one.global_offset - other.global_offset
      : first < second
        ? -1
        : 1;
  });
}

/** The last message of each stopped turn that the turn has seen; what the user said after it came too late. */
function endsOfStopped(sorted: Message[], turns: Turn[]): Map<string, { turn: string; unread: number }> {
  const stopped = new Set(turns.filter(({ status }) => status === 'cancelled').map(({ id }) => id));
  const ends = new Map<string, { message: string; unread: number }>();
  for (const { id, turn_id, role } of sorted) {
    if (turn_id !== null && stopped.has(turn_id)) {
      const former = ends.get(turn_id);
      const isLate = former !== undefined && role === 'user';
      ends.set(turn_id, isLate ? { ...former, unread: former.unread + 1 } : { message: id, unread: 0 });
    }
  }
  return new Map([...ends].map(([turn, { message, unread }]) => [message, { turn, unread }]));
}

/**
 * Makes what is shown of messages and calls: a call and its result are one entry, a turn that was stopped says so at its
 * end, queued messages are last.
 */
export function entriesOf(messages: Message[], rtcs: Rtc[], turns: Turn[]): Entry[] {
  const rtcByMessage = new Map(rtcs.map((rtc) => [rtc.message_id, rtc]));
  const outputs = new Map<string, ToolCall>();
  for (const message of messages) {
    const content = contentOf(message);
    if (content?.type === 'toolcall_output' && message.parent_message_id !== null) {
      outputs.set(message.parent_message_id, content.data);
    }
  }
  const sorted = inOrder(messages);
  const ends = endsOfStopped(sorted, turns);
  const entries: Entry[] = [];
  for (const message of sorted) {
    const { id } = message;
    const entry = entryOf(message, outputs.get(id) ?? null, rtcByMessage.get(id) ?? null);
    if (entry !== null) {
      entries.push(entry);
    }
    const end = ends.get(id);
    if (end !== undefined) {
      entries.push({ kind: 'stopped', id: `end of ${end.turn}`, unread: end.unread });
    }
  }
  return entries;
}

/** The same entry as long as nothing of it changes, so that a frame of streamed text touches one entry only. */
const made = new WeakMap<Message, { output: ToolCall | null; rtc: Rtc | null; entry: Entry | null }>();

function entryOf(message: Message, output: ToolCall | null, rtc: Rtc | null): Entry | null {
  const former = made.get(message);
  if (former && former.output === output && former.rtc === rtc) {
    return former.entry;
  }
  let entry: Entry | null;
  try {
    entry = makeEntry(message, output, rtc);
  } catch (error) {
    // The others are shown without it.
    console.warn('a message cannot be shown', error);
    entry = null;
  }
  made.set(message, { output, rtc, entry });
  return entry;
}

function makeEntry(message: Message, output: ToolCall | null, rtc: Rtc | null): Entry | null {
  const content = contentOf(message);
  const { id, streaming_status } = message;
  const isStreaming = streaming_status === 'streaming';
  switch (content?.type) {
    case 'text':
      return {
        kind: 'user',
        id,
        text: content.data,
        scenarios: [],
        isQueued: streaming_status === 'pending',
      };
    case 'user_message': {
      const { text, scenarios = [] } = content.data;
      const titles = scenarios.map(({ title }) => title);
      return { kind: 'user', id, text, scenarios: titles, isQueued: streaming_status === 'pending' };
    }
    case 'markdown':
      return { kind: 'answer', id, text: content.data, isStreaming, isBroken: streaming_status === 'failed' };
    case 'thinking':
      return { kind: 'thinking', id, text: content.data, isStreaming };
    case 'toolcall_input':
      return { kind: 'call', id, call: content.data, output, rtc };
    case 'error':
      return { kind: 'error', id, error: content.data };
    default:
      return null;
  }
}

/** The arguments of a call: checked where there is a record of it, else as the model wrote them. */
export function parametersOf({ call, rtc }: { call: ToolCall; rtc: Rtc | null }): unknown {
  if (rtc) {
    return rtc.parameters;
  }
  try {
    return JSON.parse(call.input) as unknown;
  } catch {
    return call.input;
  }
}
