import type { SignIn } from '../wire/client';
import { SignedOutError } from '../wire/errors';
import type { Platform } from './platform';

/** A browser in front of the server that sent the page. */
export function browser(): Platform {
  return {
    place: 'browser',
    endpoint: endpointOf(location.href),
    fetchToken,
    executes: false,
    folders: null,
    openWindow: null,
    openLink: null,
    reload: () => location.reload(),
    watch: () => {},
  };
}

/** Gets a token for the user whose cookie the page has. */
async function fetchToken(): Promise<SignIn> {
  const response = await fetch('/auth/token', { method: 'POST', credentials: 'same-origin' });
  if (response.status === 401 || response.status === 403) {
    throw new SignedOutError('the sign-in of this page has ended');
  }
  if (!response.ok) {
    throw new Error(`the server gave no token (${response.status})`);
  }
  return (await response.json()) as SignIn;
}

/** The address of the socket on the page's own server. */
export function endpointOf(page: string): string {
  const url = new URL('/connection/websocket', page);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.search = '';
  url.hash = '';
  return url.href;
}
