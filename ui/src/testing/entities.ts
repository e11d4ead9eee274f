import type { ContentData, Message, Project, Rtc, Session, Turn } from '../wire/generated';

const NOW = '2026-01-01T12:00:00Z';

/** A session with what a test does not care about filled in. */
export function session(fields: Partial<Session> & { id: string }): Session {
  return {
    client_id: `client-${fields.id}`,
    owner_kind: 'user',
    owner_ref_id: 'user-1',
    device_id: 'device-1',
    project_id: 'project-1',
    title: 'A session',
    status: 'idle',
    mode: 'edit',
    todo_list: [],
    created_at: NOW,
    updated_at: NOW,
    closed_at: null,
    deleted_at: null,
    agent_prompt: null,
    root_client_session_id: null,
    root_server_session_id: null,
    parent_client_session_id: null,
    parent_server_session_id: null,
    sub_agent_parent_message_id: null,
    total_input_tokens: 0,
    total_output_tokens: 0,
    total_tokens: 0,
    total_cached_read_tokens: 0,
    total_cached_write_tokens: 0,
    total_reasoning_tokens: 0,
    last_token_update_at: null,
    ...fields,
  };
}

/** A turn with what a test does not care about filled in. */
export function turn(fields: Partial<Turn> & { id: string; session_id: string }): Turn {
  return {
    client_id: `client-${fields.id}`,
    status: 'running',
    created_at: NOW,
    started_at: NOW,
    completed_at: null,
    error_message: null,
    ...fields,
  };
}

/** A message that says something. */
export function message(
  fields: Partial<Message> & { id: string; session_id: string; global_offset: number },
  content: ContentData,
): Message {
  const isUser = content.type === 'text';
  return {
    client_id: isUser ? `client-${fields.id}` : null,
    turn_id: null,
    parent_message_id: null,
    turn_offset: 0,
    role: isUser ? 'user' : content.type.startsWith('toolcall') ? 'tool' : 'assistant',
    content: JSON.stringify(content),
    streaming_status: 'completed',
    creator_kind: isUser ? 'user' : 'system',
    creator_ref_id: isUser ? 'user-1' : 'system',
    created_at: NOW,
    updated_at: NOW,
    ...fields,
  };
}

/** A call with what a test does not care about filled in. */
export function rtc(fields: Partial<Rtc> & { id: string; session_id: string }): Rtc {
  return {
    client_id: `client-${fields.id}`,
    device_id: 'device-1',
    turn_id: 'turn-1',
    message_id: `message-of-${fields.id}`,
    output_message_id: null,
    offset: 1,
    tool_name: 'read',
    parameters: { path: '/a.txt' },
    status: 'pending',
    attempt: 0,
    result: null,
    error_message: null,
    created_at: NOW,
    updated_at: NOW,
    completed_at: null,
    ...fields,
  };
}

/** A script that waits for a Yes. */
export const waiting = (fields: Partial<Rtc> = {}): Rtc =>
  rtc({
    id: 'r-1',
    session_id: 's-1',
    tool_name: 'script',
    parameters: { code: 'let a = 1;' },
    approval: {
      state: 'open',
      why: 'A script',
      decision: null,
      reason: null,
      decided_at: null,
      decided_by: null,
    },
    preview: {
      kind: 'code',
      text: 'let a = 1; //\u202e evil',
      paths: ['/a.txt'],
      program: { digest: 'd', params: { n: 7 } },
    },
    ...fields,
  });

/** A folder with what a test does not care about filled in. */
export function project(fields: Partial<Project> & { id: string }): Project {
  return {
    device_id: 'device-1',
    root: `/srv/${fields.id}`,
    trusted: true,
    created_at: NOW,
    ...fields,
  };
}
