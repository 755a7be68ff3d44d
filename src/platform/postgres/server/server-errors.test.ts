import { describe, expect, it } from 'vitest';
import { CoreError } from '../../../core/errors.ts';
import { SqlError } from '../sql.ts';
import { translateConnectError, translateError } from './server-errors.ts';

const target = '127.0.0.1:5432, database x, user y';
const fromPostgres = (code: string, message = 'said Postgres') =>
  Object.assign(new Error(message), { code, severity: 'ERROR', detail: 'Key (a)=(content) exists.' });
const fromNode = (code: string) => Object.assign(new Error(''), { code });

describe('translateError', () => {
  it.each(['08006', '08P01', '57P01', '57P02', '57P03', '53300'])(
    'translates %s to STATE_UNAVAILABLE',
    (code) => {
      expect(translateError(fromPostgres(code), target)).toMatchObject({
        code: 'STATE_UNAVAILABLE',
        isRetryable: true,
      });
    },
  );

  it.each(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EHOSTUNREACH'])(
    'translates %s to STATE_UNAVAILABLE with the name of the server',
    (code) => {
      const error = translateError(fromNode(code), target);
      expect(error).toMatchObject({ code: 'STATE_UNAVAILABLE', retryAfterMs: 1000 });
      expect((error as Error).message).toContain(code);
    },
  );

  it.each([
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'timeout expired',
    'Query read timeout',
    'Client has encountered a connection error and is not queryable',
  ])('translates "%s" to STATE_UNAVAILABLE', (message) => {
    expect(translateError(new Error(message), target)).toMatchObject({ code: 'STATE_UNAVAILABLE' });
  });

  it('distinguishes a stopped statement from an idle transaction', () => {
    expect(translateError(fromPostgres('57014'), target)).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(translateError(fromPostgres('25P03'), target)).toMatchObject({ code: 'STATE_LEASE_EXPIRED' });
  });

  it('keeps an error of a statement, without the row content', () => {
    const error = translateError(fromPostgres('23505'), target);
    expect(error).toBeInstanceOf(SqlError);
    expect(error).toMatchObject({ sqlState: '23505', message: 'said Postgres' });
    expect(JSON.stringify(error)).not.toContain('content');
  });

  it('passes on unrelated errors', () => {
    const bug = new TypeError('a bug');
    const ours = new CoreError('STATE_LEASE_EXPIRED', 'ours');
    expect([translateError(bug, target), translateError(ours, target)]).toEqual([bug, ours]);
  });
});

describe('translateConnectError', () => {
  it.each([
    [fromPostgres('28P01'), 'percent-encoded'],
    [fromPostgres('28000'), 'pg_hba.conf'],
    [fromPostgres('3D000'), 'CREATE DATABASE'],
    [fromPostgres('42501', 'permission denied for database "x"'), 'GRANT CONNECT'],
    [new Error('The server does not support SSL connections'), 'sslmode'],
    [new Error('self-signed certificate in certificate chain'), 'sslmode'],
    [
      new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'),
      'Put the password into',
    ],
    [new Error('something never seen'), 'PostgreSQL server'],
  ])('has a remedy for %s', (error, remedy) => {
    const translated = translateConnectError(error, target);
    expect(translated).toMatchObject({ code: 'STATE_UNUSABLE', isRetryable: false });
    expect(translated.message).toContain(remedy);
  });
});
