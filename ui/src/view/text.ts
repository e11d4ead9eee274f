/**
 * Characters that are not seen, or that change the order in which others are: with them, code and paths can look like
 * something else than they are.
 */
const HIDDEN =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** The text with its hidden characters told by their numbers. */
export function revealHidden(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(HIDDEN, (character) => {
    const number = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
    return `⟨U+${number}⟩`;
  });
}

/** A line of a unified diff. */
export interface DiffLine {
  kind: 'added' | 'removed' | 'context' | 'place';
  text: string;
}

/** The lines of a unified diff, with what is hidden in them made visible. */
export function diffLines(diff: string): DiffLine[] {
  let isBody = false;
  const lines = revealHidden(diff).split('\n');
  if (lines.at(-1) === '') {
    lines.pop();
  }
  return lines.map((text) => {
    // Before the first hunk `---` and `+++` name files; inside of one they are changed lines.
    isBody ||= text.startsWith('@@');
    if (!isBody || text.startsWith('@@') || text.startsWith('\\')) {
      return { kind: 'place', text };
    }
    const kind = text.startsWith('+') ? 'added' : text.startsWith('-') ? 'removed' : 'context';
    return { kind, text };
  });
}

/** A text of which only the beginning is shown, and how much is left out. */
export interface Folded {
  text: string;
  lines: number;
  characters: number;
}

/** The beginning of a text, in lines and, where lines are long, in characters. */
export function folded(text: string, maxLines: number, maxCharacters: number): Folded {
  const all = text.replace(/\n$/, '').split('\n');
  // One line more needs no more room than to say that there is one.
  const some = all.length > maxLines + 1 ? all.slice(0, maxLines) : all;
  const shown = some.join('\n');
  if (shown.length <= maxCharacters + 200) {
    return { text: shown, lines: all.length - some.length, characters: 0 };
  }
  let end = maxCharacters;
  if (/[\ud800-\udbff]/.test(shown[end - 1]!)) {
    end -= 1;
  }
  const cut = shown.slice(0, end);
  return { text: cut, lines: all.length - cut.split('\n').length, characters: text.length - end };
}

/** How much is left out, in words; nothing if nothing is. */
export function moreText(parts: Folded[]): string | null {
  const lines = parts.reduce((sum, part) => sum + part.lines, 0);
  if (lines > 0) {
    return lines === 1 ? '1 more line' : `${lines.toLocaleString()} more lines`;
  }
  const characters = parts.reduce((sum, part) => sum + part.characters, 0);
  return characters > 0 ? `${characters.toLocaleString()} more characters` : null;
}
