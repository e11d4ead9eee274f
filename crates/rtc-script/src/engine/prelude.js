// The world that a script sees. Everything is captured before the script can change it; what gives authority is gone
// when this ends. The value of this file is the function that runs a script's main function and tells how it ended.
(() => {
  "use strict";

  const { core } = Deno;
  const {
    op_script_params, op_script_console, op_script_call, op_script_answer, op_script_at, op_script_line, op_script_bytes,
    op_script_uuid, op_script_url, op_script_url_set,
  } = core.ops;
  const { createTimer, cancelTimer, encode, decode, structuredClone } = core;
  const { Error, TypeError, RangeError, Promise, Map, Set, WeakSet, WeakMap, Date, RegExp, Math, Symbol } = globalThis;
  const { parse, stringify } = JSON;
  const { isArray } = Array;
  const { freeze, keys, entries, defineProperty, getOwnPropertyNames } = Object;
  const { isView } = ArrayBuffer;
  // Half of a surrogate pair is no text outside of this world.
  const wellFormed = Function.prototype.call.bind(String.prototype.toWellFormed);
  const now = Date.now;

  // What stays of the global names. All others were made by the engine for its own use, or give threads, shared memory
  // or memory outside of the script's limit.
  const KEPT = new Set([
    "globalThis", "Infinity", "NaN", "undefined", "eval", "isFinite", "isNaN", "parseFloat", "parseInt", "decodeURI",
    "decodeURIComponent", "encodeURI", "encodeURIComponent", "escape", "unescape", "atob", "btoa", "queueMicrotask",
    "Object", "Function", "Boolean", "Symbol", "Number", "BigInt", "Math", "Date", "String", "RegExp", "Array", "Map",
    "Set", "WeakMap", "WeakSet", "WeakRef", "FinalizationRegistry", "ArrayBuffer", "DataView", "JSON", "Promise",
    "Proxy", "Reflect", "Iterator", "Intl", "Temporal", "DOMException", "Error", "AggregateError", "EvalError",
    "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError", "InternalError", "SuppressedError",
    "DisposableStack", "AsyncDisposableStack", "Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array",
    "Uint16Array", "Int32Array", "Uint32Array", "BigInt64Array", "BigUint64Array", "Float16Array", "Float32Array",
    "Float64Array",
  ]);

  // ---------------------------------------------------------------- lines

  // Errors that a call threw, with the line that made the call.
  const lines = new WeakMap();

  const lineIn = (stack) => {
    const found = typeof stack === "string" ? /\bscript\.js:(\d+)/.exec(stack) : null;
    return found === null ? 0 : +found[1];
  };
  // The line of the script that calls, or 0. To find it, the engine makes an `Error`, which may be the script's own.
  let looking = false;
  const here = () => {
    if (looking) return 0;
    looking = true;
    try {
      return op_script_line();
    } catch {
      return 0;
    } finally {
      looking = false;
    }
  };

  // ---------------------------------------------------------------- values as data

  const DEEPEST = 100;

  // A value as JSON has it, for results and for the console.
  const plain = (value, above, depth) => {
    switch (typeof value) {
      case "string":
        return wellFormed(value);
      case "boolean":
        return value;
      case "undefined":
        return undefined;
      case "number":
        return value - value === 0 ? value : `${value}`;
      case "bigint":
        return `${value}`;
      case "symbol":
        return value.toString();
      case "function":
        return value.name ? `[function ${value.name}]` : "[function]";
    }
    if (value === null) return null;
    if (above.has(value)) return "[circular]";
    if (depth > DEEPEST) return "[…]";
    if (typeof value.toJSON === "function") {
      const json = value.toJSON();
      if (json !== value) return plain(json, above, depth + 1);
    }
    if (value instanceof Error) return described(value).message;
    if (value instanceof RegExp) return `${value}`;
    if (value instanceof Promise) return "[promise]";
    if (value instanceof ArrayBuffer) value = new Uint8Array(value);
    above.add(value);
    let data;
    const inner = (item) => plain(item, above, depth + 1);
    if (isArray(value) || value instanceof Set || (isView(value) && !(value instanceof DataView))) {
      data = [];
      for (const item of value) {
        const json = inner(item);
        data.push(json === undefined ? null : json);
      }
    } else {
      data = {};
      for (const [key, item] of value instanceof Map ? value : entries(value)) {
        const json = inner(item);
        if (json !== undefined) {
          defineProperty(data, wellFormed(typeof key === "string" ? key : shown(key)), {
            value: json, enumerable: true, configurable: true, writable: true,
          });
        }
      }
    }
    above.delete(value);
    return data;
  };

  // A value as a line of text.
  const shown = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) {
      const { message, line } = described(value);
      return line ? `${message} (line ${line})` : message;
    }
    const data = plain(value, new WeakSet(), 0);
    if (data === undefined) return "undefined";
    return typeof data === "string" ? data : stringify(data, null, 2);
  };

  // What was thrown, in words, and where.
  const described = (thrown) => {
    if (thrown instanceof Error) {
      const name = `${thrown.name}`;
      const message = thrown.message === "" ? name : `${name}: ${thrown.message}`;
      return { message, line: lines.get(thrown) ?? lineIn(thrown.stack) };
    }
    let text;
    try {
      text = stringify(plain(thrown, new WeakSet(), 0)) ?? "undefined";
    } catch {
      text = "a value that cannot be shown";
    }
    return { message: `it threw ${text}`, line: 0 };
  };

  // ---------------------------------------------------------------- console

  const write = (level) => (...values) => {
    op_script_console(level, wellFormed(values.map(shown).join(" ")), here());
  };
  const [log, warn, error] = [write(0), write(1), write(2)];
  const console = {
    log, info: log, debug: log, dir: log, table: log, warn, error,
    assert: (truth, ...values) => truth || error("Assertion failed", ...values),
  };

  // ---------------------------------------------------------------- files

  // Calls under way whose line is known; each takes memory until the script waits. Those beyond are told without.
  const MOST_KNOWN = 1000;
  let under_way = 0;

  const call = async (name, given) => {
    const line = under_way < MOST_KNOWN ? here() : 0;
    const json = stringify(given);
    under_way++;
    const number = await op_script_call(name, json, line);
    under_way--;
    const { value, error } = parse(op_script_answer(number));
    if (error === undefined) return value;
    const failure = new Error(error.message);
    failure.code = error.kind;
    lines.set(failure, line);
    throw failure;
  };

  // A search: its items, and on the console what is missing from them.
  const search = async (name, given) => {
    const line = under_way < MOST_KNOWN ? here() : 0;
    const { items, note } = await call(name, given);
    if (note) op_script_console(1, `${name}: ${note}`, line);
    return items;
  };

  const text = (value, name) => {
    if (typeof value === "string") return value;
    throw new TypeError(`${name} must be a string, not ${value === null ? "null" : typeof value}`);
  };
  const path = (value) => text(value, "the path");

  const fs = {
    ls: async (at = "/") => call("fs.list", { path: path(at) }),
    read: async (at, { offset, limit } = {}) => call("fs.read", { path: path(at), offset, limit }),
    readBytes: async (at) => op_script_bytes(await call("fs.read_bytes", { path: path(at) })),
    write: async (at, content, { mode } = {}) =>
      call("fs.write", { path: path(at), content: text(content, "the content"), mode }),
    edit: async (at, before, after, { all = false } = {}) =>
      call("fs.edit", {
        path: path(at), old_string: text(before, "the old text"), new_string: text(after, "the new text"),
        replace_all: all,
      }),
    grep: async (pattern, options = {}) => search("fs.grep", { ...options, pattern: text(pattern, "the pattern") }),
    find: async (pattern, options = {}) => search("fs.find", { ...options, pattern: text(pattern, "the pattern") }),
    stat: async (at) => call("fs.stat", { path: path(at) }),
    mkdir: async (at) => call("fs.make_folder", { path: path(at) }),
    move: async (from, to) => call("fs.rename", { from: path(from), to: path(to) }),
    remove: async (at, { recursive = false } = {}) => call("fs.remove", { path: path(at), recursive }),
  };

  // ---------------------------------------------------------------- timers

  const MAX_DELAY_MS = 60_000;

  const timers = new Map();
  let lastTimer = 0;
  const setTimeout = (callback, ms = 0, ...values) => {
    if (typeof callback !== "function") throw new TypeError("setTimeout takes a function");
    op_script_at(here());
    const id = ++lastTimer;
    const fire = () => {
      timers.delete(id);
      callback(...values);
    };
    timers.set(id, createTimer(fire, ms > 0 ? +ms : 0, undefined, false, true));
    return id;
  };
  const clearTimeout = (id) => {
    const timer = timers.get(id);
    if (timer !== undefined) {
      timers.delete(id);
      cancelTimer(timer);
    }
  };

  // The functions take an object, as RTC's other functions do, or the value itself.
  const field = (given, name, otherwise) =>
    (typeof given === "object" && given !== null ? given[name] : given) ?? otherwise;

  const system = {
    delay: async (given) => {
      const ms = +field(given, "ms", 0);
      if (!(ms >= 0 && ms <= MAX_DELAY_MS)) throw new RangeError(`a delay is from 0 to ${MAX_DELAY_MS} ms`);
      const began = now();
      op_script_at(here());
      await new Promise((done) => createTimer(done, ms, undefined, false, true));
      return { completed: true, elapsed: now() - began };
    },
    uuid: (given) => {
      const count = field(given, "count", undefined);
      if (count === undefined) return op_script_uuid();
      if (!(count >= 1 && count <= 100)) throw new RangeError("1 to 100 ids can be made at once");
      return Array.from({ length: count }, () => op_script_uuid());
    },
    now: () => now(),
    random: ({ min = 0, max = 1, integer = false } = {}) => {
      const value = Math.random();
      return integer ? Math.floor(value * (Math.floor(max) - Math.ceil(min) + 1)) + Math.ceil(min) : value * (max - min) + min;
    },
    time: (given) => {
      const format = field(given, "format", "locale");
      const date = new Date();
      if (format === "iso") return date.toISOString();
      if (format === "timestamp") return date.getTime();
      if (format === "locale") return date.toLocaleString();
      throw new RangeError("a time is shown as iso, locale or timestamp");
    },
    timezone: () => {
      const offset = -new Date().getTimezoneOffset();
      let name;
      try {
        name = new Intl.DateTimeFormat().resolvedOptions().timeZone;
      } catch {
        name = undefined;
      }
      return { name: name ?? "UTC", offset };
    },
  };

  // ---------------------------------------------------------------- text and addresses

  class TextEncoder {
    get encoding() {
      return "utf-8";
    }
    encode(value = "") {
      return encode(`${value}`);
    }
  }

  class TextDecoder {
    constructor(label = "utf-8") {
      if (!/^utf-?8$/i.test(`${label}`.trim())) throw new RangeError(`only utf-8 is decoded here, not ${label}`);
    }
    get encoding() {
      return "utf-8";
    }
    decode(bytes = new Uint8Array()) {
      if (bytes instanceof ArrayBuffer) return decode(new Uint8Array(bytes));
      if (isView(bytes)) return decode(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      throw new TypeError("bytes are decoded: an ArrayBuffer or a view of one");
    }
  }

  const escapeField = (value) =>
    encodeURIComponent(value).replace(/[!'()~]|%20/g, (found) =>
      found === "%20" ? "+" : `%${found.charCodeAt(0).toString(16).toUpperCase()}`);
  const readField = (value) => {
    const spaced = value.replaceAll("+", " ");
    try {
      return decodeURIComponent(spaced);
    } catch {
      return spaced;
    }
  };

  class URLSearchParams {
    #list = [];
    #changed = () => {};
    constructor(given = "", changed) {
      if (typeof given === "string") {
        for (const pair of given.replace(/^\?/, "").split("&")) {
          if (pair === "") continue;
          const [name, ...value] = pair.split("=");
          this.#list.push([readField(name), readField(value.join("="))]);
        }
      } else {
        const pairs = typeof given[Symbol.iterator] === "function" ? given : entries(given);
        for (const [name, value] of pairs) this.#list.push([`${name}`, `${value}`]);
      }
      if (changed) this.#changed = changed;
    }
    get size() {
      return this.#list.length;
    }
    get(name) {
      return this.#list.find((pair) => pair[0] === name)?.[1] ?? null;
    }
    getAll(name) {
      return this.#list.filter((pair) => pair[0] === name).map((pair) => pair[1]);
    }
    has(name) {
      return this.#list.some((pair) => pair[0] === name);
    }
    append(name, value) {
      this.#list.push([`${name}`, `${value}`]);
      this.#changed();
    }
    delete(name) {
      this.#list = this.#list.filter((pair) => pair[0] !== name);
      this.#changed();
    }
    set(name, value) {
      const first = this.#list.findIndex((pair) => pair[0] === name);
      if (first < 0) return this.append(name, value);
      this.#list = this.#list.filter((pair, at) => at <= first || pair[0] !== name);
      this.#list[first][1] = `${value}`;
      this.#changed();
    }
    sort() {
      this.#list.sort((one, other) => (one[0] < other[0] ? -1 : one[0] > other[0] ? 1 : 0));
      this.#changed();
    }
    forEach(each) {
      for (const [name, value] of this.#list) each(value, name, this);
    }
    keys() {
      return this.#list.map((pair) => pair[0])[Symbol.iterator]();
    }
    values() {
      return this.#list.map((pair) => pair[1])[Symbol.iterator]();
    }
    entries() {
      return this.#list.map((pair) => [...pair])[Symbol.iterator]();
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    toString() {
      return this.#list.map(([name, value]) => `${escapeField(name)}=${escapeField(value)}`).join("&");
    }
  }

  class URL {
    #parts;
    #params;
    constructor(address, base = "") {
      const parts = op_script_url(`${address}`, `${base}`);
      if (parts === "") throw new TypeError(`Invalid URL: ${address}`);
      this.#parts = parse(parts);
    }
    static canParse(address, base = "") {
      return op_script_url(`${address}`, `${base}`) !== "";
    }
    static parse(address, base = "") {
      return URL.canParse(address, base) ? new URL(address, base) : null;
    }
    get searchParams() {
      this.#params ??= new URLSearchParams(this.#parts.search, () => this.#set("search", this.#params.toString()));
      return this.#params;
    }
    get href() {
      return this.#parts.href;
    }
    set href(value) {
      this.#parts = parse(op_script_url(new URL(value).href, ""));
      this.#params = undefined;
    }
    get origin() {
      return this.#parts.origin;
    }
    toString() {
      return this.#parts.href;
    }
    toJSON() {
      return this.#parts.href;
    }
    #set(part, value) {
      this.#parts = parse(op_script_url_set(this.#parts.href, part, `${value}`));
    }
    static {
      for (const part of ["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"]) {
        defineProperty(this.prototype, part, {
          configurable: true, enumerable: true,
          get() {
            return this.#parts[part];
          },
          set(value) {
            this.#set(part, value);
            if (part === "search") this.#params = undefined;
          },
        });
      }
    }
  }

  // ---------------------------------------------------------------- the world

  for (const name of getOwnPropertyNames(globalThis)) {
    if (!KEPT.has(name) && !delete globalThis[name]) throw new Error(`${name} cannot be removed`);
  }

  const rtcAgent = freeze({
    fs: freeze(fs),
    system: freeze(system),
    readFile: fs.read,
    writeFile: fs.write,
    listDir: fs.ls,
  });
  const given = {
    rtcAgent, console, setTimeout, clearTimeout, structuredClone, TextEncoder, TextDecoder, URL, URLSearchParams,
  };
  for (const name of keys(given)) {
    defineProperty(globalThis, name, { value: given[name], writable: true, configurable: true, enumerable: false });
  }

  return async (main) => {
    globalThis.params = parse(op_script_params());
    let told;
    try {
      const result = plain(await main(), new WeakSet(), 0);
      told = result === undefined ? "nothing" : { result };
    } catch (thrown) {
      const { message, line } = described(thrown);
      const words = wellFormed(message);
      told = { failed: line ? { message: words, line } : { message: words } };
    }
    return stringify(told);
  };
})()
