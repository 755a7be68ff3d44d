// How every connection to the server is made and set up.
import { Client, type ClientConfig } from 'pg';
import { CoreError } from '../../../core/errors.ts';
import { identifier } from '../sql.ts';
import { parserOf } from '../values.ts';

export interface ConnectionSettings {
  readonly url: string;
  readonly schema: string;
  readonly statementTimeoutMs: number;
  readonly connectTimeoutMs: number;
}

/** A transaction that waits this long for its own process is rolled back by the server, should we hang. */
const idleInTransactionMs = 60_000;

export function clientConfig(settings: ConnectionSettings): ClientConfig {
  if (!/^postgres(ql)?:\/\//.test(settings.url))
    throw new CoreError(
      'STATE_UNUSABLE',
      'The database URL does not begin with postgres://. It should look like postgres://host:5432/database, with user:password@ before the host.',
    );
  return {
    connectionString: settings.url,
    application_name: 'headworks',
    connectionTimeoutMillis: settings.connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser: (oid: number) => parserOf(oid) },
  };
}

/** Sent as SET after connecting: as start-up parameters they would get lost behind connection poolers. */
export function sessionSetup(settings: ConnectionSettings): string {
  const schema = identifier(settings.schema).compile().text;
  return [
    `set search_path = ${schema}, public`,
    `set timezone = 'UTC'`,
    `set datestyle = 'ISO'`,
    `set intervalstyle = 'postgres'`,
    `set bytea_output = 'hex'`,
    `set jit = off`,
    `set client_min_messages = warning`,
    `set statement_timeout = ${Math.ceil(settings.statementTimeoutMs)}`,
    `set idle_in_transaction_session_timeout = ${idleInTransactionMs}`,
  ].join('; ');
}

/** Where we connect to and as whom, without the password. */
export function describeTarget(settings: ConnectionSettings): string {
  const { host, port, database, user } = new Client(clientConfig(settings));
  return `${host}:${port}, database ${database}, user ${user}`;
}
