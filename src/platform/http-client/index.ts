// Transports: how we reach other people's servers.
export type {
  InMemoryAnswer,
  InMemoryHandler,
  InMemoryRequest,
  InMemoryTransportOptions,
} from './in-memory-transport.ts';
export { createInMemoryTransport } from './in-memory-transport.ts';
export type { UndiciTransportOptions } from './undici-transport.ts';
export { createUndiciTransport } from './undici-transport.ts';
