import type { Database } from '../store/database';
import { message, session } from './entities';
import { inStep, openPage, server, type Page } from './pages';

/** All that is stored, in a form that can be compared. */
export async function dump(database: Database): Promise<unknown> {
  const [sessions, turns, messages, rtcs, cursor] = await Promise.all([
    database.sessions.toArray(),
    database.turns.toArray(),
    database.messages.toArray(),
    database.rtcs.toArray(),
    database.cursor(),
  ]);
  return { sessions, turns, messages, rtcs, cursor };
}

/** Says something in the session. */
export function say(number: number, text = `message ${number}`): void {
  server.commit({
    entity: 'message',
    data: message(
      { id: `m-${number}`, session_id: 's-1', global_offset: number },
      { type: 'markdown', data: text },
    ),
  });
}

/** A page that has opened the session. */
export async function openedSession(): Promise<Page> {
  server.commit({ entity: 'session', data: session({ id: 's-1' }) });
  const page = openPage();
  await inStep(page);
  await page.topic.open('s-1');
  return page;
}

/** What is stored of what was said, in order. */
export async function texts(database: Database): Promise<string[]> {
  return (await database.messagesOf('s-1')).map(
    ({ content }) => (JSON.parse(content) as { data: string }).data,
  );
}
