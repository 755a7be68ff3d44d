// Errors keep their meaning on their way to another process.
import { expect, it } from 'vitest';
import { CoreError, HeadworksError, kindOf } from '../../core/index.ts';
import { GatewayError } from '../../gateway/index.ts';
import { SqlError } from '../../platform/postgres/sql.ts';
import { receivedError, sentError } from './protocol.ts';

const passedOn = (error: unknown): Error => receivedError(structuredClone(sentError(error)));

it('keeps class, code, retryability and details of an error of the server', () => {
  const options = { isRetryable: true, retryAfterMs: 1_500, details: { shortage: 'disk' } };
  const error = passedOn(new CoreError('STATE_UNAVAILABLE', 'Postgres is down.', options));
  expect(error).toBeInstanceOf(CoreError);
  expect(error).toMatchObject({ code: 'STATE_UNAVAILABLE', message: 'Postgres is down.', ...options });
});

it('keeps code and name of errors of a domain and of the database', () => {
  const exists = passedOn(new GatewayError('GATEWAY_MODEL_EXISTS', 'There is one.'));
  expect(exists).toBeInstanceOf(HeadworksError);
  expect(exists).toMatchObject({ name: 'GatewayError', code: 'GATEWAY_MODEL_EXISTS', isRetryable: false });
  expect(kindOf(passedOn(new SqlError({ message: 'duplicate', sqlState: '23505' })))).toBe('23505');
  expect(kindOf(passedOn('text'))).toBe('Error');
});
