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
