import { expect, it } from 'vitest';

import { endpointOf } from './browser';

it('the socket is on the page’s own server', () => {
  expect(endpointOf('http://127.0.0.1:8080/?code=1#x')).toBe('ws://127.0.0.1:8080/connection/websocket');
  expect(endpointOf('https://example.org/')).toBe('wss://example.org/connection/websocket');
});
