console.log("before");
console.warn("careful");

function inner() {
  throw new RangeError("too far");
}
inner();
