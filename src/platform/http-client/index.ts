// Transports: how we reach other people's servers.
export type {
  InMemoryAnswer,
  InMemoryHandler,
  InMemoryRequest,
  InMemoryTransportOptions,
} from './in-memory-transport.ts';
export { createInMemoryTransport } from './in-memory-transport.ts';
export { isPrivateAddress, isPrivateHost } from './private-address.ts';
export type { UndiciTransportOptions } from './undici-transport.ts';
export { createUndiciTransport } from './undici-transport.ts';
