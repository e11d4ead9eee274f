import { describe, expect, it } from 'vitest';

import { button, find } from '../testing/dom';
import { session } from '../testing/entities';
import { Refusal } from '../testing/fake-server';
import {
  app,
  field,
  known,
  one,
  open,
  openPage,
  openWindow,
  requests,
  send,
  server,
  strange,
  tell,
  text,
  two,
  until,
} from '../testing/window';

describe('a folder in a window', () => {
  it('is opened by a dialog, and is that of the next session', async () => {
    await openWindow({}, two);
    expect(text()).toContain('/data/me/one');
    button('Open a folder…').click();
    await until(() => document.querySelector<HTMLSelectElement>('.folder select')?.value === 'p-2');
    await send('Hello');
    expect(requests('v1.message.send')[0]).toMatchObject({ project_id: 'p-2' });
  });

  it('stays as it is when the dialog is left, and when it fails, which is told', async () => {
    const app = await openWindow();
    button('Open a folder…').click();
    await until(() => !button('Open a folder…').disabled);
    expect(app.folders.current?.id).toBe('p-1');
    app.close();
    document.body.replaceChildren();
    const failing = await openWindow({
      folders: { choose: () => Promise.reject(new Refusal('project.unusable', 'it is a file')) },
    });
    button('Open a folder…').click();
    await until(() => failing.notices.length === 1);
    expect(text()).toContain('It is a file.');
  });

  it('of before is opened again from the list, and one that is gone stays in it', async () => {
    await openWindow();
    expect(find('#recent').textContent).toBe('Recent');
    const names = () => [...document.querySelectorAll('#recent + ul button')].map((item) => item.textContent);
    expect(names()).toEqual(['/data/me/two', '/data/me/strange']);
    known.delete('p-2');
    button('/data/me/two').click();
    await until(() => text().includes('There is no folder /data/me/two.'));
    expect(names()).toEqual(['/data/me/two', '/data/me/strange']);
    known.set('p-2', two);
    await until(() => !button('/data/me/two').disabled);
    button('/data/me/two').click();
    await until(() => names().join() === '/data/me/strange');
    expect(requests('v1.project.open')).toEqual([{ path: two.root }, { path: two.root }]);
    await send('Hello');
    expect(requests('v1.message.send')[0]).toMatchObject({ project_id: 'p-2' });
  });

  it('that could not be opened is told of until one is opened', async () => {
    await openWindow();
    tell({ type: 'problem', text: 'The folder /x cannot be opened.' });
    tell({ type: 'problem', text: 'RTC Desktop runs already.' });
    known.delete('p-2');
    button('/data/me/two').click();
    await until(() => app.notices.length === 3);
    open.add('p-3');
    tell({ type: 'opened', project: strange });
    expect(app.notices).toMatchObject([{ text: 'RTC Desktop runs already.' }]);
  });

  it('that the window is told of is that of the next session, and leaves the session of another one', async () => {
    server.commit({ entity: 'session', data: session({ id: 's-1', project_id: 'p-1' }) });
    server.commit({ entity: 'session', data: session({ id: 's-2', project_id: 'p-2' }) });
    const app = await openWindow();
    await until(() => app.sessions.length === 2);
    app.select('s-2');
    open.add('p-2');
    tell({ type: 'opened', project: two });
    expect(app.selected).toBe('s-2');
    app.select('s-1');
    tell({ type: 'opened', project: two });
    expect(app.selected).toBeNull();
    expect(app.folders.current?.id).toBe('p-2');
  });

  it('of an earlier start is opened again for its session, and its files are listed then', async () => {
    server.handlers['v1.fs.list'] = ({ project_id }) => {
      if (!open.has(project_id!)) {
        throw new Refusal('project.not_found', 'the folder is not open');
      }
      return { items: [{ name: 'notes.txt', kind: 'file', size: null, modified_at: null }] };
    };
    server.commit({ entity: 'session', data: session({ id: 's-2', project_id: 'p-2' }) });
    await openWindow();
    button('Files').click();
    app.select('s-2');
    await until(() => text().includes('notes.txt') && app.folders.open.length === 2);
    expect(requests('v1.project.open')).toEqual([{ path: two.root }]);
    app.select(null);
    await until(() => text().includes('What shall be done?'));
    // It is offered, not chosen.
    expect(find<HTMLSelectElement>('.folder select').value).toBe('p-1');
    expect(find('.folder select').textContent).toContain('/data/me/two');
  });

  it('of an earlier start that is gone is asked for once, and one that is not trusted is not', async () => {
    server.commit({ entity: 'session', data: session({ id: 's-2', project_id: 'p-2' }) });
    server.commit({ entity: 'session', data: session({ id: 's-3', project_id: 'p-3' }) });
    await openWindow();
    server.handlers['v1.project.open'] = () => {
      throw new Refusal('project.unusable', 'there is no such folder');
    };
    app.select('s-2');
    await until(() => requests('v1.project.open').length === 1);
    app.select('s-3');
    await until(() => text().includes('nothing can be sent'));
    app.select('s-2');
    window.dispatchEvent(new Event('focus'));
    await until(() => requests('v1.project.recent').length === 2 && app.conversation?.session?.id === 's-2');
    expect(requests('v1.project.open')).toEqual([{ path: two.root }]);
    expect(app.notices).toEqual([]);
  });

  it('that is told of while the folders are asked for is not lost', async () => {
    const list = server.handlers['v1.project.list']!;
    let times = 0;
    server.handlers['v1.project.list'] = (request) => {
      const before = list(request);
      if (++times === 1) {
        open.add('p-2');
        tell({ type: 'opened', project: two });
      }
      return before;
    };
    const app = await openWindow();
    expect(app.folders.current?.id).toBe('p-2');
    expect(app.folders.open.map(({ id }) => id)).toEqual(['p-1', 'p-2']);
  });

  it('is not opened from a browser', async () => {
    await openPage({});
    expect(button('Open a folder…')).toBeUndefined();
    expect(button('New window')).toBeUndefined();
    expect(document.querySelector('#recent')).toBeNull();
    expect(requests('v1.project.recent')).toEqual([]);
  });
});

describe('a folder that is not trusted', () => {
  it('is asked about before anything is sent', async () => {
    await openWindow({}, strange);
    expect(field().disabled).toBe(false);
    button('Open a folder…').click();
    await until(() => text().includes('Do you trust this folder?'));
    expect(text()).toContain('/data/me/strange');
    expect(text()).not.toContain('What shall be done?');
    expect(field().disabled).toBe(true);
    button('Trust this folder').click();
    await until(() => text().includes('What shall be done?'));
    expect(requests('v1.project.trust')).toEqual([{ project_id: 'p-3', trusted: true }]);
    expect(field().disabled).toBe(false);
    await send('Hello');
    expect(requests('v1.message.send')[0]).toMatchObject({ project_id: 'p-3' });
  });

  it('is closed by “Not now”, and can be opened later', async () => {
    const app = await openWindow({}, strange);
    button('Open a folder…').click();
    await until(() => text().includes('Do you trust this folder?'));
    button('Not now').click();
    await until(() => text().includes('What shall be done?'));
    expect(requests('v1.project.close')).toEqual([{ project_id: 'p-3' }]);
    expect(app.folders.current?.id).toBe('p-1');
    button('/data/me/strange').click();
    await until(() => text().includes('Do you trust this folder?'));
  });

  it('stays untrusted when the answer does not get through', async () => {
    await openWindow({}, strange);
    server.handlers['v1.project.trust'] = () => {
      throw new Refusal('store.full', 'no room');
    };
    button('Open a folder…').click();
    await until(() => text().includes('Do you trust this folder?'));
    button('Trust this folder').click();
    await until(() => text().includes('No room.') && !button('Trust this folder').disabled);
    expect(field().disabled).toBe(true);
  });

  it('keeps its sessions from going on, and leads to the question', async () => {
    server.commit({ entity: 'session', data: session({ id: 's-1', project_id: 'p-3' }) });
    const app = await openWindow();
    await until(() => app.sessions.length === 1);
    app.select('s-1');
    await until(() => text().includes('nothing can be sent'));
    expect(field().disabled).toBe(true);
    expect(field().placeholder).toBe('This folder is not trusted');
    button('Decide…').click();
    await until(() => text().includes('Do you trust this folder?'));
    button('Trust this folder').click();
    await until(() => text().includes('What shall be done?'));
    app.select('s-1');
    await until(() => !field().disabled);
  });

  it('is nothing that a browser asks about', async () => {
    known.set('p-1', { ...one, trusted: false });
    await openPage({});
    expect(text()).toContain('What shall be done?');
    expect(field().disabled).toBe(false);
  });

  it('is asked about no more when another window has answered', async () => {
    known.set('p-1', { ...one, trusted: false });
    await openWindow();
    expect(text()).toContain('Do you trust this folder?');
    known.set('p-1', one);
    window.dispatchEvent(new Event('focus'));
    await until(() => text().includes('What shall be done?'));
  });
});
