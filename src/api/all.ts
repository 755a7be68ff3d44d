// Every resource of the HTTP API, by name. Types only, so that clients load nothing.
import type { ledgerApi } from './ledger.ts';
import type { modelsApi } from './models.ts';

export interface Api {
  readonly ledger: typeof ledgerApi;
  readonly models: typeof modelsApi;
}
