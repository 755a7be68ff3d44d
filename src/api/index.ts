// Every resource of the HTTP API.
import type { ledgerApi } from './ledger.ts';
import type { modelsApi } from './models.ts';

/** By resource; types only, so that clients load nothing. */
export interface Api {
  readonly ledger: typeof ledgerApi;
  readonly models: typeof modelsApi;
}

export type { ApiInput, ApiResponse, ApiRoute, ApiTransport } from './client.ts';
export { callApi } from './client.ts';
