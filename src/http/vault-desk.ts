// Looking into the vault of a run. Nothing is written, and only vaults that runs have named are opened.
import type { DeadLetter, ItemRecord, TypeRecord, VersionRecord } from '../extraction/index.ts';

export interface VaultService {
  /** All fail with NOT_FOUND when the run is not known, or its vault is not on this machine. */
  summary(run: string): Promise<{
    readonly types: readonly TypeRecord[];
    /** Pages that did not come, each once, newest first, at most 200. */
    readonly deadLetters: readonly DeadLetter[];
  }>;
  /** In the order of their ids. */
  items(
    run: string,
    query: { readonly type: string; readonly after: string; readonly limit: number },
  ): Promise<readonly ItemRecord[]>;
  item(
    run: string,
    type: string,
    id: string,
  ): Promise<{ readonly item: ItemRecord; readonly versions: readonly VersionRecord[] }>;
  /** JSON text, indented; null for a version in which the item was gone. */
  data(run: string, type: string, id: string, version: number | null): Promise<string | null>;
}
