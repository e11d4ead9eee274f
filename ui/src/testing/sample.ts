import { isCallOver } from '../store/merge';
import type { ContentData, FileKind, Message, Rtc } from '../wire/generated';
import { message, rtc, session, turn } from './entities';
import { Refusal, type FakeServer } from './fake-server';

const DIFF = `--- /docs/visit.txt
+++ /docs/visit.txt
@@ -1,4 +1,4 @@
 Visit of the Café de la Place, Thursday
 
-They want the front in a warm colour, between brick and chalk.
+They want the front in a warm color, between brick and chalk.
 The sign stays.
`;

const ANSWER = `I found the word in **two files** and changed it in one of them:

| file | places |
|:---|---:|
| \`docs/visit.txt\` | 1 |
| \`src/paint.ts\` | 33 |

1. \`colour\` became \`color\` in the text
2. Code was left alone, since it is a name of an interface:

\`\`\`ts
export interface Paint {
  colour: string; // part of the public interface
}
\`\`\`

> Nothing else was touched. See [the notes](https://example.org/notes).
`;

const FILES: Record<string, string> = {
  '/README.md': '# Paint shop\n\nA small sample.\n',
  '/docs/visit.txt': 'Visit of the Café de la Place, Thursday\n\nThe sign stays.\n',
  '/src/paint.ts': 'export interface Paint {\n  colour: string;\n}\n',
};

/** Fills a server with sessions in every state that the page shows. */
export function fillWithSample(server: FakeServer): void {
  const at = (minute: number) => `2026-01-01T12:${String(minute).padStart(2, '0')}:00Z`;
  const titles = [
    'Write the notes of the visit',
    'Why is the build slow?',
    'Tidy up the tests',
    'Rename colour',
  ];
  for (const [index, title] of titles.entries()) {
    server.commit({
      entity: 'session',
      data: session({
        id: `s-${index + 1}`,
        title,
        updated_at: at(index),
        status: index === 1 ? 'closed' : 'idle',
      }),
    });
  }
  server.commit({ entity: 'turn', data: turn({ id: 't-1', session_id: 's-4', status: 'completed' }) });
  server.commit({ entity: 'turn', data: turn({ id: 't-2', session_id: 's-4', status: 'interrupted' }) });
  server.commit({ entity: 'turn', data: turn({ id: 't-3', session_id: 's-3', status: 'interrupted' }) });

  let offset = 0;
  const say = (content: ContentData, fields: Partial<Message> = {}) => {
    offset += 1;
    const data = message(
      { id: `m-${offset}`, session_id: 's-4', global_offset: offset, turn_id: 't-1', ...fields },
      content,
    );
    server.commit({ entity: 'message', data });
    return data.id;
  };
  let calls = 0;
  const call = (tool_name: string, parameters: unknown, output: string | null, fields: Partial<Rtc> = {}) => {
    const call = { id: `call-${++calls}`, tool_name, input: JSON.stringify(parameters) };
    const message_id = say({ type: 'toolcall_input', data: call });
    const status = output === null ? 'pending' : 'completed';
    const completed_at = output === null ? null : '2026-01-01T12:00:00.084Z';
    const own = { id: `r-${calls}`, session_id: 's-4', tool_name, parameters, message_id, offset: calls };
    const record = rtc({ ...own, status, completed_at, ...fields });
    server.commit({ entity: 'rtc', data: record });
    if (output !== null) {
      say(
        { type: 'toolcall_output', data: { ...call, output, status: record.status } },
        { parent_message_id: message_id },
      );
    }
  };

  say({ type: 'text', data: 'Replace “colour” by “color” in the documents, not in code.' });
  say({ type: 'thinking', data: 'Only documents: I look for the word first, then edit what is not code.' });
  call(
    'todoWrite',
    {
      todos: [
        { content: 'Find the word', active_form: 'Finding the word', status: 'completed' },
        { content: 'Change documents', active_form: 'Changing documents', status: 'in_progress' },
        { content: 'Count what is left', active_form: 'Counting what is left', status: 'pending' },
      ],
    },
    'ok',
  );
  call(
    'grep',
    { pattern: 'colour', path: '/' },
    Array.from({ length: 34 }, (_, line) => `/src/paint.ts:${line + 1}:  colour`).join('\n'),
  );
  call('edit', { path: '/docs/visit.txt', old_string: 'colour', new_string: 'color' }, 'ok', {
    result: { path: '/docs/visit.txt', replaced: 1, diff: DIFF },
    approval: {
      state: 'approved',
      why: 'mode manual',
      decision: 'session',
      reason: null,
      decided_at: at(0),
      decided_by: 'device-2',
    },
  });
  call(
    'script',
    {
      title: 'Count the rest',
      code: "const hits = await rtcAgent.fs.grep('colour');\nconsole.log(hits.length, 'left');\nreturn hits.length;",
    },
    '33',
    {
      result: { result: 33, logs: ['33 left'], duration_ms: 12 },
    },
  );
  call('read', { path: '/.env' }, '[Tool Rejected] read was rejected: /.env is protected', {
    status: 'rejected',
    error_message: '/.env is protected; a rule of yours keeps it from being read.',
  });
  say({ type: 'markdown', data: ANSWER });
  say({ type: 'text', data: 'Now remove the draft, and tell me how to go on.' }, { turn_id: null });
  call('write', { path: '/docs/visit.txt', content: 'The sign stays.\n' }, null, {
    turn_id: 't-2',
    approval: {
      state: 'open',
      why: 'In mode manual every change is asked for.',
      decision: null,
      reason: null,
      decided_at: null,
      decided_by: null,
    },
    preview: { kind: 'diff', text: DIFF, paths: ['/docs/visit.txt'] },
  });
  call(
    'askUser',
    {
      questions: [
        {
          question: 'Which format shall the notes have?',
          header: 'Format',
          options: [
            {
              label: 'Markdown',
              description: 'One file, easy to read anywhere',
              preview: '# Visit\n\n* The sign stays',
            },
            { label: 'Plain text', description: 'As it is now' },
          ],
        },
        {
          question: 'What belongs into it?',
          header: 'Content',
          multiSelect: true,
          options: [
            { label: 'Wishes', description: 'What they asked for' },
            { label: 'Prices', description: 'What it would cost' },
          ],
        },
      ],
    },
    null,
    { turn_id: 't-2' },
  );
  call('edit', { path: '/src/paint.ts', old_string: 'a', new_string: 'b' }, null, {
    turn_id: 't-2',
    status: 'executing',
    outcome: 'unknown',
    error_message:
      'The file differs from what it was before the edit, and from what the edit would have made of it.',
  });
  say({
    type: 'error',
    data: {
      category: 'network',
      title: 'The model cannot be reached',
      message: 'Look whether the network is there, then send the message again.',
      retryable: true,
    },
  });
  say({ type: 'text', data: 'And after that, the tests.' }, { turn_id: null, streaming_status: 'pending' });
  server.commit({
    entity: 'rtc',
    data: rtc({ id: 'r-else', session_id: 's-3', turn_id: 't-3', tool_name: 'askUser' }),
  });
}

/** Lets the methods behind the page's buttons do what they say. */
export function serveSample(server: FakeServer): void {
  const files = new Map(Object.entries(FILES));
  const hash = (text: string) => `hash-${text.length}-${text}`;
  const fileAt = (path: string) => {
    const text = files.get(path);
    if (text === undefined) {
      throw new Refusal('file.not_found', `there is no file ${path}`);
    }
    return text;
  };
  const open = (id: string) => {
    const found = server.rtcs.get(id);
    if (!found) {
      throw new Refusal('rtc.not_found', `there is no call ${id}`);
    }
    return found;
  };
  Object.assign(server.handlers, {
    'v1.project.list': () => ({
      items: [
        {
          id: 'project-1',
          device_id: 'device-1',
          root: '/srv/paint-shop',
          trusted: true,
          created_at: '2026-01-01T00:00:00Z',
        },
      ],
    }),
    'v1.models.list': () => ({
      items: [
        {
          name: 'scripted',
          api: 'openai-chat',
          model: 'scripted-1',
          base_url: 'http://127.0.0.1:18080',
          spoken: true,
          key: 'not_needed',
          context: null,
          default: true,
        },
      ],
    }),
    'v1.rtc.preview': ({ rtc_id }) => ({ preview: open(rtc_id).preview ?? null }),
    'v1.fs.list': ({ path }) => {
      const prefix = path == null || path === '/' ? '/' : `${path}/`;
      const names = [...files.keys()]
        .filter((file) => file.startsWith(prefix))
        .map((file) => file.slice(prefix.length));
      const folders = new Set(names.filter((name) => name.includes('/')).map((name) => name.split('/')[0]!));
      const entry = (name: string, kind: FileKind) => ({ name, kind, size: null, modified_at: null });
      return {
        items: [
          ...names.filter((name) => !name.includes('/')).map((name) => entry(name, 'file')),
          ...[...folders].map((name) => entry(name, 'folder')),
        ],
      };
    },
    'v1.fs.read': ({ path }) => {
      const content = fileAt(path);
      const size = content.length;
      return { path, content, format: 'text', size, hash: hash(content), encoding: 'utf-8' };
    },
    'v1.fs.stat': ({ path }) => {
      const content = fileAt(path);
      const item = { path, kind: 'file' as const, size: content.length, modified_at: null };
      return { item: { ...item, hash: hash(content) } };
    },
    'v1.fs.write': ({ path, content, base_hash }) => {
      if (hash(fileAt(path)) !== base_hash) {
        throw new Refusal('file.conflict', `${path} was changed in the meantime`);
      }
      files.set(path, content);
      return { path, hash: hash(content), size: content.length, created: false };
    },
    'v1.rtc.approve': ({ rtc_id, decision, reason }) => {
      const call = open(rtc_id);
      const isNo = decision === 'reject' || decision === 'never';
      server.commit({
        entity: 'rtc',
        data: {
          ...call,
          status: isNo ? 'rejected' : 'executing',
          error_message: isNo ? 'The user said no.' : null,
          approval: {
            ...call.approval!,
            state: isNo ? 'rejected' : 'approved',
            decision,
            reason: reason ?? null,
            decided_at: '2026-01-01T12:05:00Z',
            decided_by: 'device-1',
          },
        },
      });
      return { success: true };
    },
    'v1.rtc.submit_result': ({ rtc_id, success, result }) => {
      const call = open(rtc_id);
      if (!isCallOver(call.status)) {
        const status = success ? ('completed' as const) : ('failed' as const);
        server.commit({
          entity: 'rtc',
          data: { ...call, status, result: result ?? null, answered_by: 'device-1' },
        });
      }
      return { success: true };
    },
    'v1.rtc.resolve': ({ rtc_id }) => {
      const { outcome: _, ...call } = open(rtc_id);
      server.commit({ entity: 'rtc', data: { ...call, status: 'completed', error_message: null } });
      return { success: true };
    },
    'v1.session.set_mode': ({ session_id, mode }) => {
      server.commit({ entity: 'session', data: { ...server.sessions.get(session_id)!, mode } });
      return { success: true };
    },
    'v1.turn.stop': ({ session_id }) => {
      for (const running of server.turns.values()) {
        if (running.session_id === session_id && running.status !== 'completed') {
          server.commit({ entity: 'turn', data: { ...running, status: 'cancelled' } });
        }
      }
      return { success: true };
    },
    'v1.message.send': ({ content_data, client_session_id, client_id, server_session_id, mode }) => {
      const id = server_session_id ?? `session-of-${client_session_id}`;
      const text = content_data.type === 'text' ? content_data.data : content_data.data.text;
      if (!server.sessions.has(id)) {
        server.commit({
          entity: 'session',
          data: session({
            id,
            client_id: client_session_id,
            title: text.slice(0, 50),
            updated_at: '2026-01-01T13:00:00Z',
            ...(mode == null ? {} : { mode }),
          }),
        });
      }
      const global_offset =
        [...server.messages.values()].filter(({ session_id }) => session_id === id).length + 1;
      const sent = message(
        { id: `message-${client_id}`, session_id: id, global_offset, client_id },
        { type: 'text', data: text },
      );
      server.commit({ entity: 'message', data: sent });
      return { session_id: id, turn_id: '', message_id: sent.id };
    },
  } satisfies FakeServer['handlers']);
}
