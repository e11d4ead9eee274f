// Workflows of Restate whose steps do nothing, led by the benchmark: a line with a number of steps on its input is one
// workflow, answered by a line with the milliseconds of a step. Arguments: where the server's administration and its
// ingress listen. Ends when its input does.
import { createInterface } from 'node:readline';

// The library wants it of Node 22; it is all that it wants of it.
Promise.withResolvers ??= () => {
  let resolve, reject;
  const promise = new Promise((...both) => ([resolve, reject] = both));
  return { promise, resolve, reject };
};
const restate = await import('@restatedev/restate-sdk');

/** How long anything may take, in milliseconds: whoever waits longer hangs. */
const LONGEST = 60_000;
const [admin, ingress] = process.argv.slice(2);

async function post(url, body) {
  const signal = AbortSignal.timeout(LONGEST);
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response.json();
}

const bench = restate.service({
  name: 'bench',
  handlers: {
    steps: async (context, count) => {
      const began = performance.now();
      for (let step = 0; step < count; step++) await context.run('step', () => step);
      return (performance.now() - began) / count;
    },
  },
});
const silent = () => {};
const port = await restate.serve({ services: [bench], port: 0, logger: silent });

const deadline = Date.now() + LONGEST;
for (;;) {
  try {
    await post(`http://${admin}/deployments`, { uri: `http://127.0.0.1:${port}` });
    break;
  } catch (error) {
    // The server is not there yet.
    if (Date.now() > deadline) throw error;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  console.log(await post(`http://${ingress}/bench/steps`, Number(line)));
}
process.exit(0);
