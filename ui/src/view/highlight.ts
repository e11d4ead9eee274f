import type { HLJSApi, LanguageFn } from 'highlight.js';

type Grammar = () => Promise<{ default: LanguageFn }>;

const xml: Grammar = () => import('highlight.js/lib/languages/xml');
const bash: Grammar = () => import('highlight.js/lib/languages/bash');
const cpp: Grammar = () => import('highlight.js/lib/languages/cpp');
const ini: Grammar = () => import('highlight.js/lib/languages/ini');
const javascript: Grammar = () => import('highlight.js/lib/languages/javascript');
const python: Grammar = () => import('highlight.js/lib/languages/python');
const rust: Grammar = () => import('highlight.js/lib/languages/rust');
const typescript: Grammar = () => import('highlight.js/lib/languages/typescript');
const yaml: Grammar = () => import('highlight.js/lib/languages/yaml');

/** By the names that models write behind the backticks. Each is loaded when it is first needed. */
const GRAMMARS: Record<string, Grammar> = {
  bash,
  c: cpp,
  cpp,
  css: () => import('highlight.js/lib/languages/css'),
  go: () => import('highlight.js/lib/languages/go'),
  html: xml,
  ini,
  java: () => import('highlight.js/lib/languages/java'),
  javascript,
  js: javascript,
  json: () => import('highlight.js/lib/languages/json'),
  jsx: javascript,
  py: python,
  python,
  rs: rust,
  rust,
  sh: bash,
  shell: bash,
  sql: () => import('highlight.js/lib/languages/sql'),
  svg: xml,
  toml: ini,
  ts: typescript,
  tsx: typescript,
  typescript,
  xml,
  yaml,
  yml: yaml,
};

/** Longer code stays plain: nobody waits for its colours. */
const MAX_CHARACTERS = 50_000;

let loading: Promise<HLJSApi> | undefined;

/** Code with its parts told apart, or nothing where that is not possible. The text is the same. */
export async function highlighted(code: string, language: string): Promise<DocumentFragment | null> {
  const name = language.toLowerCase();
  const grammar = Object.hasOwn(GRAMMARS, name) ? GRAMMARS[name] : undefined;
  if (!grammar || code.length > MAX_CHARACTERS) {
    return null;
  }
  try {
    loading ??= import('highlight.js/lib/core').then((library) => library.default);
    const [library, definition, { partsOf }] = await Promise.all([loading, grammar(), import('./markdown')]);
    if (!library.getLanguage(name)) {
      library.registerLanguage(name, definition.default);
    }
    return partsOf(library.highlight(code, { language: name, ignoreIllegals: true }).value);
  } catch (error) {
    // The server may be gone; it stays plain then.
    loading = undefined;
    console.info('code stays without colours', error);
    return null;
  }
}

/** Colours the content of an element, unless it has become another one when that is ready. */
export async function colour(element: HTMLElement, language: string): Promise<void> {
  const code = element.textContent;
  const fragment = await highlighted(code, language);
  if (fragment !== null && fragment.textContent === code && element.textContent === code) {
    element.replaceChildren(fragment);
  }
}
