/** A file that is open. */
export interface OpenFile {
  path: string;
  /** The text on disk when it was last read or saved, and what it is known by. */
  saved: string;
  hash: string;
  /** The text as the user has it. */
  text: string;
  /** The file was changed or removed by somebody else since it was read. */
  isConflicting: boolean;
  isSaving: boolean;
  /** It was saved since it was opened. */
  wasSaved: boolean;
}

/** A file as it was read. */
export function openFile(path: string, saved: string, hash: string): OpenFile {
  return { path, saved, hash, text: saved, isConflicting: false, isSaving: false, wasSaved: false };
}

/** Whether a file has changes that are not saved. */
export function isChanged(file: OpenFile | undefined): boolean {
  return file !== undefined && file.text !== file.saved;
}
