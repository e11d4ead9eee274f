import { flushSync } from 'svelte';
import { describe, expect, it, vi } from 'vitest';

import type { App } from '../state/app.svelte';
import type { Conversation } from '../state/conversation.svelte';
import { button, find, show, type } from '../testing/dom';
import { rtc, waiting } from '../testing/entities';
import type { Rtc } from '../wire/generated';
import ToolCard from './ToolCard.svelte';

describe('a call', () => {
  function cardOf(record: Rtc, told = new Map<string, string>()) {
    const app = {
      signIn: { device_id: 'device-1' },
      attempt: async (action: () => Promise<unknown>) => {
        await action();
        return true;
      },
    };
    const conversation = { told, approve: vi.fn(() => Promise.resolve()), look: vi.fn() };
    const entry = (rtc: Rtc) => ({
      kind: 'call' as const,
      id: 'm-1',
      call: { id: 'c-1', tool_name: rtc.tool_name, input: '{}' },
      output: null,
      rtc,
    });
    const props = $state({
      app: app as unknown as App,
      conversation: conversation as unknown as Conversation,
      entry: entry(record),
    });
    show(ToolCard, props);
    return {
      conversation,
      become: (rtc: Rtc) => {
        props.entry = entry(rtc);
        flushSync();
      },
    };
  }

  const answeredElsewhere = (): Rtc => {
    const record = waiting();
    const approval = {
      ...record.approval!,
      state: 'approved',
      decision: 'once',
      decided_by: 'device-2',
    } as const;
    return { ...record, status: 'executing', approval };
  };

  it('keeps a reason that was being written when somebody else answers, and says who', async () => {
    const message = document.createElement('textarea');
    message.id = 'message';
    document.body.append(message);
    const { become } = cardOf(waiting());
    button('Deny').click();
    await Promise.resolve();
    flushSync();
    type(find('[aria-label=Reason]'), 'because of the chalk');
    expect(document.activeElement).toBe(find('[aria-label=Reason]'));
    become(answeredElsewhere());
    await new Promise((resolve) => setTimeout(resolve));
    expect(document.body.textContent).toContain('because of the chalk');
    expect(document.body.textContent).toContain('Allowed once on another device (device-2)');
    expect(document.activeElement).toBe(message);
    button('Dismiss').click();
    flushSync();
    expect(document.body.textContent).not.toContain('because of the chalk');
  });

  it('of a script shows its code while it runs, and folds it at the end where somebody else allowed it', async () => {
    const { become } = cardOf(waiting());
    const isOpen = () => find<HTMLDetailsElement>('details').open;
    become(answeredElsewhere());
    expect(isOpen()).toBe(true);
    expect(find('details').textContent).toContain('let a = 1;');
    become({ ...answeredElsewhere(), status: 'completed' });
    expect(isOpen()).toBe(false);
  });

  it('of a script that was allowed here keeps its code at the end, and folds one that nobody was asked about', async () => {
    const { become, conversation } = cardOf(waiting());
    const isOpen = () => find<HTMLDetailsElement>('details').open;
    button('Allow once').click();
    await new Promise((resolve) => setTimeout(resolve));
    expect(conversation.approve).toHaveBeenCalledOnce();
    become(answeredElsewhere());
    expect(isOpen()).toBe(true);
    become({ ...answeredElsewhere(), status: 'completed' });
    expect(isOpen()).toBe(true);
    become({ ...waiting(), approval: null, status: 'executing' });
    expect(isOpen()).toBe(false);
  });

  it('that was stopped in the middle says so, with what it told until then', () => {
    const stopped = rtc({
      id: 'r-1',
      session_id: 's-1',
      tool_name: 'script',
      status: 'rejected',
      attempt: 1,
    });
    cardOf(
      { ...stopped, error_message: 'whether it took effect is not known', effect: 'unknown' },
      new Map([['r-1', 'one line']]),
    );
    expect(document.body.textContent).toContain('stopped while it ran');
    expect(document.body.textContent).toContain('one line');
    expect(document.body.textContent).toContain('whether it took effect is not known');
  });
});
