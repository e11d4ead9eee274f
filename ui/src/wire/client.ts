import {
  Centrifuge,
  State,
  UnauthorizedError,
  type PublicationContext,
  type StreamPosition,
} from 'centrifuge';

import { isLineError, SignedOutError, toRpcError } from './errors';
import type { LiveEvent, Methods, Update } from './generated';

/** Where the connection is. */
export type LineState =
  | { phase: 'connecting' }
  | { phase: 'connected' }
  | { phase: 'reconnecting'; reason: string }
  | { phase: 'signed_out'; reason: string }
  | { phase: 'closed'; reason: string };

/** Who is signed in, and the short-lived token that proves it. */
export interface SignIn {
  token: string;
  user_id: string;
  device_id: string;
}

/** An entry of the topic. A gap has no update: its place in the stream holds nothing. */
export interface Publication {
  offset: number;
  update: Update | null;
}

/** A page of the topic's history, and where the stream ends. */
export interface HistoryPage {
  publications: Publication[];
  top: StreamPosition;
}

/** What the owner of the topic subscription is told. None of these may throw. */
export interface TopicHandlers {
  /** The position to begin from; asked again when the server cannot recover from it. */
  position(): Promise<StreamPosition>;
  publication(publication: Publication): void;
  /** Subscribed, but not everything that was missed is on its way. */
  unrecovered(): void;
}

/** What a client tells. */
export interface ClientHandlers {
  state(state: LineState): void;
  /** The first connection of this user is up. */
  signedIn(signIn: SignIn): void;
}

/** How to reach the server. */
export interface ClientOptions {
  endpoint: string;
  fetchToken(): Promise<SignIn>;
  /** The WebSocket class; the browser's own if absent. */
  websocket?: unknown;
}

/** The version of what is spoken inside of the frames. */
const PROTOCOL = 1;
/** A request may wait for the line to come back for this long. */
const TIMEOUT_MS = 30_000;
/** How often a request is made whose answers are lost. */
const TRIES = 3;
const MAX_RECONNECT_DELAY_MS = 10_000;
/** From here on a disconnect code says that trying again is of no use. */
const INVALID_TOKEN = 3500;

/** The connection to the server: requests, the topic channel of the user and the live channel. */
export class Client {
  readonly #centrifuge: Centrifuge;
  #signIn: SignIn | null = null;
  /** Why there was no token. */
  #refusal: string | null = null;

  constructor(options: ClientOptions, handlers: ClientHandlers) {
    this.#centrifuge = new Centrifuge(options.endpoint, {
      // Says that this client asks before a call that needs a Yes runs, so it is shown such calls; and by the version of
      // the protocol that it understands more than updates.
      data: { approvals: true, protocol: PROTOCOL },
      getToken: async () => {
        try {
          const signIn = await options.fetchToken();
          if (this.#signIn !== null && this.#signIn.user_id !== signIn.user_id) {
            throw new SignedOutError('another user has signed in');
          }
          this.#signIn = signIn;
          return signIn.token;
        } catch (error) {
          if (error instanceof SignedOutError) {
            this.#refusal = error.message;
            throw new UnauthorizedError(error.message);
          }
          throw error;
        }
      },
      websocket: options.websocket ?? null,
      timeout: TIMEOUT_MS,
      maxReconnectDelay: MAX_RECONNECT_DELAY_MS,
      // The server may be on this machine: the browser's news of the network say nothing about it.
      networkEventTarget: new EventTarget(),
      pageEventTarget: new EventTarget(),
    });
    let wasConnected = false;
    this.#centrifuge.on('connected', () => {
      handlers.state({ phase: 'connected' });
      if (!wasConnected && this.#signIn !== null) {
        wasConnected = true;
        handlers.signedIn(this.#signIn);
      }
    });
    this.#centrifuge.on('connecting', ({ reason }) =>
      handlers.state(wasConnected ? { phase: 'reconnecting', reason } : { phase: 'connecting' }),
    );
    // The library tells only the first reason; of attempts that fail after it, it tells what went wrong.
    this.#centrifuge.on('error', ({ error }) => {
      if (wasConnected && this.#centrifuge.state === State.Connecting) {
        handlers.state({ phase: 'reconnecting', reason: error.message });
      }
    });
    this.#centrifuge.on('disconnected', ({ code, reason }) =>
      handlers.state(
        code === 1 || code === INVALID_TOKEN
          ? { phase: 'signed_out', reason: this.#refusal ?? reason }
          : { phase: 'closed', reason },
      ),
    );
  }

  /** Connects, and keeps connected. */
  connect(): void {
    this.#centrifuge.connect();
  }

  /** Ends the connection. */
  close(): void {
    this.#centrifuge.disconnect();
  }

  /** Calls a method. Rejects with an `RpcError`. */
  async call<M extends keyof Methods>(
    method: M,
    request: Methods[M]['request'],
  ): Promise<Methods[M]['result']> {
    try {
      const { data } = await this.#centrifuge.rpc(method, request);
      // The updates beside the result come on the topic as well, in order; from there they are taken.
      return (data as { result: Methods[M]['result'] }).result;
    } catch (error) {
      throw toRpcError(error);
    }
  }

  /** Calls a method, again when its answer was lost; for what is done once however often it is asked for. */
  async callUntilAnswered<M extends keyof Methods>(
    method: M,
    request: Methods[M]['request'],
  ): Promise<Methods[M]['result']> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.call(method, request);
      } catch (error) {
        if (!isLineError(error) || attempt === TRIES) {
          throw error;
        }
      }
    }
  }

  /** What is on the topic after a position, at most `limit` entries; with 0 only where it ends. */
  async history(channel: string, limit: number, since?: StreamPosition): Promise<HistoryPage> {
    try {
      const page = await this.#centrifuge.history(channel, since ? { limit, since } : { limit });
      return {
        publications: page.publications.map(publicationOf),
        top: { offset: page.offset, epoch: page.epoch },
      };
    } catch (error) {
      throw toRpcError(error);
    }
  }

  /** Subscribes to the durable channel. Gives a function that ends the subscription and forgets its position. */
  subscribeTopic(channel: string, handlers: TopicHandlers): () => void {
    const subscription = this.#centrifuge.newSubscription(channel, { getState: () => handlers.position() });
    subscription.on('publication', (context) => handlers.publication(publicationOf(context)));
    subscription.on('subscribed', ({ wasRecovering, recovered }) => {
      if (wasRecovering && !recovered) {
        handlers.unrecovered();
      }
    });
    subscription.subscribe();
    return () => {
      subscription.removeAllListeners();
      this.#centrifuge.removeSubscription(subscription);
    };
  }

  /** Subscribes to the channel of what is told at once: text in the making, progress of calls. */
  subscribeLive(channel: string, tell: (event: LiveEvent) => void): void {
    const subscription = this.#centrifuge.newSubscription(channel);
    subscription.on('publication', ({ data }) => tell(data as LiveEvent));
    subscription.subscribe();
  }
}

function publicationOf({ offset, data }: PublicationContext): Publication {
  return { offset: offset ?? 0, update: isUpdate(data) ? data : null };
}

/** Whatever else is in a stream, a gap placeholder or something newer than this page, changes nothing. */
export function isUpdate(data: unknown): data is Update {
  return typeof data === 'object' && data !== null && Array.isArray((data as Partial<Update>).items);
}
