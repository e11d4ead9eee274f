import type { Platform } from '../platform/platform';
import type { FakeServer } from './fake-server';

/** A browser in front of the server of a test, or what a test makes of it. */
export function platformOf(server: FakeServer, more: Partial<Platform> = {}): Platform {
  return {
    place: 'browser',
    endpoint: 'ws://server/connection/websocket',
    fetchToken: () => Promise.resolve({ token: 't', user_id: server.user, device_id: 'device-1' }),
    websocket: server.websocket,
    executes: false,
    folders: null,
    openWindow: null,
    openLink: null,
    reload: () => {},
    watch: () => {},
    ...more,
  };
}
