// What a run would find in a vault, without extracting into it, nor bringing an older one up to date.
import { existsSync } from 'node:fs';
import type { SessionSpec, TypeProgress } from '../../ports.ts';
import { readProgress } from './progress.ts';
import { findResumable } from './resumable.ts';
import { onFile, openVaultFileAsItIs } from './vault-file.ts';
import { requireSource } from './vault-source.ts';

export interface FoundInVault {
  /** Of the session that it would go on with; empty where it would begin. */
  readonly progress: readonly TypeProgress[];
  /** As `OpenSession.redefined`. */
  readonly redefined: readonly string[];
}

const nothing: FoundInVault = { progress: [], redefined: [] };

/** Fails as `openVaultReader` and `openVault` do, but for a missing file. */
export function readResumable(path: string, spec: SessionSpec): FoundInVault {
  if (spec.fresh === true || !existsSync(path)) return nothing;
  const asItIs = openVaultFileAsItIs(path);
  if (!asItIs) return nothing;
  const { db } = asItIs;
  try {
    return onFile(path, () => {
      requireSource(db, path, spec.source);
      const { resumable, redefined } = findResumable(db, spec);
      const progress = resumable ? readProgress(db, resumable.number, spec.types) : [];
      return { progress: spec.retryFailed ? progress.map(withoutFailures) : progress, redefined };
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
