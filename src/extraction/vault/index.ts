// The vault: one SQLite file with what a source holds, how it changed, and how it was read.
export { canonicalJson, parseJson } from './canonical-json.ts';
export { chooseVault, vaultName, withVault } from './choose-vault.ts';
export type { VaultChoice } from './choose-vault.ts';
export { diffSessions } from './diff.ts';
export type { ItemChange } from './diff.ts';
export { exportVault } from './export.ts';
export { goneItems, nameWithSource, typeOfItem, vaultNameOf } from './missing-items.ts';
export { PageWriter } from './page-writer.ts';
export { pruneVault } from './prune.ts';
export { openVaultReader } from './reader.ts';
export type { DeadLetter, ItemRecord, VaultReader } from './reader.ts';
export { verifyVault } from './verify.ts';
export type { VerifyReport } from './verify.ts';
