/** What commands are called with; each has some of these. A channel is told of by its name. */
interface Parameters {
  frames: string;
  told: string;
  socket: number;
  frame: string;
  bytes: number;
  session: string | null;
  url: string;
}

/** A command of the program, as a test answers it. */
export type Command = (parameters: Parameters) => unknown;

/** What a channel calls when it is told something. */
type Callback = (told: { index: number; message: unknown }) => void;

/** The program around a window: what the page finds there instead of a browser. */
export class FakeNative {
  readonly calls: { name: string; parameters: Partial<Parameters> }[] = [];
  readonly commands: Record<string, Command> = {};
  readonly #callbacks = new Map<number, Callback>();
  readonly #told = new Map<string, number>();

  constructor() {
    let last = 0;
    Object.assign(window, {
      __TAURI_INTERNALS__: {
        transformCallback: (callback: Callback) => {
          this.#callbacks.set(++last, callback);
          return last;
        },
        unregisterCallback: (id: number) => this.#callbacks.delete(id),
        invoke: async (name: string, parameters: unknown) => {
          // As text, which is how it leaves a page.
          const sent = JSON.parse(JSON.stringify(parameters)) as Parameters;
          this.calls.push({ name, parameters: sent });
          const command = this.commands[name];
          if (!command) {
            throw `there is no command ${name}`;
          }
          return await command(sent);
        },
      },
    });
  }

  /** Tells a channel of the page something. */
  tell(channel: string, message: unknown): void {
    const index = this.#told.get(channel) ?? 0;
    this.#told.set(channel, index + 1);
    const id = Number(channel.replace('__CHANNEL__:', ''));
    this.#callbacks.get(id)?.({ index, message });
  }

  /** What a command was called with, each time. */
  callsOf(name: string): Partial<Parameters>[] {
    return this.calls.filter((call) => call.name === name).map(({ parameters }) => parameters);
  }

  /** Leaves the page in a browser again. */
  remove(): void {
    Reflect.deleteProperty(window, '__TAURI_INTERNALS__');
  }
}
