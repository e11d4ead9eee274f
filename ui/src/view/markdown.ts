import createPurifier from 'dompurify';
import MarkdownIt from 'markdown-it';

/** What a model may make of the page: text with structure, nothing that loads, runs or asks for input. */
const TAGS = [
  'a',
  'blockquote',
  'br',
  'code',
  'del',
  'em',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'hr',
  'li',
  'ol',
  'p',
  'pre',
  's',
  'span',
  'strong',
  'table',
  'tbody',
  'td',
  'th',
  'thead',
  'tr',
  'ul',
];
const ATTRIBUTES = ['data-task', 'href', 'title', 'start', 'data-align', 'data-language', 'target', 'rel'];

const markdown = new MarkdownIt({ html: false, linkify: false });
markdown.validateLink = (url) => /^(?:https?:|mailto:)/i.test(url.trim());
// An image would be fetched from wherever the text says, and with it whatever the text put into the address.
markdown.renderer.rules['image'] = (tokens, index) => {
  const token = tokens[index]!;
  const address = token.attrGet('src') ?? '';
  return `<span>[image: ${markdown.utils.escapeHtml(`${token.content} ${address}`.trim())}]</span>`;
};
markdown.renderer.rules['link_open'] = (tokens, index, options, _environment, renderer) => {
  const token = tokens[index]!;
  token.attrSet('title', token.attrGet('href') ?? '');
  token.attrSet('target', '_blank');
  token.attrSet('rel', 'noopener noreferrer nofollow');
  return renderer.renderToken(tokens, index, options);
};
markdown.renderer.rules['fence'] = (tokens, index) => {
  const { content, info } = tokens[index]!;
  const language = /^[\w+#.-]{1,20}/.exec(info.trim())?.[0] ?? '';
  return `<pre data-language="${language}"><code>${markdown.utils.escapeHtml(content)}</code></pre>\n`;
};
// A step that is to be done or is done has a box, which is only looked at.
markdown.core.ruler.after('inline', 'task', ({ tokens }) => {
  for (const [index, item] of tokens.entries()) {
    const inline = tokens[index + 2];
    if (item.type !== 'list_item_open' || inline?.type !== 'inline') {
      continue;
    }
    const first = inline.children?.[0];
    const mark = first?.type === 'text' ? /^\[([ xX])\] /.exec(first.content) : null;
    if (first && mark) {
      item.attrSet('data-task', mark[1] === ' ' ? 'open' : 'done');
      first.content = `${mark[1] === ' ' ? '☐' : '☑'} ${first.content.slice(mark[0].length)}`;
    }
  }
});
for (const cell of ['th_open', 'td_open']) {
  // Alignment comes as an inline style, which the page's policy refuses.
  markdown.renderer.rules[cell] = (tokens, index, options, _environment, renderer) => {
    const token = tokens[index]!;
    const align = /(left|center|right)$/.exec(String(token.attrGet('style') ?? ''))?.[1];
    token.attrs = align ? [['data-align', align]] : [];
    return renderer.renderToken(tokens, index, options);
  };
}

const purifier = createPurifier(window);

/** The blocks of a text as HTML that is not safe yet, so that only those that changed are built again. */
export function blocksOf(text: string): string[] {
  const environment = {};
  const tokens = markdown.parse(text, environment);
  const blocks: string[] = [];
  let start = 0;
  let depth = 0;
  for (const [index, token] of tokens.entries()) {
    depth += token.nesting;
    if (depth === 0) {
      const block = tokens.slice(start, index + 1);
      blocks.push(markdown.renderer.render(block, markdown.options, environment));
      start = index + 1;
    }
  }
  return blocks;
}

/** The one place where Markdown of a model becomes elements. */
export function elementsOf(html: string): DocumentFragment {
  return purifier.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    // Without this the pattern for addresses is asked of these as well.
    ADD_URI_SAFE_ATTR: ATTRIBUTES.filter((name) => name !== 'href'),
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
    RETURN_DOM_FRAGMENT: true,
  });
}

/** Parts of code as elements, which have nothing but their classes. */
export function partsOf(html: string): DocumentFragment {
  return purifier.sanitize(html, {
    ALLOWED_TAGS: ['span'],
    ALLOWED_ATTR: ['class'],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
}
