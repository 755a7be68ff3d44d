// The channel on which processes of one installation hear of changes: channels belong to the whole database.
import type { Database } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { GatewayTopic } from '../state/change-feed.ts';

/** A schema has at most 50 characters, a channel 63. */
export const changesChannel = (schema: string): string => `${schema}_gateway`;

/** A column for the end of a statement: its rows are told to everybody when, and only if, the statement commits. */
export const tell = ({ schema }: Pick<Database, 'schema'>, topic: GatewayTopic): Sql =>
  sql`pg_notify(${changesChannel(schema)}, ${topic})`;
