import type { LiveEvent, Message, Methods, Rtc, Session, Turn, UpdateEntity } from '../wire/generated';

interface Command {
  id?: number;
  connect?: { token?: string; data?: unknown };
  subscribe?: { channel: string; recover?: boolean; epoch?: string; offset?: number; flag?: number };
  unsubscribe?: { channel: string };
  history?: { channel: string; limit?: number; since?: { offset?: number; epoch?: string } };
  rpc?: { method: string; data: unknown };
  refresh?: { token: string };
}

/** An entity as a change names it. */
export type Change =
  | { entity: 'session'; data: Session }
  | { entity: 'turn'; data: Turn }
  | { entity: 'message'; data: Message }
  | { entity: 'rtc'; data: Rtc };

interface Row {
  offset: number;
  items: { entity: UpdateEntity; entity_id: string }[];
}

/** An error as a method refuses with. */
export class Refusal extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** What is asked of any list. */
interface ListRequest {
  session_id: string;
  limit?: number;
  cursor?: number | string | null;
  order?: string;
}

type Handlers = { [M in keyof Methods]?: (request: Methods[M]['request']) => Methods[M]['result'] };

/** One socket as the server sees it. */
export class Connection {
  readonly subscriptions = new Set<string>();
  /** How many pings were answered. */
  pongs = 0;

  constructor(
    private readonly server: FakeServer,
    readonly sendText: (text: string) => void,
    readonly closeWith: (code: number, reason: string) => void,
  ) {}

  /** Takes a frame of one or several commands. */
  receive(text: string): void {
    for (const line of text.split('\n')) {
      if (line === '{}') {
        this.pongs++;
      } else if (line !== '') {
        this.server.answer(this, JSON.parse(line) as Command);
      }
    }
  }

  /** Sends one reply or push. */
  send(frame: unknown): void {
    this.sendText(JSON.stringify(frame));
  }

  /** Asks whether the other end is still there. */
  ping(): void {
    this.send({});
  }

  /** Ends it as a broken line does, or with what the server says of it. */
  drop(code = 1006, reason = 'dropped'): void {
    this.server.connections.delete(this);
    this.closeWith(code, reason);
  }
}

/** Speaks the Centrifuge client protocol over a few maps, with faults where a test wants them. */
export class FakeServer {
  readonly user = 'user-1';
  readonly topic = `topic:u=${this.user}`;
  readonly liveChannel = `live:u=${this.user}`;
  readonly connections = new Set<Connection>();
  readonly calls: { method: string; request: unknown }[] = [];
  readonly handlers: Handlers = {};
  readonly sessions = new Map<string, Session>();
  readonly turns = new Map<string, Turn>();
  readonly messages = new Map<string, Message>();
  readonly rtcs = new Map<string, Rtc>();
  rows: Row[] = [];
  offset = 0;
  epoch = 'epoch-1';
  /** Which tokens have not expired. */
  isTokenGood: (token: string) => boolean = () => true;
  /** How a push reaches a connection. */
  deliver: (connection: Connection, frame: unknown, offset: number) => void = (connection, frame) =>
    connection.send(frame);
  /** How many updates a reply carries. */
  maxRecovered = 1_000;
  /** Refuses what it cannot recover with error 112, or says `recovered: false`. */
  rejectsUnrecovered = true;
  /** Called before a page of history is sent; gives false to break the line instead. */
  beforeHistory: () => boolean = () => true;
  /** How often it says that it pings, in seconds; it does so when a test wants it. */
  pingEvery: number | null = null;
  /** Whether nobody is there to open a socket to. */
  isAway = false;
  /** When somebody tried to open a socket, in milliseconds. */
  readonly attempts: number[] = [];

  /** A socket to this server. */
  accept(send: (text: string) => void, close: (code: number, reason: string) => void): Connection {
    const connection = new Connection(this, send, close);
    this.connections.add(connection);
    return connection;
  }

  /** The class to give to the client library. */
  get websocket(): unknown {
    // eslint-disable-next-line @typescript-eslint/no-this-alias
    const server = this;
    return class {
      onopen: (() => void) | null = null;
      onmessage: ((event: { data: string }) => void) | null = null;
      onclose: ((event: { code: number; reason: string }) => void) | null = null;
      onerror: (() => void) | null = null;
      #connection: Connection | null = null;
      #isClosed = false;

      constructor() {
        server.attempts.push(Date.now());
        queueMicrotask(() => {
          if (server.isAway) {
            this.#end(1006, '');
            return;
          }
          this.#connection = server.accept(
            (data) => queueMicrotask(() => this.#isClosed || this.onmessage?.({ data })),
            (code, reason) => this.#end(code, reason),
          );
          this.onopen?.();
        });
      }

      send(text: string): void {
        if (!this.#isClosed) {
          this.#connection?.receive(text);
        }
      }

      close(): void {
        if (this.#connection) {
          server.connections.delete(this.#connection);
        }
        this.#end(1000, '');
      }

      #end(code: number, reason: string): void {
        if (!this.#isClosed) {
          this.#isClosed = true;
          queueMicrotask(() => this.onclose?.({ code, reason }));
        }
      }
    };
  }

  /** Changes entities in one step and tells every subscriber. */
  commit(...changes: Change[]): number {
    this.offset += 1;
    const row: Row = { offset: this.offset, items: [] };
    for (const { entity, data } of changes) {
      this.#table(entity).set(data.id, structuredClone(data));
      row.items.push({ entity, entity_id: data.id });
    }
    this.rows.push(row);
    const frame = { push: { channel: this.topic, pub: this.#publication(row) } };
    for (const connection of this.connections) {
      if (connection.subscriptions.has(this.topic)) {
        this.deliver(connection, frame, row.offset);
      }
    }
    return row.offset;
  }

  /** Uses an offset without a change, as a write that was rolled back does. */
  burn(): void {
    this.offset += 1;
  }

  /** Tells of text in the making. */
  live(message: Message): void {
    this.tell({
      id: 'live',
      items: [{ entity: 'message', action: 'updated', entity_id: message.id }],
      data_list: [structuredClone(message)],
      offset: 0,
    });
  }

  /** Tells at once of something that is kept nowhere. */
  tell(data: LiveEvent): void {
    for (const connection of this.connections) {
      if (connection.subscriptions.has(this.liveChannel)) {
        connection.send({ push: { channel: this.liveChannel, pub: { data } } });
      }
    }
  }

  /** Breaks every line. */
  dropAll(code?: number, reason?: string): void {
    [...this.connections].forEach((connection) => connection.drop(code, reason));
  }

  /** Answers one command. */
  answer(connection: Connection, command: Command): void {
    const id = command.id ?? 0;
    const fail = (code: number, message: string) => connection.send({ id, error: { code, message } });
    if (command.connect && !this.isTokenGood(command.connect.token ?? '')) {
      fail(109, 'token expired');
    } else if (command.connect) {
      const data = { user_id: this.user, device_id: 'device-1' };
      const pings = this.pingEvery === null ? {} : { ping: this.pingEvery, pong: true };
      connection.send({ id, connect: { client: 'client-1', version: '0', data, ...pings } });
    } else if (command.refresh) {
      connection.send({ id, refresh: { client: 'client-1', version: '0' } });
    } else if (command.subscribe) {
      this.#subscribe(connection, id, command.subscribe);
    } else if (command.unsubscribe) {
      connection.subscriptions.delete(command.unsubscribe.channel);
      connection.send({ id, unsubscribe: {} });
    } else if (command.history) {
      const { limit = 0, since } = command.history;
      if (!this.beforeHistory()) {
        connection.drop();
      } else if (since !== undefined && since.epoch !== this.epoch) {
        fail(112, 'unrecoverable position');
      } else {
        const publications = this.#after(since?.offset ?? 0).slice(0, limit);
        connection.send({ id, history: { publications, epoch: this.epoch, offset: this.offset } });
      }
    } else if (command.rpc) {
      this.#call(connection, id, command.rpc.method, command.rpc.data);
    } else {
      fail(108, 'not available');
    }
  }

  #subscribe(
    connection: Connection,
    id: number,
    { channel, recover, epoch, offset = 0, flag = 0 }: NonNullable<Command['subscribe']>,
  ): void {
    if (channel !== this.topic) {
      connection.subscriptions.add(channel);
      connection.send({ id, subscribe: {} });
      return;
    }
    const missed = this.#after(offset);
    const recovered = recover === true && epoch === this.epoch && missed.length <= this.maxRecovered;
    if (recover && !recovered && this.rejectsUnrecovered && (flag & 2) !== 0) {
      connection.send({ id, error: { code: 112, message: 'unrecoverable position' } });
      return;
    }
    connection.subscriptions.add(channel);
    const base = { recoverable: true, positioned: true, epoch: this.epoch };
    connection.send({
      id,
      subscribe: recovered
        ? { ...base, offset, was_recovering: true, recovered, publications: missed }
        : { ...base, offset: this.offset, was_recovering: recover === true, recovered },
    });
  }

  #call(connection: Connection, id: number, method: string, request: unknown): void {
    this.calls.push({ method, request });
    const handler = (this.handlers as Record<string, ((request: never) => unknown) | undefined>)[method];
    try {
      const result = handler ? handler(request as never) : this.#query(method, request as never);
      connection.send({ id, rpc: { data: { result } } });
    } catch (error) {
      const code = error instanceof Refusal ? error.code : 'rpc.internal_error';
      connection.send({ id, error: { code: 500, message: `${code}: ${(error as Error).message}` } });
    }
  }

  #query(method: string, request: ListRequest): unknown {
    const { session_id, limit = 50, cursor, order } = request;
    switch (method) {
      case 'v1.session.list':
        return page([...this.sessions.values()].reverse(), limit, cursor, (session) => session.id);
      case 'v1.message.list': {
        const own = [...this.messages.values()].filter((message) => message.session_id === session_id);
        own.sort((one, other) => one.global_offset - other.global_offset);
        const ordered = order === 'newest_first' ? own.reverse() : own;
        return page(ordered, limit, cursor, (message) => message.global_offset);
      }
      case 'v1.turn.list':
        return page(ownOf(this.turns, session_id), limit, cursor, (turn) => turn.id);
      case 'v1.rtc.list':
        return page(ownOf(this.rtcs, session_id), limit, cursor, (rtc) => rtc.id);
      case 'v1.rtc.get': {
        const item = this.rtcs.get((request as unknown as { rtc_id: string }).rtc_id);
        if (!item) {
          throw new Refusal('rtc.not_found', 'there is no such call');
        }
        return { item };
      }
      default:
        throw new Refusal('rpc.method_not_found', `there is no method ${method}`);
    }
  }

  /** Every offset behind one, as the history serves it: rows as they are now, and placeholders where there is none. */
  #after(offset: number): unknown[] {
    const rows = new Map(this.rows.map((row) => [row.offset, row]));
    return Array.from({ length: Math.max(this.offset - offset, 0) }, (_, index) => {
      const at = offset + 1 + index;
      const row = rows.get(at);
      return row ? this.#publication(row) : { offset: at, data: { type: 'gap', data: {} } };
    });
  }

  #publication({ offset, items }: Row): unknown {
    const data_list = items.map(({ entity, entity_id }) =>
      structuredClone(this.#table(entity).get(entity_id)),
    );
    const named = items.map((item) => ({ ...item, action: 'updated' }));
    return { offset, data: { id: `update-${offset}`, items: named, data_list, offset } };
  }

  #table(entity: UpdateEntity): Map<string, { id: string }> {
    switch (entity) {
      case 'session':
        return this.sessions;
      case 'turn':
        return this.turns;
      case 'message':
        return this.messages;
      case 'rtc':
        return this.rtcs;
      case 'file':
        return new Map();
    }
  }
}

function ownOf<T extends { session_id: string }>(table: Map<string, T>, session_id: string): T[] {
  return [...table.values()].filter((entity) => entity.session_id === session_id);
}

/** A page behind the entity whose key is the cursor. */
function page<T>(
  all: T[],
  limit: number,
  cursor: string | number | null | undefined,
  keyOf: (entity: T) => string | number,
): { items: T[]; next_cursor?: string | number } {
  const start = cursor == null ? 0 : all.findIndex((entity) => String(keyOf(entity)) === String(cursor)) + 1;
  const items = all.slice(start, start + limit);
  const isMore = start + limit < all.length;
  return isMore ? { items, next_cursor: keyOf(items.at(-1)!) } : { items };
}
