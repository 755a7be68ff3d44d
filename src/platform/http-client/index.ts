// Transports: how we reach other people's servers.
export { isPrivateAddress, isPrivateHost } from './addresses.ts';
export type { UndiciTransportOptions } from './undici-transport.ts';
export { createUndiciTransport } from './undici-transport.ts';
export { createWebhookTransport } from './webhook-transport.ts';
