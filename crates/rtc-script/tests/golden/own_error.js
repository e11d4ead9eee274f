const Before = Error;
for (const own of [
  class { constructor() { console.log("within"); } },
  class { get stack() { throw 1; } },
  class { get stack() { return { toString() { throw new RangeError("odd"); } }; } },
  undefined,
]) {
  globalThis.Error = own;
  console.log("goes on");
}
globalThis.Error = Before;
Error.prepareStackTrace = () => { throw 2; };
console.log("goes on");
Error.stackTraceLimit = 0;
[1].forEach(console.log);
"done"
