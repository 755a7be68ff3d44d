// The vault: one SQLite file with what a source holds, how it changed, and how it was read.
export { canonicalJson, parseJson } from './canonical-json.ts';
export type { FieldChange } from './diff.ts';
export { contentHash } from './page-writer.ts';
export type { DeadLetter, ItemRecord, SessionRecord, TypeRecord, VersionRecord } from './reader.ts';
export { chooseVault, vaultName, withVault, type VaultChoice } from './choose-vault.ts';
export { diffSessions, type ItemChange } from './diff.ts';
export { exportVault, type ExportReport } from './export.ts';
export { openVault, type OpenVaultOptions, type Vault } from './sessions.ts';
export { pruneVault, type PruneOptions, type PruneReport, type PruneRule } from './prune.ts';
export { goneItems, nameWithSource, typeOfItem, vaultNameOf } from './missing-items.ts';
export { PageWriter } from './page-writer.ts';
export { readResumable } from './session-state.ts';
export { openVaultReader, type ItemQuery, type VaultReader } from './reader.ts';
export { verifyVault, type VaultProblem, type VerifyReport } from './verify.ts';
