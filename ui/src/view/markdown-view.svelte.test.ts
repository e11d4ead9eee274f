import { flushSync } from 'svelte';
import { describe, expect, it, vi } from 'vitest';

import { find, show } from '../testing/dom';
import Markdown from './Markdown.svelte';

describe('a text with Markdown', () => {
  function shown(text: string, isStreaming = false) {
    const props = $state({ text, isStreaming });
    show(Markdown, props);
    return (text: string, isStreaming = false) => {
      Object.assign(props, { text, isStreaming });
      flushSync();
    };
  }

  it('is replaced by another one of equal length, block by block', () => {
    const become = shown('First\n\none way\n\n- a\n- b');
    const [first, second, third] = [...find('.markdown').children];
    become('First\n\ntwo way\n\n- a\n- b');
    expect(find('.markdown').textContent!.split(/\s+/)).toEqual(['First', 'two', 'way', 'a', 'b', '']);
    const after = [...find('.markdown').children];
    // What did not change keeps its elements.
    expect([after[0], after[2]]).toEqual([first, third]);
    expect(after[1]).not.toBe(second);
  });

  it('is replaced also where its code was coloured, or is about to be', async () => {
    const code = (text: string) => `\`\`\`js\n${text}\n\`\`\``;
    const become = shown(code('let a = 1;'));
    become(code('let b = 2;'));
    await vi.dynamicImportSettled();
    expect(find('.hljs-keyword').textContent).toBe('let');
    expect(find('code').textContent).toBe('let b = 2;\n');
    become(code('var c = 3;'));
    expect(find('code').textContent).toBe('var c = 3;\n');
    await vi.dynamicImportSettled();
    expect(find('.hljs-keyword').textContent).toBe('var');
    expect(find('code').textContent).toBe('var c = 3;\n');
  });
});
