import type { Database, FileDraft } from '../store/database';

/** Where texts that are not saved outlive the page. */
export interface FileDrafts {
  paths(project_id: string): Promise<string[]>;
  get(project_id: string, path: string): Promise<FileDraft | undefined>;
  put(draft: FileDraft): Promise<void>;
  delete(project_id: string, path: string): Promise<void>;
}

/** Texts of files in the store of whoever is signed in when they are asked for. */
export function fileDraftsIn(storeNow: () => Database | null): FileDrafts {
  const table = () => {
    const store = storeNow();
    if (store === null) {
      throw new Error('nobody is signed in');
    }
    return store.file_drafts;
  };
  return {
    paths: async (project_id) => (await table().where({ project_id }).primaryKeys()).map(([, path]) => path),
    get: async (project_id, path) => table().get([project_id, path]),
    put: async (draft) => void (await table().put(draft)),
    delete: async (project_id, path) => table().delete([project_id, path]),
  };
}
