// Where things are in the data folder, for what several domains and operations share.
import { join } from 'node:path';

/** The files of the embedded store. */
export const stateFolder = (dataFolder: string): string => join(dataFolder, 'state');

/** Default folder of extraction vaults. */
export const vaultsFolder = (dataFolder: string): string => join(dataFolder, 'vaults');

/** The secret from which webhook signing secrets are derived, where none is configured. */
export const webhookSecretPath = (dataFolder: string): string => join(dataFolder, 'webhook-secret');
