// Made from the table of methods in crates/rtc-wire by `cargo xtask protocol`. Changes here are lost.

/** The result of an `askUser` call: answers by question text. */
export interface Answer {
  /** Question text → the chosen label or labels (joined by `, `), or free text. */
  answers: Record<string, unknown>;
}

/** The decision on one call. */
export interface Approval {
  /** How far it is. */
  state: ApprovalState;
  /** Why it is asked for. */
  why: string;
  /** What was answered. */
  decision: ApprovalDecision | null;
  /** The user's words for a refusal. */
  reason: string | null;
  /** When it was answered. */
  decided_at: string | null;
  /** Where it was answered. */
  decided_by: DeviceId | null;
}

/** What a user answers. */
export type ApprovalDecision =
  /** Yes, this call. */
  | "once"
  /** Yes, and the like of it in this session. */
  | "session"
  /** Yes, and the like of it in this project. */
  | "project"
  /** No. */
  | "reject"
  /** No, and never again. */
  | "never";

/** How far an approval is. */
export type ApprovalState =
  /** Waits for an answer. */
  | "open"
  /** Answered with yes. */
  | "approved"
  /** Answered with no. */
  | "rejected"
  /** Not needed any more: the turn was stopped. */
  | "withdrawn";

/** What a call did to a file or folder. */
export interface CallChange {
  /** The call. */
  rtc_id: RtcId;
  /** Its tool. */
  tool_name: string;
  /** Its own diff, where it is not the only call; absent as for files. */
  diff?: string | null;
  /** How many hunks its diff has. */
  hunks: number;
  /** Whether all of it was undone. */
  undone: boolean;
  /** The hunks that were undone by themselves, counted from 1. */
  undone_hunks?: number[];
}

/** What a running call tells. */
export interface CallProgress {
  /** The call. */
  rtc_id: RtcId;
  /** What it tells. */
  progress: Progress;
}

/** What an executor runs. */
export interface Claimed {
  /** The tool. */
  tool: string;
  /** Its arguments, as they were approved. */
  parameters: unknown;
  /** Which start of the call this is. */
  attempt: number;
  /** Until when the call is this executor's unless it renews; null: for as long as it runs. */
  lease_until: string | null;
}

/** An id that a client made, for idempotency: the same id names the same record. */
export type ClientId = string;

/** A stable error code. User interfaces branch on it, never on the text beside it. */
export type Code =
  | "auth.unauthorized"
  | "auth.permission_denied"
  | "session.not_found"
  | "session.closed"
  | "fork.error"
  | "compact.already_pending"
  | "message.not_found"
  | "message.invalid_cursor"
  | "message.client_id_conflict"
  | "turn.not_found"
  | "rtc.not_found"
  | "rtc.client_id_mismatch"
  | "rtc.invalid_status"
  | "rtc.invalid_state"
  | "rtc.invalid_result"
  | "rtc.already_claimed"
  | "approval.required"
  | "approval.closed"
  | "outcome_unknown"
  | "project.not_found"
  | "project.unusable"
  | "file.not_found"
  | "file.conflict"
  | "file.outside_project"
  | "file.wrong_kind"
  | "file.not_text"
  | "file.unencodable"
  | "file.too_large"
  | "file.denied"
  | "undo.nothing"
  | "rpc.invalid_request"
  | "rpc.method_not_found"
  | "rpc.invalid_argument"
  | "rpc.internal_error"
  | "store.full"
  | "store.damaged"
  | "engine.shutting_down";

/** JSON text of a `ContentData`. Kept as text, so that content of a kind that this version does not know survives. */
export type Content = string;

/** The kinds of content. */
export type ContentData =
  /** What the user typed. */
  | { type: "text"; data: string }
  /** What the user typed, with what belongs to it. */
  | { type: "user_message"; data: UserMessage }
  /** The assistant's answer. */
  | { type: "markdown"; data: string }
  /** The assistant's reasoning. */
  | { type: "thinking"; data: string }
  /** A call, as the model wrote it. */
  | { type: "toolcall_input"; data: ToolCall }
  /** The result of a call. */
  | { type: "toolcall_output"; data: ToolCall }
  /** Something went wrong; shown to the user, never sent to a model. */
  | { type: "error"; data: ErrorContent }
  /** What the model reads besides what the user typed: the scenarios of the message that is its parent. */
  | { type: "prompt"; data: PromptContent };

/** Who made a message. */
export type CreatorKind =
  /** A person. */
  | "user"
  /** The program, on behalf of the model. */
  | "system";

/** Who made a message, by id: a user's id, or `system`. */
export type CreatorRef = string;

/** One installation; a session's calls run on the device that created it. */
export type DeviceId = string;

/** What a call has changed. */
export type Effect =
  /** Nothing. */
  | "none"
  /** All that it was to change. */
  | "applied"
  /** Nobody knows. */
  | "unknown";

/** Kinds of errors. */
export type ErrorCategory =
  /** The model's host answered with an error. */
  | "api"
  /** A limit that the user set is reached. */
  | "budget"
  /** The conversation does not fit. */
  | "context"
  /** No connection. */
  | "network"
  /** Key or rights. */
  | "permission"
  /** The answer stopped in the middle. */
  | "stream"
  /** A fault of ours or of the machine. */
  | "system"
  /** Too slow. */
  | "timeout"
  /** A tool failed in a way that ended the turn. */
  | "tool";

/** An error that the user sees in the conversation. */
export interface ErrorContent {
  /** What kind of thing failed. */
  category: ErrorCategory;
  /** A few words. */
  title: string;
  /** What happened and what to do. */
  message: string;
  /** Whether trying again may help. */
  retryable: boolean;
}

/** A file that was uploaded before. */
export interface FileAttachment {
  /** Its media type. */
  mimetype: string;
  /** Its id. */
  fileid: string;
  /** What else the client keeps of it, such as its name. */
  extra?: Record<string, unknown> | null;
}

/** What a turn did to a file or folder, from its first change of it to the last. */
export interface FileChange {
  /** Where it is. */
  path: string;
  /** What became of it. */
  kind: FileChangeKind;
  /** How many lines are new; absent: that is not known, or it is not text. */
  added?: number | null;
  /** How many lines are gone; absent as above. */
  removed?: number | null;
  /** The unified diff, as far as it is good to read; absent as above, or because there was no room for it. */
  diff?: string | null;
  /** The calls that changed it, in order. */
  calls: CallChange[];
  /** Whether all of it was undone. */
  undone: boolean;
}

/** What happened to a file. */
export type FileChange2 =
  /** It is new. */
  | "created"
  /** Its content changed. */
  | "changed"
  /** It is gone. */
  | "removed";

/** What became of a file or folder. */
export type FileChangeKind =
  /** It is new. */
  | "created"
  /** Its content is another one. */
  | "changed"
  /** It is gone. */
  | "removed"
  /** It is a new folder. */
  | "folder_created"
  /** It was a folder, and is gone. */
  | "folder_removed"
  /** It came and went. */
  | "unchanged";

/** A watched file is not as it was. */
export interface FileChanged {
  /** The project it is in. */
  project_id: ProjectId;
  /** Its virtual path. */
  path: string;
  /** What happened to it. */
  change: FileChange2;
}

/** An entry of a folder. */
export interface FileEntry {
  /** Its name, as it is written in a path: control characters as `\u{…}`, bytes that are no Unicode as `\x{…}`. */
  name: string;
  /** What it is. */
  kind: FileKind;
  /** Its size in bytes; null for what has none. */
  size: number | null;
  /** When its content last changed. */
  modified_at: string | null;
  /** Where a link leads, as it is written in the link. */
  target?: string | null;
}

/** How the content of a file is written in JSON. */
export type FileFormat =
  /** As text, whatever the encoding of the file. */
  | "text"
  /** Its bytes in base64 (the standard alphabet, padded). */
  | "base64";

/** What a path is. */
export type FileKind =
  /** A file. */
  | "file"
  /** A folder. */
  | "folder"
  /** A symbolic link. */
  | "link"
  /** Something else, such as a socket. */
  | "other";

/** Part of a file's content. */
export interface FileRead {
  /** The file, by its exact name. */
  path: string;
  /** The part. */
  content: string;
  /** How it is written here. */
  format: FileFormat;
  /** Size of the whole file in bytes. */
  size: number;
  /** Hash of the whole file, for `base_hash` of a write. */
  hash: string;
  /** The encoding of a text file. */
  encoding: string | null;
  /** Where the next part begins; absent at the end. */
  next_offset?: number | null;
}

/** What is known of a path. */
export interface FileStat {
  /** The path, by its exact name. */
  path: string;
  /** What it is, links followed. */
  kind: FileKind;
  /** Its size in bytes; null for what has none. */
  size: number | null;
  /** When its content last changed. */
  modified_at: string | null;
  /** Hash of a file's content; null for what has none, or is too large to take it at once. */
  hash: string | null;
}

/** A file that was written. */
export interface FileWritten {
  /** The file. */
  path: string;
  /** Hash of its content now. */
  hash: string;
  /** Its size in bytes. */
  size: number;
  /** Whether it is new. */
  created: boolean;
}

/** The new session. */
export interface Forked {
  /** The new session. */
  session_id: SessionId;
  /** Empty: the turn is made when it begins. */
  turn_id: string;
  /** Its messages, in order; the last is the new one. */
  message_ids: MessageId[];
}

/** What `v1.fs.find` is asked. */
export interface FsFind {
  /** The project; absent: that of the window, or the first one that is served. */
  project_id?: ProjectId | null;
  /** A glob, as the tool `find` takes it, or a part of a name or path. */
  pattern: string;
  /** The folder to look in; absent: the project's own. */
  path?: string | null;
  /** How many paths to give. */
  limit?: number | null;
}

/** What `v1.fs.list` is asked. */
export interface FsList {
  /** The project; absent: that of the window, or the first one that is served. */
  project_id?: ProjectId | null;
  /** The folder; absent: the project's own. */
  path?: string | null;
  /** The name of the last entry of the page before. */
  cursor?: string | null;
  /** How many entries to give. */
  limit?: number | null;
}

/** What `v1.fs.read` is asked. */
export interface FsRead {
  /** The project; absent: that of the window, or the first one that is served. */
  project_id?: ProjectId | null;
  /** The file. */
  path: string;
  /** As what its content is wanted; absent: as text if it is text and has at most 16 MiB, else in base64. */
  format?: FileFormat | null;
  /** Where to begin, in bytes: of the file for base64, of its text in UTF-8 for text. */
  offset?: number;
  /** How many bytes to give at most, counted likewise; a text ends before the character that would be cut. */
  limit?: number | null;
}

/** What `v1.fs.stat` is asked. */
export interface FsStat {
  /** The project; absent: that of the window, or the first one that is served. */
  project_id?: ProjectId | null;
  /** The file or folder. */
  path: string;
}

/** What `v1.fs.write` is asked: over the content that the user has seen, or a new one. */
export interface FsWrite {
  /** The project; absent: that of the window, or the first one that is served. */
  project_id?: ProjectId | null;
  /** The file. */
  path: string;
  /** All of its new content. */
  content: string;
  /** How the content is written here. */
  format?: FileFormat;
  /** Hash of the content that is replaced; absent: there is no such file yet. */
  base_hash?: string | null;
}

/** Stands in an update for an entity that is no more. */
export interface Gone {
  /** Its id. */
  id: string;
  /** When that was noticed. */
  deleted_at: string;
}

/** What `v1.history.clear` is asked. */
export interface HistoryClear {
  /** The session. */
  session_id: SessionId;
}

/** One entity. */
export interface ItemOfFileStat {
  /** The entity. */
  item: FileStat;
}

/** One entity. */
export interface ItemOfMessage {
  /** The entity. */
  item: Message;
}

/** One entity. */
export interface ItemOfProject {
  /** The entity. */
  item: Project;
}

/** One entity. */
export interface ItemOfRtc {
  /** The entity. */
  item: Rtc;
}

/** One entity. */
export interface ItemOfSession {
  /** The entity. */
  item: Session;
}

/** One entity. */
export interface ItemOfTurn {
  /** The entity. */
  item: Turn;
}

/** A whole list. */
export interface ItemsOfModelEntry {
  /** The entries. */
  items: ModelEntry[];
}

/** A whole list. */
export interface ItemsOfProject {
  /** The entries. */
  items: Project[];
}

/** A whole list. */
export interface ItemsOfToolEntry {
  /** The entries. */
  items: ToolEntry[];
}

/** Whether a model has its key. */
export type KeyState =
  /** It needs none. */
  | "not_needed"
  /** It has one. */
  | "set"
  /** The environment variable that should hold it is not set. */
  | { missing: string };

/** What a publication on `live:u=<user>` carries. All but updates go only to clients that asked for them. */
export type LiveEvent =
  /** The model goes on writing. */
  | { type: "delta"; data: TextDelta }
  /** A call tells of its progress. */
  | { type: "progress"; data: CallProgress }
  /** Something does not go on by itself. */
  | { type: "trouble"; data: Trouble }
  /** A watched file changed. */
  | { type: "file"; data: FileChanged }
  /** A message that is being written, with its whole text so far; its offset is 0. */
  | Update;

/** What was found. */
export interface Matches {
  /** The paths, sorted; those of folders end in `/`. */
  items: string[];
  /** Whether there are more than these. */
  more: boolean;
}

/** One entry of a conversation. */
export interface Message {
  /** Its id. */
  id: MessageId;
  /** The id that the client gave it; none for messages of the assistant and of tools. */
  client_id: ClientId | null;
  /** Its session. */
  session_id: SessionId;
  /** Its turn; none for a user message, which exists before its turn does. */
  turn_id: TurnId | null;
  /** A `toolcall_output` names its `toolcall_input`, a `prompt` the user's message that it came with. */
  parent_message_id: MessageId | null;
  /** Its place in the session, from 1. */
  global_offset: number;
  /** Its place in the turn, from 1; 0 outside of a turn. */
  turn_offset: number;
  /** Who speaks. */
  role: MessageRole;
  /** What it says. */
  content: Content;
  /** How far it is. */
  streaming_status: StreamingStatus;
  /** Who made it. */
  creator_kind: CreatorKind;
  /** Who made it, by id. Messages from before it was kept say `system`. */
  creator_ref_id: CreatorRef;
  /** When. */
  created_at: string;
  /** When it last changed. */
  updated_at: string;
  /**
   * Tokens of the request that it answers which were read in full: without those that came from the provider's cache or
   * were stored there. Like all counts of tokens on the first assistant message of a reply, and on no other message.
   */
  input_tokens?: number | null;
  /** Tokens of the reply, reasoning included. */
  output_tokens?: number | null;
  /** All tokens of request and reply, those that came from the cache or were stored there included. */
  total_tokens?: number | null;
  /** Tokens of the request that came from the provider's cache. */
  cached_tokens?: number | null;
  /** Those tokens of the reply that were reasoning. */
  reasoning_tokens?: number | null;
}

/** What `v1.message.get` is asked. */
export interface MessageGet {
  /** The message. */
  message_id: MessageId;
}

/** A message of a session. */
export type MessageId = string;

/** What `v1.message.list` is asked. */
export interface MessageList {
  /** The session. */
  session_id: SessionId;
  /** The `global_offset` of the last message of the page before, in the order of the pages. */
  cursor?: number | null;
  /** How many messages to give. */
  limit?: number | null;
  /** Which messages come first. A page goes on after its cursor, in this order. */
  order?: MessageOrder;
}

/** Which messages of a session come first. */
export type MessageOrder =
  /** The first one that was said. */
  | "oldest_first"
  /** The last one. */
  | "newest_first";

/** Who speaks. */
export type MessageRole =
  /** The person. */
  | "user"
  /** The model. */
  | "assistant"
  /** A call or its result. */
  | "tool"
  /** The program. */
  | "system";

/** What `v1.message.send` is asked. */
export interface MessageSend {
  /** What it says. */
  content_data: UserContent;
  /** The client's id of the session. */
  client_session_id: ClientId;
  /** The client's id of the message: sending it again is sending it once. */
  client_id: ClientId;
  /** The session; absent or empty: a new one. */
  server_session_id?: SessionId | null;
  /** The project's own instructions, for a new session. */
  agent_prompt?: string | null;
  /** The folder that a new session works in; absent: that of the window, or the first one that is served. */
  project_id?: ProjectId | null;
  /** What is asked before a tool runs in a new session; absent: as it is configured. Needs the scope `approve`, too. */
  mode?: Mode | null;
}

/** How much is asked before a tool runs. */
export type Mode =
  /** Every effect is asked for. */
  | "manual"
  /** Files are edited without asking, scripts are asked for. */
  | "edit"
  /** Nothing is changed. */
  | "plan"
  /** Like edit; tools of trusted servers that only read are not asked for either. */
  | "auto"
  /** Nothing is asked. */
  | "bypass";

/** A model as it is listed. */
export interface ModelEntry {
  /** What it is called here; for a provider `NAME/MODEL`, with the model still to be named. */
  name: string;
  /** The dialect. */
  api: string;
  /** The provider's name of the model, if it is settled. */
  model: string | null;
  /** Where it is, without user and password; null for the provider's own address. */
  base_url: string | null;
  /** Whether this version speaks the dialect. */
  spoken: boolean;
  /** Whether it has the key that it needs. */
  key: KeyState;
  /** How many tokens it takes, if that is configured. */
  context: number | null;
  /** Whether it answers when no model is named. */
  default: boolean;
}

/** What `v1.models.list` is asked. */
export type ModelsList = Record<string, never>;

/** Whether the outcome of a started call is known. */
export type OutcomeKnown =
  /** It was started and its process died; the user decides what to make of it. */
  | "unknown";

/** Kinds of owners. */
export type OwnerKind =
  /** A person. */
  | "user"
  /** The program. */
  | "system";

/** Part of a list. */
export interface PageOfFileEntry {
  /** The entries. */
  items: FileEntry[];
  /** The cursor of the next page; absent at the end. */
  next_cursor?: string | null;
}

/** Part of a list. */
export interface PageOfMessage {
  /** The entries. */
  items: Message[];
  /** The cursor of the next page; absent at the end. */
  next_cursor?: number | null;
}

/** Part of a list. */
export interface PageOfRtc {
  /** The entries. */
  items: Rtc[];
  /** The cursor of the next page; absent at the end. */
  next_cursor?: RtcId | null;
}

/** Part of a list. */
export interface PageOfSession {
  /** The entries. */
  items: Session[];
  /** The cursor of the next page; absent at the end. */
  next_cursor?: SessionId | null;
}

/** Part of a list. */
export interface PageOfTurn {
  /** The entries. */
  items: Turn[];
  /** The cursor of the next page; absent at the end. */
  next_cursor?: TurnId | null;
}

/** Part of a list. */
export interface PageOfTurnChanges {
  /** The entries. */
  items: TurnChanges[];
  /** The cursor of the next page; absent at the end. */
  next_cursor?: TurnId | null;
}

/** What an approval shows of a call. */
export interface Preview {
  /** What `text` is. */
  kind: PreviewKind;
  /** The diff or code. */
  text: string;
  /** Where the call really leads, links followed; a Yes covers these paths. */
  paths: string[];
  /** Of code that would run: what it is given, and what it is known by. */
  program?: Program | null;
}

/** What a preview is. */
export type PreviewKind =
  /** A unified diff with nothing left out. */
  | "diff"
  /** Program text, all of it. */
  | "code"
  /** Words, for example why there is no diff, or as much of one as is good to read. */
  | "text";

/** What an approval shows. */
export interface Previewed {
  /** The diff or code; null: the tool has nothing to show. */
  preview: Preview | null;
}

/** What belongs to the code of a `Preview` that would run. */
export interface Program {
  /** Digest of the code and its parameters; a rule is made for it. */
  digest: string;
  /** Its parameters. */
  params: unknown;
}

/** Something that a running call tells. */
export type Progress =
  /** Text for the user. */
  | { kind: "text"; text: string }
  /** Something of the tool's own. */
  | { kind: "custom"; subkind: string; payload: unknown };

/** A folder on a device that the user opened. */
export interface Project {
  /** Its id. */
  id: ProjectId;
  /** The device it is on. */
  device_id: DeviceId;
  /** Where it is there: an absolute path of the host. */
  root: string;
  /** Whether the user said that what it brings may be used. */
  trusted: boolean;
  /** When it was first opened. */
  created_at: string;
  /** When it was last opened; absent: only the first time, or not since this is kept. */
  opened_at?: string | null;
}

/** What `v1.project.close` is asked. */
export interface ProjectClose {
  /** The project. */
  project_id: ProjectId;
}

/** A folder that the user opened. */
export type ProjectId = string;

/** What `v1.project.list` is asked. */
export type ProjectList = Record<string, never>;

/** What `v1.project.open` is asked. */
export interface ProjectOpen {
  /** The folder: an absolute path of the device. */
  path: string;
}

/** What `v1.project.recent` is asked. */
export interface ProjectRecent {
  /** How many projects to give. */
  limit?: number | null;
}

/** What `v1.project.trust` is asked. */
export interface ProjectTrust {
  /** The project. */
  project_id: ProjectId;
  /** Whether what it brings may be used. */
  trusted: boolean;
}

/** What the model reads besides what the user typed. */
export interface PromptContent {
  /** What it is: `scenarios`. */
  name: string;
  /** A line to show for it: the titles of the scenarios, at most 97 characters of them and `…` where that is not all. */
  title: string;
  /** The text: each scenario that is not empty, beneath its title. */
  body: string;
}

/** A file or folder that was put back. */
export interface PutBack {
  /** Where it is. */
  path: string;
  /** What became of it now. */
  kind: FileChangeKind;
}

/**
 * How a run on the device ended. One that takes longer than two seconds is answered meanwhile: the status says that the call
 * is not over, it goes on, and its updates tell the rest.
 */
export interface Ran {
  /** The call. */
  rtc_id: RtcId;
  /** Its state. */
  status: RtcStatus;
  /** Digest of its outcome, which `submit_result` compares; null while there is none. */
  digest: string | null;
}

/** The claim goes on. */
export interface Renewed {
  /** Until when. */
  lease_until: string | null;
}

/** What a request is answered with. */
export interface Reply<Result = unknown> {
  /** What the method gives. */
  result: Result;
  /** What an action changed: the same updates as on the topic channel, with the same offsets. */
  updates?: Update[];
}

/** A state that a client may put a call into. */
export type ReportedStatus =
  /** It runs. */
  | "executing"
  /** It ended with an error. */
  | "failed"
  /** It took too long. */
  | "timeout"
  /** The user refused it. */
  | "rejected";

/** What the user makes of a call that was started and of which nobody knows how it ended. */
export type Resolution =
  /** Run it again. */
  | "retry"
  /** It is done. */
  | "done"
  /** Tell the model, which shall look. */
  | "tell";

/** Why a request was not done. */
export interface RpcError {
  /** The stable code; user interfaces branch on it. */
  code: Code;
  /** What is wrong and what to do, for a person. */
  message: string;
  /** More for programs: `{"field": …}` where a field of the request is wrong. */
  details?: unknown;
}

/** A call that the user's device runs. */
export interface Rtc {
  /** Its id. */
  id: RtcId;
  /** What a client echoes when it submits a result. */
  client_id: ClientId;
  /** Its session. */
  session_id: SessionId;
  /** The device that runs it. */
  device_id: DeviceId;
  /** Its turn. */
  turn_id: TurnId;
  /** The `toolcall_input`. */
  message_id: MessageId;
  /** The `toolcall_output`, once there is one. */
  output_message_id: MessageId | null;
  /** Its place among the calls of the session, from 1; calls run in this order. */
  offset: number;
  /** The tool. */
  tool_name: string;
  /** The checked arguments. */
  parameters: unknown;
  /** Its state. */
  status: RtcStatus;
  /** How often it was started. */
  attempt: number;
  /** The user's decision, where one is needed. */
  approval?: Approval | null;
  /** Where a call that the user answers was answered; absent: it was not, or not by a client. */
  answered_by?: DeviceId | null;
  /** What an approval shows. */
  preview?: Preview | null;
  /** Set while it is `executing` and nobody knows whether it took effect. */
  outcome?: OutcomeKnown | null;
  /** What a call that did not complete has changed. */
  effect?: Effect | null;
  /** What the tool gave. */
  result: unknown;
  /** Why it failed or was refused. */
  error_message: string | null;
  /** When it was made. */
  created_at: string;
  /** When it last changed. */
  updated_at: string;
  /** When it ended. */
  completed_at: string | null;
}

/** What `v1.rtc.approve` is asked. */
export interface RtcApprove {
  /** The call. */
  rtc_id: RtcId;
  /** What the user answers. */
  decision: ApprovalDecision;
  /** The user's words, which the model reads after a refusal. */
  reason?: string | null;
}

/** What `v1.rtc.claim` is asked. */
export interface RtcClaim {
  /** The call. */
  rtc_id: RtcId;
}

/** What `v1.rtc.get` is asked. */
export interface RtcGet {
  /** The call. */
  rtc_id: RtcId;
}

/** A remote tool call. */
export type RtcId = string;

/** What `v1.rtc.list` is asked. */
export interface RtcList {
  /** The session. */
  session_id: SessionId;
  /** The last call of the page before. */
  cursor?: RtcId | null;
  /** How many calls to give. */
  limit?: number | null;
}

/** What `v1.rtc.preview` is asked. */
export interface RtcPreview {
  /** The call. */
  rtc_id: RtcId;
}

/** What `v1.rtc.renew` is asked. */
export interface RtcRenew {
  /** The call. */
  rtc_id: RtcId;
  /**
   * Which start of the call still runs, as the claim gave it. Needed on another connection than the one that claimed
   * it, which has the claim from then on.
   */
  attempt?: number | null;
}

/** What `v1.rtc.resolve` is asked. */
export interface RtcResolve {
  /** The call. */
  rtc_id: RtcId;
  /** What the user makes of it. */
  decision: Resolution;
}

/** What `v1.rtc.run` is asked. */
export interface RtcRun {
  /** The call. */
  rtc_id: RtcId;
}

/** State of a call. */
export type RtcStatus =
  /** Made. */
  | "pending"
  /** The device has taken it. */
  | "sent"
  /** It runs, or may have run when its process died. */
  | "executing"
  /** It has a result. */
  | "completed"
  /** It ended with an error. */
  | "failed"
  /** It took too long. */
  | "timeout"
  /** The user, a rule or a stop refused it. */
  | "rejected";

/** What `v1.rtc.submit_result` is asked. */
export interface RtcSubmitResult {
  /** The call. */
  rtc_id: RtcId;
  /** Whether it did what it was to do. */
  success: boolean;
  /**
   * What it gave. Absent or null: of a call that the serving machine runs, as that run ended; of a call of another
   * device, the value null.
   */
  result?: unknown;
  /** Why it failed. */
  error?: string | null;
  /** The call's own client id, or nothing. */
  client_id?: ClientId | null;
  /**
   * Which start of the call it is the result of, as the claim gave it; that of another start changes nothing. Nothing:
   * the one under way.
   */
  attempt?: number | null;
}

/** What `v1.rtc.update_status` is asked. */
export interface RtcUpdateStatus {
  /** The call. */
  rtc_id: RtcId;
  /** Its new state. */
  status: ReportedStatus;
  /** The call's own client id, or nothing. */
  client_id?: ClientId | null;
}

/** A standing decision of the user. Deny wins over everything. */
export interface Rule {
  /** Its id. */
  id: RuleId;
  /** The project it is for; `None`: all. */
  project_id: ProjectId | null;
  /** What it says. */
  effect: RuleEffect;
  /** The tool it is about. */
  tool_name: string;
  /** What of the tool it is about. */
  scope: RuleScope;
  /** When it was made. */
  created_at: string;
}

/** What a rule says. */
export type RuleEffect =
  /** Run without asking. */
  | "allow"
  /** Never run. */
  | "deny";

/** A permission rule. */
export type RuleId = string;

/** What of a tool a rule is about. */
export type RuleScope =
  /** These virtual paths and everything beneath them; `/` is everything. */
  | { paths: string[] }
  /** This very script. */
  | { digest: string };

/** A scenario, whole. */
export interface ScenarioRef {
  /** Its title. */
  title: string;
  /** Where it is. */
  filepath: string;
  /** All of it. */
  file_content: string;
}

/** What a connection must be allowed to do. */
export type Scope =
  /** See sessions. */
  | "view"
  /** Speak in them, stop, close and fork them. */
  | "converse"
  /** Answer for the user: approvals, questions, modes, trust. */
  | "approve"
  /** Act on the device: run calls, reach the files of its projects. */
  | "execute";

/** The message that was sent, now or before. */
export interface Sent {
  /** Its session. */
  session_id: SessionId;
  /** Empty: the turn is made when it begins. */
  turn_id: string;
  /** The message. */
  message_id: MessageId;
}

/** A conversation, bound to one device and one project. */
export interface Session {
  /** Its id. */
  id: SessionId;
  /** The id that the client gave it. */
  client_id: ClientId;
  /** Who owns it. */
  owner_kind: OwnerKind;
  /** The owner. */
  owner_ref_id: UserId;
  /** The device that created it and runs its calls. */
  device_id: DeviceId;
  /** The folder it works in; never changes. `None`: a private scratch folder. */
  project_id: ProjectId | null;
  /** What lists show: the first 50 characters of the first message, until somebody renames it. */
  title: string;
  /** Its state. */
  status: SessionStatus;
  /** What is asked before a tool runs. */
  mode: Mode;
  /** The model's own list of steps. */
  todo_list: TodoItem[];
  /** When it began. */
  created_at: string;
  /** When it last changed. */
  updated_at: string;
  /** When it was closed. */
  closed_at: string | null;
  /** When it was deleted. */
  deleted_at: string | null;
  /** The project's own instructions as they were when it began; never changes. */
  agent_prompt: string | null;
  /** The client's id of the session at the top of its tree; null: it is the top itself. */
  root_client_session_id: ClientId | null;
  /** The session at the top of its tree; null: it is the top itself. */
  root_server_session_id: SessionId | null;
  /** The client's id of the session that began it; null: a person did. */
  parent_client_session_id: ClientId | null;
  /** The session that began it; null: a person did. */
  parent_server_session_id: SessionId | null;
  /** The message of the parent that began it. */
  sub_agent_parent_message_id: MessageId | null;
  /** Tokens sent that were read in full: without those that came from the provider's cache or were stored there. */
  total_input_tokens: number;
  /** Tokens received, reasoning included. */
  total_output_tokens: number;
  /** All tokens: sent, from the cache, into the cache, and received. */
  total_tokens: number;
  /** Tokens sent that came from the provider's cache. Those of replies from before they were counted are missing. */
  total_cached_read_tokens: number;
  /** Tokens sent that were stored in the provider's cache. Those of replies from before they were counted are missing. */
  total_cached_write_tokens: number;
  /** Those tokens received that were reasoning. Those of replies from before they were counted are missing. */
  total_reasoning_tokens: number;
  /** When tokens were last added; null: never since this is kept. */
  last_token_update_at: string | null;
  /**
   * The history was cleared: turns whose first message has this `global_offset`, or one before, are in no request of a
   * later turn. Absent: it never was.
   */
  cleared_offset?: number | null;
}

/** What `v1.session.changes` is asked. */
export interface SessionChanges {
  /** The session. */
  session_id: SessionId;
  /** Only this turn. */
  turn_id?: TurnId | null;
  /** Only this file or folder. */
  path?: string | null;
  /** The last turn of the page before. */
  cursor?: TurnId | null;
  /** How many turns to give: those in which something was changed. */
  limit?: number | null;
}

/** What `v1.session.close` is asked. */
export interface SessionClose {
  /** The session. */
  session_id: SessionId;
}

/** What `v1.session.fork` is asked. */
export interface SessionFork {
  /** The session to copy from. */
  old_server_session_id: SessionId;
  /** Its user message that is written anew; what comes before it is copied. */
  old_server_message_id: MessageId;
  /** The client's id of the new session. */
  new_client_session_id: ClientId;
  /** The client's id of the new message. */
  new_client_message_id: ClientId;
  /** What the new message says. */
  content_data: UserContent;
  /** How many messages the new session has at most, the newest of them, drawn into 1 to 1000; absent: all. */
  limit?: number | null;
}

/** What `v1.session.get` is asked. */
export interface SessionGet {
  /** The session. */
  session_id: SessionId;
}

/** A conversation. */
export type SessionId = string;

/** What `v1.session.list` is asked. */
export interface SessionList {
  /** The last session of the page before. */
  cursor?: SessionId | null;
  /** How many sessions to give. */
  limit?: number | null;
}

/** What `v1.session.open` is asked. */
export interface SessionOpen {
  /** The session. */
  session_id: SessionId;
}

/** What `v1.session.redo` is asked. */
export interface SessionRedo {
  /** The session. */
  session_id: SessionId;
}

/** What `v1.session.set_mode` is asked. */
export interface SessionSetMode {
  /** The session. */
  session_id: SessionId;
  /** What is asked before a tool runs, from now on. */
  mode: Mode;
}

/** State of a session. While a call is open it is `idle`: look at the turn to see whether something goes on. */
export type SessionStatus =
  /** A turn runs. */
  | "active"
  /** Nothing runs, or a call is waited for. */
  | "idle"
  /** Takes no messages. */
  | "closed";

/** What `v1.session.undo` is asked. */
export interface SessionUndo {
  /** The session. */
  session_id: SessionId;
  /** Only what this call changed. */
  rtc_id?: RtcId | null;
  /** Only what this turn changed. */
  turn_id?: TurnId | null;
  /** Only this file or folder. */
  path?: string | null;
  /** Only these hunks of the call's diff of the path, counted from 1; a call and a path are named then. */
  hunks?: number[];
}

/** What `v1.session.update` is asked. */
export interface SessionUpdate {
  /** The session. */
  session_id: SessionId;
  /** A new title; absent: the title stays. */
  title?: string | null;
  /** Deletes the session: it is kept and not listed any more. */
  deleted_at?: string | null;
}

/** The session that was changed. */
export interface SessionUpdated {
  /** The session. */
  session_id: SessionId;
}

/** How far a message is. */
export type StreamingStatus =
  /** A user message that no turn has taken yet, or the `prompt` that came with it. */
  | "pending"
  /** Being written; its text is provisional and not part of any prompt. */
  | "streaming"
  /** Whole. */
  | "completed"
  /** Broke off; its text so far is kept and is not part of any prompt. */
  | "failed";

/** It is done, or was done before. */
export interface Success {
  /** Always true: what fails is an error. */
  success: boolean;
}

/** What the model added to a message. */
export interface TextDelta {
  /** The session. */
  session_id: SessionId;
  /** The message being written. */
  message_id: MessageId;
  /** Whether it is a thought. */
  thinking: boolean;
  /** Which addition to the message this is, from 1. After a hole the message is read again. */
  sequence: number;
  /** What was added. */
  delta: string;
}

/** A step of the model's list. */
export interface TodoItem {
  /** What is to be done, imperative. */
  content: string;
  /** How far it is. */
  status: TodoStatus;
  /** The same while it is done, present continuous. */
  active_form: string;
}

/** State of a step. */
export type TodoStatus =
  /** Not begun. */
  | "pending"
  /** Begun. */
  | "in_progress"
  /** Done. */
  | "completed";

/** A call in a message. */
export interface ToolCall {
  /** Pairs the call with its result. */
  id: ToolCallId;
  /** The tool asked for, also if there is none of that name. */
  tool_name: string;
  /** The arguments as the model wrote them, byte for byte. */
  input: string;
  /** The text that the model reads as the result, whole; the budget cuts it when a request is made. */
  output?: string | null;
  /** How the call ended. */
  status?: RtcStatus | null;
}

/** The id by which a model pairs a call with its result. Not always a UUID. */
export type ToolCallId = string;

/** A tool as it is listed. */
export interface ToolEntry {
  /** Its name. */
  name: string;
  /** What it does and when to use it. */
  description: string;
  /** Who runs it. */
  kind: ToolKind;
  /** JSON Schema of its arguments. */
  input_schema: unknown;
}

/** Who runs a tool. */
export type ToolKind =
  /** An executor on the user's device: each call is a remote tool call. */
  | "device"
  /** The user answers it, on any client. */
  | "user"
  /** The engine itself, inside the session's lane, without a remote tool call. */
  | "engine";

/** What `v1.tools.list` is asked. */
export type ToolsList = Record<string, never>;

/** What a publication on `topic:u=<user>` carries. */
export type TopicEvent =
  /** Nothing is at this offset; only the client's position goes on. */
  | { type: "gap"; data: Record<string, never> }
  /** A change. */
  | Update;

/** Something of a session does not go on by itself. */
export interface Trouble {
  /** The session. */
  session_id: SessionId;
  /** What kind of trouble. */
  code: Code;
  /** What happened and what to do. */
  message: string;
}

/** One request of the user and what is done for it. */
export interface Turn {
  /** Its id. */
  id: TurnId;
  /** Makes its creation idempotent. */
  client_id: ClientId;
  /** Its session. */
  session_id: SessionId;
  /** Its state. */
  status: TurnStatus;
  /** When it was made. */
  created_at: string;
  /** When it first ran. */
  started_at: string | null;
  /** When it ended. */
  completed_at: string | null;
  /** Why it failed. */
  error_message: string | null;
}

/** What a turn changed. */
export interface TurnChanges {
  /** The turn. */
  turn_id: TurnId;
  /** What it changed, in the order in which it did so first. */
  files: FileChange[];
  /** How many files more it changed. */
  more: number;
}

/** What `v1.turn.get` is asked. */
export interface TurnGet {
  /** The turn. */
  turn_id: TurnId;
}

/** One request of the user and everything done for it. */
export type TurnId = string;

/** What `v1.turn.list` is asked. */
export interface TurnList {
  /** The session. */
  session_id: SessionId;
  /** The last turn of the page before. */
  cursor?: TurnId | null;
  /** How many turns to give. */
  limit?: number | null;
}

/** State of a turn. */
export type TurnStatus =
  /** Made, not begun. */
  | "pending"
  /** The model is asked. */
  | "running"
  /** Done. */
  | "completed"
  /** Ended by an error. */
  | "failed"
  /** Stopped by the user. */
  | "cancelled"
  /** Waits for calls. */
  | "interrupted"
  /** Its message was taken over by another turn. */
  | "merged";

/** What `v1.turn.stop` is asked. */
export interface TurnStop {
  /** The session whose turn is to stop. */
  session_id: SessionId;
}

/** What was put back. */
export interface Undone {
  /** The files and folders, in the order in which they were put back. */
  files: PutBack[];
}

/** A change as clients get it. The log keeps only `id` and `items`; `data_list` and `offset` are filled in at delivery. */
export interface Update {
  /** Its id. */
  id: UpdateId;
  /** What changed. */
  items: UpdateItem[];
  /** The entities as they are now, index by index with `items`. */
  data_list?: unknown[];
  /** Its place in the user's stream, from 1; 0 for live messages. */
  offset: number;
}

/** What happened to it. A deletion is told by `deleted_at` in the entity. */
export type UpdateAction =
  /** It is new. */
  | "created"
  /** It changed. */
  | "updated";

/** Kinds of entities that updates tell of. */
export type UpdateEntity =
  /** A session. */
  | "session"
  /** A turn. */
  | "turn"
  /** A message. */
  | "message"
  /** A remote tool call. Its first update says `updated` too. */
  | "rtc"
  /** A watched file. */
  | "file";

/** An entry of the user's stream. */
export type UpdateId = string;

/** One changed entity. */
export interface UpdateItem {
  /** Its kind. */
  entity: UpdateEntity;
  /** Whether it is new. */
  action: UpdateAction;
  /** Its id. */
  entity_id: string;
}

/** What a user says. */
export type UserContent =
  /** Plain text. */
  | { type: "text"; data: string }
  /** Text with what belongs to it. */
  | { type: "user_message"; data: UserMessage };

/** The owner of sessions and of one topic stream. */
export type UserId = string;

/** Text with what belongs to it. */
export interface UserMessage {
  /** The text that was typed. */
  text: string;
  /** Files that were attached. They come with uploads, in a later version: until then a message with files is refused. */
  files?: FileAttachment[];
  /** Scenarios that were chosen. */
  scenarios?: ScenarioRef[];
}

/** Every method: what it is asked, what it gives, and what a connection must be allowed to do (one of the scopes). */
export interface Methods {
  /** The sessions, the one that changed last first; deleted ones are left out. The cursor's session may have been deleted since; one that has changed since makes the page repeat others and leaves none out. */
  "v1.session.list": { request: SessionList; result: PageOfSession; kind: "query"; scope: "view" };
  /** One session. */
  "v1.session.get": { request: SessionGet; result: ItemOfSession; kind: "query"; scope: "view" };
  /** Opens a closed session again. One that is not closed stays as it is. */
  "v1.session.open": { request: SessionOpen; result: Success; kind: "action"; scope: "converse" };
  /** Closes a session: what runs in it is stopped, and it takes no messages. A closed one stays as it is. A `client_id` is accepted and ignored. */
  "v1.session.close": { request: SessionClose; result: Success; kind: "action"; scope: "converse" };
  /** Renames or deletes a session that is not closed. */
  "v1.session.update": { request: SessionUpdate; result: SessionUpdated; kind: "action"; scope: "converse" };
  /** Copies a session up to one of its user messages, which is written anew, and begins a turn. The new session has what the model read before that message, with ids of its own, and belongs to the device that asks. Asked for again under the same client ids, it answers with the session that is there. */
  "v1.session.fork": { request: SessionFork; result: Forked; kind: "action"; scope: "converse" };
  /** Changes what is asked before a tool runs. */
  "v1.session.set_mode": { request: SessionSetMode; result: Success; kind: "action"; scope: "approve" };
  /** What the calls of a session changed in its folder, by turn and file, the last turn first. Known is what is kept for an undo: up to 30 days and 2 GiB, if nothing else is configured. Diffs come along up to 1 MiB in all; one that was left out is told when its turn and its path are named. */
  "v1.session.changes": { request: SessionChanges; result: PageOfTurnChanges; kind: "query"; scope: "view" };
  /** Puts back what calls of a session changed: of one call, of one turn, of one file, or hunks of what a call did to a file. Without any of these it is the last turn of which something can be undone. Everything is put back or nothing: where a file is not as the calls left it any more, the details of `file.conflict` have the `files` with what the calls did and what was done since, and the hunks that can be put back all the same. */
  "v1.session.undo": { request: SessionUndo; result: Undone; kind: "action"; scope: "execute" };
  /** Takes back the last undo of a session that was not taken back, under the same conditions. */
  "v1.session.redo": { request: SessionRedo; result: Undone; kind: "action"; scope: "execute" };
  /** Sends a message of the user; without a session it makes one, on the device that sends. A folder that it names must be open on that device. Sent again under the same client id, it answers with the message that is there. */
  "v1.message.send": { request: MessageSend; result: Sent; kind: "action"; scope: "converse" };
  /** The messages of a session, in the order in which they were made, or the other way round. */
  "v1.message.list": { request: MessageList; result: PageOfMessage; kind: "query"; scope: "view" };
  /** One message. */
  "v1.message.get": { request: MessageGet; result: ItemOfMessage; kind: "query"; scope: "view" };
  /** Lets the model forget what was said so far. The messages stay; no request contains them any more. A turn under way keeps what it has, and a message that waits is still answered. If there was something to forget, the user's stream begins anew under another epoch: clients drop what they kept, and load what there is. */
  "v1.history.clear": { request: HistoryClear; result: Success; kind: "action"; scope: "converse" };
  /** The turns of a session, in order. */
  "v1.turn.list": { request: TurnList; result: PageOfTurn; kind: "query"; scope: "view" };
  /** One turn. */
  "v1.turn.get": { request: TurnGet; result: ItemOfTurn; kind: "query"; scope: "view" };
  /** Stops what goes on in a session, and answers when it has stopped; its updates come on the topic channel. Nothing going on is no error. A `client_id` is accepted and ignored. */
  "v1.turn.stop": { request: TurnStop; result: Success; kind: "action"; scope: "converse" };
  /** The calls of a session, in order; those that wait for an approval only for a client that can show them. */
  "v1.rtc.list": { request: RtcList; result: PageOfRtc; kind: "query"; scope: "view" };
  /** One call. One that waits for an approval is there only for a client that can show it. */
  "v1.rtc.get": { request: RtcGet; result: ItemOfRtc; kind: "query"; scope: "view" };
  /** Puts a call into another state. A state that ends it also lets its turn go on. The state that it has already is no error. */
  "v1.rtc.update_status": { request: RtcUpdateStatus; result: Success; kind: "action"; scope: "execute" };
  /** Hands in how a call ended; the turn goes on. The first answer counts: handing in another, or the same again, changes nothing, and the reply then has the call as it ended, at offset 0. `approve` is enough for a call that the user answers; `answered_by` says where that was. While an executor has claimed the call, only its connection says how it ended, or who names the `attempt`. */
  "v1.rtc.submit_result": { request: RtcSubmitResult; result: Success; kind: "action"; scope: "execute" | "approve" };
  /** Takes a call to run it, on a device of its own; nobody else runs it then, for as long as the claim is renewed. Of a claim that is lost, a call that only looks is free again; of any other the outcome is unknown, and the user decides. A result that comes all the same is taken. */
  "v1.rtc.claim": { request: RtcClaim; result: Claimed; kind: "action"; scope: "execute" };
  /** Says that a claimed call still runs. A claim that has run out is `rtc.invalid_state`; where another executor has claimed the call since, it is `rtc.already_claimed`, and that claim stays as it is. */
  "v1.rtc.renew": { request: RtcRenew; result: Renewed; kind: "action"; scope: "execute" };
  /** Runs a call on the device by its id, or waits for the run that is under way, and answers when it has ended. */
  "v1.rtc.run": { request: RtcRun; result: Ran; kind: "action"; scope: "execute" };
  /** What an approval of a call shows. Where that could not be made when the call was, it is tried again, and kept if it can be by now. */
  "v1.rtc.preview": { request: RtcPreview; result: Previewed; kind: "query"; scope: "view" };
  /** Answers an approval. The first answer counts. */
  "v1.rtc.approve": { request: RtcApprove; result: Success; kind: "action"; scope: "approve" };
  /** Says what to make of a call that was started and of which nobody knows how it ended. */
  "v1.rtc.resolve": { request: RtcResolve; result: Success; kind: "action"; scope: "approve" };
  /** Opens a folder of the device as a project, or the project that it is already. */
  "v1.project.open": { request: ProjectOpen; result: ItemOfProject; kind: "action"; scope: "execute" };
  /** The projects that are open. */
  "v1.project.list": { request: ProjectList; result: ItemsOfProject; kind: "query"; scope: "view" };
  /** The projects that were opened, the last one first. */
  "v1.project.recent": { request: ProjectRecent; result: ItemsOfProject; kind: "query"; scope: "view" };
  /** Says whether what a project brings may be used. */
  "v1.project.trust": { request: ProjectTrust; result: ItemOfProject; kind: "action"; scope: "approve" };
  /** Closes a project. Its sessions stay, and their calls still run in it. */
  "v1.project.close": { request: ProjectClose; result: Success; kind: "action"; scope: "execute" };
  /** The entries of a folder, sorted by name. */
  "v1.fs.list": { request: FsList; result: PageOfFileEntry; kind: "query"; scope: "execute" };
  /** Part of a file. */
  "v1.fs.read": { request: FsRead; result: FileRead; kind: "query"; scope: "execute" };
  /** What is known of a path. */
  "v1.fs.stat": { request: FsStat; result: ItemOfFileStat; kind: "query"; scope: "execute" };
  /** The files and folders whose path matches, as the tool `find` finds them: without ignored and hidden ones. Those that a rule forbids are left out. */
  "v1.fs.find": { request: FsFind; result: Matches; kind: "query"; scope: "execute" };
  /** Writes a file, if it is still as the caller has seen it. A text file that is written as text keeps its encoding, and the bytes of the lines that stay the same. The details of `file.conflict` have the `hash` of the content now, null if there is no file. */
  "v1.fs.write": { request: FsWrite; result: FileWritten; kind: "action"; scope: "execute" };
  /** The tools that models are offered. */
  "v1.tools.list": { request: ToolsList; result: ItemsOfToolEntry; kind: "query"; scope: "view" };
  /** The models that can be asked. */
  "v1.models.list": { request: ModelsList; result: ItemsOfModelEntry; kind: "query"; scope: "view" };
}

/** The name of a method. */
export type Method = keyof Methods;
