Promise.reject({ a: 1 });
await rtcAgent.system.delay(5);
"never"
