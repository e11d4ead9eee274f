import { describe, expect, it } from 'vitest';

import { colour, highlighted } from './highlight';

function codeOf(text: string): HTMLElement {
  const element = document.createElement('code');
  element.textContent = text;
  return element;
}

describe('colours of code', () => {
  it.each([
    ['js', 'const a = "<b>&amp;</b>"; // x', 'const'],
    ['Rust', 'fn main() { let x = 1; }', 'fn'],
    ['py', 'def f():\n    return None', 'def'],
  ])('tell parts of %s apart and leave the text alone', async (language, code, keyword) => {
    const element = codeOf(code);
    await colour(element, language);
    expect(element.textContent).toBe(code);
    expect(element.querySelector('.hljs-keyword')?.textContent).toBe(keyword);
    expect([...element.querySelectorAll('*')].every(({ localName }) => localName === 'span')).toBe(true);
  });

  it.each(['', 'brainfuck', 'constructor', '__proto__'])('are left out for %j', async (language) => {
    expect(await highlighted('a', language)).toBeNull();
  });

  it('are left out for very long code', async () => {
    expect(await highlighted('1;'.repeat(30_000), 'js')).toBeNull();
  });

  it('do not bring back text that has changed', async () => {
    const element = codeOf('let a');
    const colouring = colour(element, 'js');
    element.textContent = 'let ab';
    await colouring;
    expect(element.textContent).toBe('let ab');
    expect(element.children).toHaveLength(0);
  });
});
