const names = [
  "Deno", "process", "require", "module", "fetch", "WebSocket", "XMLHttpRequest", "Worker", "WebAssembly",
  "SharedArrayBuffer", "Atomics", "ShadowRealm", "gc", "__bootstrap", "localStorage", "indexedDB", "navigator", "window",
  "self", "performance",
];
const there = names.filter((name) => {
  try {
    return new Function(`return typeof ${name} !== "undefined"`)();
  } catch {
    return true;
  }
});
const viaConstructor = (() => {}).constructor("return typeof Deno")();
return { there, viaConstructor, global: Object.getOwnPropertyNames(globalThis).sort().join(" ") };
