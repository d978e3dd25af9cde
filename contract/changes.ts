// The difference to git's HEAD or, without git, to the files at the start of the session.
// GET  /changes                    Changes
// GET  /changes/original?path=     the bytes before the change; 404 for an added file
// POST /changes/revert {path}      restores a file, or deletes an added one. 204
export interface Changes {
  base: "git" | "start" | "none";
  // For people: "HEAD (main)" or "the session's start".
  baseName: string;
  changes: Change[];
  truncated: boolean;
}

export interface Change {
  path: string;
  kind: "added" | "modified" | "deleted";
  // Present for text files that are small enough to count.
  linesAdded?: number;
  linesDeleted?: number;
}
