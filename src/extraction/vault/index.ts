// The vault: one SQLite file with what a source holds, how it changed, and how it was read.
export { canonicalJson, parseJson } from './canonical-json.ts';
export type { FieldChange } from './compare-json.ts';
export { contentHash } from './content-hash.ts';
export type { DeadLetter, ItemRecord, SessionRecord, TypeRecord, VersionRecord } from './records.ts';
export { diffSessions, type ItemChange } from './sqlite/diff-sessions.ts';
export { exportVault, type ExportReport } from './sqlite/export-vault.ts';
export { openVault, type OpenVaultOptions, type Vault } from './sqlite/open-vault.ts';
export { pruneVault, type PruneOptions, type PruneReport, type PruneRule } from './sqlite/prune-vault.ts';
export { openPageWriter, type PageWriterOptions } from './sqlite/sqlite-page-writer.ts';
export { readResumable } from './sqlite/read-resumable.ts';
export { openVaultReader, type ItemQuery, type VaultReader } from './sqlite/vault-reader.ts';
export { verifyVault, type VaultProblem, type VerifyReport } from './sqlite/verify-vault.ts';
