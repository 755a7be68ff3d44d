// Calling: reading what is asked, and asking one provider.
export type { ProviderClientOptions } from './provider-client.ts';
export { createProviderClient } from './provider-client.ts';
export { anyModel, parseRequest } from './read-ask.ts';
