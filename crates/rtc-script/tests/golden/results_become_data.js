return {
  date: new Date(0), map: new Map([["a", 1]]), set: new Set(["x"]), bytes: new Uint8Array([7]), big: 12345678901234567890n,
  nothing: undefined, none: null, infinite: Infinity, error: new RangeError("far"), fn: Math.max, own: { toJSON: () => "mine" },
};
