import { isMessageWhole } from '../store/merge';
import type { ContentData, ErrorContent, JsonValue, Message, Rtc, ToolCall } from '../wire/generated';

/** One thing in a conversation as it is shown. */
export type Entry =
  | { kind: 'user'; id: string; text: string; isQueued: boolean }
  | { kind: 'answer'; id: string; text: string; isStreaming: boolean; isBroken: boolean }
  | { kind: 'thinking'; id: string; text: string; isStreaming: boolean }
  | { kind: 'call'; id: string; call: ToolCall; output: ToolCall | null; rtc: Rtc | null }
  | { kind: 'error'; id: string; error: ErrorContent };

/** Parsed once: while text streams, the other messages are looked at in every frame. */
const contents = new WeakMap<Message, ContentData | null>();

/** What a message says, or nothing where this page does not know its type. */
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
    const content = JSON.parse(text) as ContentData;
    return typeof content === 'object' && content !== null ? content : null;
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

/** Makes what is shown of messages and calls: a call and its result are one entry, queued messages are last. */
export function entriesOf(messages: Message[], rtcs: Rtc[]): Entry[] {
  const rtcByMessage = new Map(rtcs.map((rtc) => [rtc.message_id, rtc]));
  const outputs = new Map<string, ToolCall>();
  for (const message of messages) {
    const content = contentOf(message);
    if (content?.type === 'toolcall_output' && message.parent_message_id !== null) {
      outputs.set(message.parent_message_id, content.data);
    }
  }
  const entries: Entry[] = [];
  const queued: Entry[] = [];
  for (const message of [...messages].sort((one, other) => one.global_offset - other.global_offset)) {
    const content = contentOf(message);
    const { id } = message;
    const isStreaming = message.streaming_status === 'streaming';
    switch (content?.type) {
      case 'text': {
        const isQueued = message.streaming_status === 'pending';
        (isQueued ? queued : entries).push({ kind: 'user', id, text: content.data, isQueued });
        break;
      }
      case 'markdown': {
        const isBroken = message.streaming_status === 'failed';
        entries.push({ kind: 'answer', id, text: content.data, isStreaming, isBroken });
        break;
      }
      case 'thinking':
        entries.push({ kind: 'thinking', id, text: content.data, isStreaming });
        break;
      case 'toolcall_input':
        entries.push({
          kind: 'call',
          id,
          call: content.data,
          output: outputs.get(id) ?? null,
          rtc: rtcByMessage.get(id) ?? null,
        });
        break;
      case 'error':
        entries.push({ kind: 'error', id, error: content.data });
        break;
    }
  }
  return [...entries, ...queued];
}

/** The arguments of a call: checked where there is a record of it, else as the model wrote them. */
export function parametersOf({ call, rtc }: { call: ToolCall; rtc: Rtc | null }): JsonValue {
  if (rtc) {
    return rtc.parameters;
  }
  try {
    return JSON.parse(call.input) as JsonValue;
  } catch {
    return call.input;
  }
}
