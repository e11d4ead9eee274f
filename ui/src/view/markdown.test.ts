import { describe, expect, it } from 'vitest';

import { blocksOf, elementsOf } from './markdown';

function render(text: string): HTMLElement {
  const container = document.createElement('div');
  container.append(...blocksOf(text).map(elementsOf));
  return container;
}

/** Elements that load, run, embed or ask for input. */
const ACTIVE =
  'img, script, style, link, meta, base, iframe, object, embed, svg, math, form, input, button, textarea, video, audio, source, picture, template';

describe('what a model writes', () => {
  it.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '<svg onload=alert(1)><script>alert(1)</script></svg>',
    '<iframe src="https://example.org"></iframe>',
    '<style>* { display: none }</style>',
    '<form action="https://example.org"><input name=a></form>',
    '<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>',
    '<a href="javascript:alert(1)">x</a>',
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
    '![a picture](https://example.org/p.png?secret=1)',
    '![a picture](data:image/svg+xml;base64,PHN2Zz4=)',
    '![x][r]\n\n[r]: https://example.org/p.png',
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](java&#115;cript:alert(1))',
    '[x](  javascript:alert(1))',
    '[x](vbscript:x)',
    '[x](data:text/html,<script>alert(1)</script>)',
    '[x](file:///etc/passwd)',
    '<javascript:alert(1)>',
    '[x]: javascript:alert(1)\n\n[x]',
    '[x](/v1/relative)',
    '[x](//example.org)',
    '```html" onmouseover="alert(1)\nx\n```',
    '```"><img src=x onerror=alert(1)>\nx\n```',
    '[x](https://example.org "title\\" onclick=\\"alert(1)")',
    '|a|\n|:-:"onclick="alert(1)|\n|b|',
  ])('does nothing by itself: %s', (text) => {
    const made = render(text);
    expect(made.querySelector(ACTIVE)).toBeNull();
    for (const element of made.querySelectorAll('*')) {
      for (const { name, value } of element.attributes) {
        expect(name).not.toMatch(/^on|^style$|^src|^id$|^class$|^name$/i);
        if (name === 'href') {
          expect(value).toMatch(/^(https?|mailto):/);
        }
      }
    }
  });

  it('does not get past the sanitiser either, should the renderer let something through', () => {
    const made = document.createElement('div');
    made.append(
      elementsOf('<p onclick="x" style="color:red" class="c" id="i">a<img src="x"><script>1</script></p>'),
    );
    expect(made.innerHTML).toBe('<p>a</p>');
  });

  it('shows where a link goes, and gives nothing to where it leads', () => {
    const link = render('[the notes](https://example.org/notes)').querySelector('a')!;
    expect(link.getAttribute('href')).toBe('https://example.org/notes');
    expect(link.title).toBe('https://example.org/notes');
    expect(link.rel).toBe('noopener noreferrer nofollow');
    expect(link.target).toBe('_blank');
  });

  it('tells of an image in words', () => {
    expect(render('![a plan](https://example.org/plan.png)').textContent?.trim()).toBe(
      '[image: a plan https://example.org/plan.png]',
    );
  });

  it('keeps tables, lists and code', () => {
    const made = render('|a|b|\n|-|-:|\n|1|2|\n\n3. x\n\n```ts\nlet a = "<b>";\n```');
    expect(made.querySelector('td[data-align=right]')?.textContent).toBe('2');
    expect(made.querySelector('ol')?.start).toBe(3);
    expect(made.querySelector('pre[data-language=ts]')?.textContent).toBe('let a = "<b>";\n');
  });

  it('changes only its last block while it grows', () => {
    const before = blocksOf('# Title\n\nFirst\n\nSeco');
    const after = blocksOf('# Title\n\nFirst\n\nSecond *one*\n\n- a');
    expect(before.length).toBe(3);
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
    expect(after.length).toBe(4);
  });

  it('has boxes that are only looked at before the steps of a list', () => {
    const list = render('* [ ] to do\n* [x] `code` done\n* [y] neither\n\n[ ] no list');
    const items = [...list.querySelectorAll('li')].map((item) => [item.dataset['task'], item.textContent]);
    expect(items).toEqual([
      ['open', '☐ to do'],
      ['done', '☑ code done'],
      [undefined, '[y] neither'],
    ]);
    expect(list.querySelector('p')!.textContent).toBe('[ ] no list');
  });
});
