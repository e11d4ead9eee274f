import { Executor } from '../executor/executor';
import { Submits } from '../executor/submits';
import type { Platform, WindowEvent } from '../platform/platform';
import { Database, type Submit } from '../store/database';
import { Drafts } from '../store/drafts';
import { whenLost } from '../store/lost';
import { Topic, type TopicState } from '../store/topic';
import { Client, isUpdate, type LineState, type SignIn } from '../wire/client';
import { isLineError, isNoSession, RpcError } from '../wire/errors';
import type { FileChanged, LiveEvent, Methods, Mode, ModelEntry, Rtc, Session } from '../wire/generated';
import { fileDraftsIn, type FileDrafts } from '../vfs/drafts';
import { newId } from '../wire/ids';
import { STORE_BROKEN } from './advice';
import { sessionsAtWork, waitingBySession } from './calls';
import { Conversation } from './conversation.svelte';
import { Folders } from './folders.svelte';
import { Notices, type About, type Notice } from './notices.svelte';
import { watch } from './watch';

/** Everything that the page shows. */
export class App {
  line = $state.raw<LineState>({ phase: 'connecting' });
  topicState = $state.raw<TopicState>({ phase: 'loading' });
  signIn = $state.raw<SignIn | null>(null);
  sessions = $state.raw<Session[]>([]);
  /** The model that answers where none is named. */
  model = $state.raw<ModelEntry | null>(null);
  /** Calls that have not ended. */
  #open = $state.raw<Rtc[]>([]);
  /** Sessions in which something goes on. */
  busy = $state.raw<ReadonlySet<string>>(new Set());
  /** Answers that the server does not have yet, by call. */
  submits = $state.raw<ReadonlyMap<string, Submit>>(new Map());
  selected = $state<string | null>(null);
  conversation = $state.raw<Conversation | null>(null);
  /** The address names a session that the server does not have. */
  isMissing = $state(false);
  /** Nothing can be kept, so nothing new is shown. */
  isStoreBroken = $state(false);
  /** The session that the last message on this page began. */
  begun: string | null = null;

  /** How many calls wait for the user, by session; what is answered waits no more, although the server does not have it. */
  readonly waiting: ReadonlyMap<string, number> = $derived(
    waitingBySession(this.#open.filter(({ id }) => !this.submits.has(id))),
  );
  readonly waitingElsewhere = $derived(
    [...this.waiting].reduce((sum, [id, count]) => (id === this.selected ? sum : sum + count), 0),
  );

  readonly folders: Folders;
  /** Texts of the message field that were not sent yet. */
  readonly drafts = new Drafts();
  /** Texts of files that were not saved yet. */
  readonly fileDrafts: FileDrafts = fileDraftsIn(() => this.#database);
  /** Told what was changed of the files that are looked at; null after a time in which nothing was told. */
  filesChanged: (changed: FileChanged | null) => void = () => {};
  /** The connection, for what has a state of its own. */
  readonly client: Client;
  #database: Database | null = null;
  #topic: Topic | null = null;
  #submits: Submits | null = null;
  #stops: (() => void)[] = [];
  readonly #notices = new Notices();

  constructor(readonly platform: Platform) {
    this.client = new Client(platform, {
      state: (state) => {
        this.line = state;
        if (state.phase === 'connected') {
          void this.#load();
          this.filesChanged(null);
        }
      },
      signedIn: (signIn) => this.#signedIn(signIn),
    });
    this.folders = new Folders(this.client, platform.folders, () => this.#notices.over('folder'));
    platform.watch((event) => this.#told(event));
  }

  /** What the user is told until they have read it. */
  get notices(): Notice[] {
    return this.#notices.list;
  }

  /** Connects. */
  start(): void {
    this.client.connect();
  }

  /** Ends everything. */
  close(): void {
    this.#stops.forEach((stop) => stop());
    this.conversation?.close();
    this.#topic?.close();
    this.client.close();
    this.#database?.close();
  }

  /** Shows a session, or with `null` the place to begin one. */
  select(session_id: string | null): void {
    if (session_id === this.selected && (session_id === null || this.conversation !== null)) {
      return;
    }
    this.selected = session_id;
    this.isMissing = false;
    this.conversation?.close();
    this.conversation = null;
    this.#openSelected();
  }

  /** Sends a message, beginning a session (in a folder, in a mode) if none is shown. Rejects if it was not taken. */
  async send(text: string, project_id: string | null, mode: Mode | null = null): Promise<void> {
    const current = this.selected;
    const client_session_id = this.conversation?.session?.client_id ?? newId();
    const request: Methods['v1.message.send']['request'] = {
      content_data: { type: 'text', data: text },
      client_session_id,
      client_id: newId(),
      ...(current === null ? {} : { server_session_id: current }),
      ...(current === null && project_id !== null ? { project_id } : {}),
      ...(current === null && mode !== null ? { mode } : {}),
    };
    const { session_id } = await this.client.callUntilAnswered('v1.message.send', request);
    this.#notices.over('disk');
    if (this.selected === current) {
      this.begun = current === null ? session_id : this.begun;
      this.select(session_id);
    }
  }

  /** Gives a session another title. */
  async rename(session_id: string, title: string): Promise<void> {
    await this.client.call('v1.session.update', { session_id, title });
  }

  /** Takes a session out of the list; the server keeps it. */
  async remove(session_id: string): Promise<void> {
    const deleted_at = new Date().toISOString();
    await this.client.call('v1.session.update', { session_id, deleted_at });
  }

  /** Keeps an answer to questions of the model, and hands it in; `null` sends them back unanswered. */
  async answer(rtc: Rtc, answer: Submit['answer']): Promise<void> {
    await this.#submits?.submit({ rtc_id: rtc.id, client_id: rtc.client_id, answer });
  }

  /** Runs something that the user asked for, maybe about a folder, and tells them if it failed. */
  async attempt(action: () => Promise<unknown>, about: About | null = null): Promise<boolean> {
    try {
      await action();
      return true;
    } catch (error) {
      this.#tellError(error, about);
      return false;
    }
  }

  /** Shows a notice. */
  tell(text: string, isError = false): void {
    this.#notices.tell(text, isError);
  }

  /** Takes a notice away. */
  dismiss(id: number): void {
    this.#notices.dismiss(id);
  }

  #tellError(error: unknown, about: About | null = null): void {
    // That it is signed out the page says itself, and what to do; no line comes back without it.
    if (!isLineError(error) || this.line.phase !== 'signed_out') {
      this.#notices.tellError(error, about);
    }
  }

  #signedIn(signIn: SignIn): void {
    this.signIn = signIn;
    const database = new Database(signIn.user_id);
    const executor = this.platform.executes ? new Executor(this.client, signIn.device_id) : null;
    const submits = new Submits(this.client, database.submits, signIn.device_id, {
      kept: (submits) => (this.submits = submits),
      refused: (_, reason) => this.tell(`Your answer was not taken: ${reason}.`, true),
    });
    const topic = new Topic(`topic:u=${signIn.user_id}`, this.client, database, {
      state: (state) => (this.topicState = state),
      arrived: (update) => executor?.arrived(update),
      cleared: () => {
        this.tell('The history was cleared or replaced. What is shown now is what there is.');
        this.conversation?.close();
        this.#openSelected();
      },
    });
    this.#database = database;
    this.#topic = topic;
    this.#submits = submits;
    void this.drafts.use(database);
    this.#stops = [
      whenLost(database, {
        reload: () => this.platform.reload(),
        broken: () => {
          this.isStoreBroken = true;
          topic.close();
          this.tell(STORE_BROKEN, true);
        },
      }),
      () => executor?.close(),
      () => submits.close(),
      watch(
        () => database.sessions.toArray(),
        (sessions) => this.#list(sessions),
      ),
      watch(
        () => database.rtcs.where('status').anyOf('pending', 'sent', 'executing').toArray(),
        (rtcs) => {
          executor?.stored(rtcs);
          this.#open = rtcs;
        },
      ),
      watch(
        () => database.turns.toArray(),
        (turns) => (this.busy = sessionsAtWork(turns)),
      ),
    ];
    topic.start();
    this.client.subscribeLive(`live:u=${signIn.user_id}`, (event) => this.#live(event));
    this.#openSelected();
  }

  /** Lists sessions, and leaves the one that is shown if it was deleted, maybe in another window. */
  #list(sessions: Session[]): void {
    const shown = this.sessions.find(({ id }) => id === this.selected);
    this.sessions = sessions.sort((one, other) => Date.parse(other.updated_at) - Date.parse(one.updated_at));
    if (shown && !sessions.some(({ id }) => id === shown.id)) {
      this.select(null);
      this.tell(`“${shown.title}” was deleted.`);
    }
  }

  #told(event: WindowEvent): void {
    if (event.type === 'problem') {
      // The program tells it in words only, mostly of a folder.
      this.#notices.tell(event.text, true, /\bfolder\b/i.test(event.text) ? 'folder' : null);
      return;
    }
    this.folders.take(event.project);
    // What is shown may not be in the list yet.
    const shown = this.sessions.find(({ id }) => id === this.selected) ?? this.conversation?.session;
    if (this.selected !== null && shown?.project_id !== event.project.id) {
      this.select(null);
    }
  }

  #live(event: LiveEvent): void {
    if (isUpdate(event)) {
      this.conversation?.live(event);
    } else if (event.type === 'progress') {
      this.conversation?.progress(event.data);
    } else if (event.type === 'trouble') {
      this.#notices.tellError(new RpcError(event.data.code, event.data.message));
    } else if (event.type === 'file') {
      this.filesChanged(event.data);
    }
  }

  /** What does not come with the topic. */
  async #load(): Promise<void> {
    try {
      await this.folders.load();
      const models = (await this.client.call('v1.models.list', {})).items;
      this.model = models.find((model) => model.default) ?? null;
    } catch (error) {
      // A broken line is told of by the line itself, and with the next one they are asked for again.
      if (!isLineError(error)) {
        this.#tellError(error);
      }
    }
  }

  #openSelected(): void {
    const { selected: session_id } = this;
    const topic = this.#topic;
    if (session_id === null || this.#database === null || topic === null) {
      return;
    }
    const conversation = new Conversation(session_id, this.client, this.#database, () => void open());
    const open = async () => {
      try {
        await topic.open(session_id);
      } catch (error) {
        if (this.conversation !== conversation) {
          return;
        }
        if (isNoSession(error)) {
          this.isMissing = true;
        } else {
          this.#tellError(error);
        }
      }
    };
    this.conversation = conversation;
    void open();
  }
}
