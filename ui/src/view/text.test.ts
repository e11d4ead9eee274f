import { describe, expect, it } from 'vitest';

import { diffLines, revealHidden } from './text';

describe('hidden characters', () => {
  it.each([
    ['plain\ttext\n', 'plain\ttext\n'],
    ['Café 日本語 🙂', 'Café 日本語 🙂'],
    ['a\r\nb', 'a\nb'],
    ['rm\rls', 'rm⟨U+000D⟩ls'],
    ['a\u202eb', 'a⟨U+202E⟩b'],
    ['a\u2066b\u2069', 'a⟨U+2066⟩b⟨U+2069⟩'],
    ['a\u200bb', 'a⟨U+200B⟩b'],
    ['\u001b[31m', '⟨U+001B⟩[31m'],
    ['\u{e0041}', '⟨U+E0041⟩'],
  ])('%j is shown as %j', (text, shown) => {
    expect(revealHidden(text)).toBe(shown);
  });
});

describe('a diff', () => {
  it('has lines of four kinds, and changed lines that look like headers are changed lines', () => {
    const kinds = diffLines('--- /a\n+++ /a\n@@ -1 +1 @@\n a\n--- b\n+++ c\n\\ No newline at end of file\n');
    expect(kinds.map(({ kind }) => kind)).toEqual([
      'place',
      'place',
      'place',
      'context',
      'removed',
      'added',
      'place',
    ]);
  });
});
