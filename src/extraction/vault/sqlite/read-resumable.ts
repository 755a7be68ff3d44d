// What a run would find in a vault, without writing to it.
import { existsSync } from 'node:fs';
import type { SessionSpec, TypeProgress } from '../../ports.ts';
import { readProgress } from './progress.ts';
import { findResumable } from './resumable.ts';
import { onFile, openVaultFileReadOnly } from './vault-file.ts';
import { requireSource } from './vault-source.ts';

/** Of the session that it would go on with; empty where it would begin. Fails as `openVault` does, but for a missing file. */
export function readResumable(path: string, spec: SessionSpec): readonly TypeProgress[] {
  if (spec.fresh === true || !existsSync(path)) return [];
  const db = openVaultFileReadOnly(path);
  try {
    return onFile(path, () => {
      requireSource(db, path, spec.source);
      const there = findResumable(db, spec);
      const progress = there ? readProgress(db, there.number, spec.types) : [];
      return spec.retryFailed ? progress.map(withoutFailures) : progress;
    });
  } finally {
    db.close();
  }
}

const withoutFailures = (progress: TypeProgress): TypeProgress => ({
  ...progress,
  done: progress.done.filter(({ rejectedCount }) => rejectedCount === 0),
  failed: [],
});
