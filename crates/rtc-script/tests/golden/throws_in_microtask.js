queueMicrotask(() => {
  throw new TypeError("soon");
});
"first"
