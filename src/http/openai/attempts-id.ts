// By which id the attempts of one request are grouped.
import type { FastifyRequest } from 'fastify';
import type { IdSource } from '../../core/index.ts';

const suffixBytes = 6;

/**
 * The request's id. Where the caller chose it, something is added that it cannot choose: a request counts once per
 * model, and a caller that gives all its requests one id would count once for ever.
 */
export function attemptsId(request: Pick<FastifyRequest, 'id' | 'headers'>, ids: IdSource): string {
  return request.headers['x-request-id'] === request.id
    ? `${request.id}/${ids.token(suffixBytes)}`
    : request.id;
}
