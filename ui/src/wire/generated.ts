// The shapes of the wire, named as the Rust types are.

/** A moment, RFC 3339. */
export type Timestamp = string;
/** Any JSON. */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

export type SessionStatus = 'active' | 'idle' | 'closed';
export type OwnerKind = 'user' | 'system';
export type Mode = 'manual' | 'edit' | 'plan' | 'auto' | 'bypass';
export type TodoStatus = 'pending' | 'in_progress' | 'completed';

export interface TodoItem {
  content: string;
  status: TodoStatus;
  active_form: string;
}

export interface Session {
  id: string;
  client_id: string;
  owner_kind: OwnerKind;
  owner_ref_id: string;
  device_id: string;
  project_id: string | null;
  title: string;
  status: SessionStatus;
  mode: Mode;
  todo_list: TodoItem[];
  created_at: Timestamp;
  updated_at: Timestamp;
  closed_at: Timestamp | null;
  deleted_at: Timestamp | null;
  total_input_tokens: number;
  total_output_tokens: number;
  total_tokens: number;
}

export type TurnStatus =
  'pending' | 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted' | 'merged';

export interface Turn {
  id: string;
  client_id: string;
  session_id: string;
  status: TurnStatus;
  created_at: Timestamp;
  started_at: Timestamp | null;
  completed_at: Timestamp | null;
  error_message: string | null;
}

export type MessageRole = 'user' | 'assistant' | 'tool' | 'system';
export type StreamingStatus = 'pending' | 'streaming' | 'completed' | 'failed';
export type CreatorKind = 'user' | 'system';

export interface Message {
  id: string;
  client_id: string | null;
  session_id: string;
  turn_id: string | null;
  parent_message_id: string | null;
  global_offset: number;
  turn_offset: number;
  role: MessageRole;
  /** JSON text of a `ContentData`. */
  content: string;
  streaming_status: StreamingStatus;
  creator_kind: CreatorKind;
  created_at: Timestamp;
  updated_at: Timestamp;
  input_tokens?: number;
  output_tokens?: number;
}

export type ErrorCategory =
  'api' | 'budget' | 'context' | 'network' | 'permission' | 'stream' | 'system' | 'timeout' | 'tool';

export interface ErrorContent {
  category: ErrorCategory;
  title: string;
  message: string;
  retryable: boolean;
}

export interface ToolCall {
  id: string;
  tool_name: string;
  input: string;
  output?: string;
  status?: RtcStatus;
}

export type ContentData =
  | { type: 'text'; data: string }
  | { type: 'markdown'; data: string }
  | { type: 'thinking'; data: string }
  | { type: 'toolcall_input'; data: ToolCall }
  | { type: 'toolcall_output'; data: ToolCall }
  | { type: 'error'; data: ErrorContent };

export type RtcStatus = 'pending' | 'sent' | 'executing' | 'completed' | 'failed' | 'timeout' | 'rejected';
export type OutcomeKnown = 'unknown';
export type Effect = 'none' | 'applied' | 'unknown';

export type ApprovalState = 'open' | 'approved' | 'rejected' | 'withdrawn';
export type ApprovalDecision = 'once' | 'session' | 'project' | 'reject' | 'never';

export interface Approval {
  state: ApprovalState;
  why: string;
  decision: ApprovalDecision | null;
  reason: string | null;
  decided_at: Timestamp | null;
  decided_by: string | null;
}

export type PreviewKind = 'diff' | 'code' | 'text';

export interface Program {
  digest: string;
  params: JsonValue;
}

export interface Preview {
  kind: PreviewKind;
  text: string;
  paths: string[];
  program?: Program;
}

export interface Rtc {
  id: string;
  client_id: string;
  session_id: string;
  device_id: string;
  turn_id: string;
  message_id: string;
  output_message_id: string | null;
  offset: number;
  tool_name: string;
  parameters: JsonValue;
  status: RtcStatus;
  attempt: number;
  approval?: Approval;
  preview?: Preview;
  outcome?: OutcomeKnown;
  effect?: Effect;
  result: JsonValue;
  error_message: string | null;
  created_at: Timestamp;
  updated_at: Timestamp;
  completed_at: Timestamp | null;
}

export interface Project {
  id: string;
  device_id: string;
  root: string;
  trusted: boolean;
  created_at: Timestamp;
}

export type UpdateEntity = 'session' | 'turn' | 'message' | 'rtc' | 'file';
export type UpdateAction = 'created' | 'updated';

export interface UpdateItem {
  entity: UpdateEntity;
  action: UpdateAction;
  entity_id: string;
}

export interface Update {
  id: string;
  items: UpdateItem[];
  data_list?: JsonValue[];
  offset: number;
}

export interface Page<T> {
  items: T[];
  next_cursor?: string | number | null;
}

export interface FileEntry {
  name: string;
  kind: 'file' | 'folder' | 'other';
  size?: number;
}

export type Resolution = 'retry' | 'done' | 'tell';

export interface Success {
  success: boolean;
}

export interface Methods {
  'v1.session.list': { request: { cursor?: string; limit?: number }; result: Page<Session> };
  'v1.session.open': { request: { session_id: string }; result: Success };
  'v1.session.set_mode': { request: { session_id: string; mode: Mode }; result: Success };
  'v1.message.send': {
    request: {
      content_data: ContentData;
      client_session_id: string;
      client_id: string;
      server_session_id?: string;
      project_id?: string;
    };
    result: { session_id: string; turn_id: string; message_id: string };
  };
  'v1.message.list': {
    request: { session_id: string; cursor?: number; limit?: number };
    result: Page<Message>;
  };
  'v1.turn.list': { request: { session_id: string; cursor?: string; limit?: number }; result: Page<Turn> };
  'v1.turn.stop': { request: { session_id: string }; result: Success };
  'v1.rtc.list': {
    request: { session_id: string; cursor?: string | number; limit?: number };
    result: Page<Rtc>;
  };
  'v1.rtc.approve': {
    request: { rtc_id: string; decision: ApprovalDecision; reason?: string };
    result: Success;
  };
  'v1.rtc.resolve': { request: { rtc_id: string; decision: Resolution }; result: Success };
  'v1.rtc.submit_result': {
    request: { rtc_id: string; success: boolean; result?: JsonValue; error?: string; client_id?: string };
    result: Success;
  };
  'v1.project.list': { request: Record<string, never>; result: Page<Project> };
  'v1.fs.list': { request: { project_id: string; path: string }; result: { entries: FileEntry[] } };
  'v1.fs.read': {
    request: { project_id: string; path: string };
    result: { path: string; content: string; hash: string };
  };
  'v1.fs.write': {
    request: { project_id: string; path: string; content: string; base_hash: string };
    result: { path: string; hash: string };
  };
}
