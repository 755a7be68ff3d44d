// Postgres inside this process.
export {
  openEmbeddedDatabase,
  type EmbeddedDatabaseOptions,
  type EmbeddedLocation,
} from './embedded-store.ts';
