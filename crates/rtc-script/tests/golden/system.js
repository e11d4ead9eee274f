const { system } = rtcAgent;
const waited = await system.delay({ ms: 2 });
const ids = system.uuid({ count: 3 });
const numbers = Array.from({ length: 100 }, () => system.random({ min: 1, max: 6, integer: true }));
return {
  completed: waited.completed && waited.elapsed >= 0,
  id: /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(system.uuid()) && new Set(ids).size === 3,
  random: numbers.every((n) => Number.isInteger(n) && n >= 1 && n <= 6) && system.random() < 1,
  now: Math.abs(system.now() - Date.now()) < 1000,
  time: /^\d{4}-/.test(system.time({ format: "iso" })) && typeof system.time() === "string",
  stamp: typeof system.time("timestamp"),
  zone: typeof system.timezone().name + typeof system.timezone().offset,
  late: await system.delay(60001).catch((error) => error.message),
};
