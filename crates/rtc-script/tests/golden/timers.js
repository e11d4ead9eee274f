const order = [];
setTimeout(() => order.push("second"), 5);
setTimeout((...values) => order.push(...values), 1, "first", "with values");
clearTimeout(setTimeout(() => order.push("never"), 2));
clearTimeout(12345);
queueMicrotask(() => order.push("at once"));
await rtcAgent.system.delay(10);
order
