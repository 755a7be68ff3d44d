// Postgres inside this process.
export {
  openEmbeddedDatabase,
  type EmbeddedDatabaseOptions,
  type EmbeddedLocation,
} from './open-embedded-database.ts';
