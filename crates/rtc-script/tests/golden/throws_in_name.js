class Odd extends Error {
  get name() { throw 1; }
}
throw new Odd("x");
