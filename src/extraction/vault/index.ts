// The vault: one SQLite file with what a source holds, how it changed, and how it was read.
export { canonicalJson, parseJson } from './canonical-json.ts';
export { chooseVault, vaultName, withVault } from './vault-service.ts';
export type { VaultChoice } from './vault-service.ts';
export { diffSessions, goneItems, nameWithSource, typeOfItem, vaultNameOf } from './diff.ts';
export type { ItemChange } from './diff.ts';
export { exportVault } from './export.ts';
export { pruneVault } from './prune.ts';
export { openVaultReader } from './reader.ts';
export type { DeadLetter, ItemRecord, VaultReader } from './reader.ts';
export { verifyVault } from './verify.ts';
export type { VerifyReport } from './verify.ts';
