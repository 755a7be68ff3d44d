// Sends an error answer of the door.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDeps } from '../deps.ts';
import { doorErrorOf } from './door-error.ts';
import { sendBeforeRest } from './unread-body.ts';

/** Whether a path is the door's: errors that come before the routes are told in its shape, too. */
export const isDoorPath = (url: string): boolean => url.startsWith('/deployment/api');

export function answerDoorError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { log, redactor, clock }: Pick<ServerDeps, 'log' | 'redactor' | 'clock'>,
): void {
  const { status, headers, body, isUnexpected } = doorErrorOf(error, request.id);
  if (isUnexpected)
    log.error('a request failed in a way that nobody foresaw', {
      requestId: request.id,
      route: request.routeOptions.url ?? 'unmatched',
      error,
    });
  const text = JSON.stringify(redactor.value(body));
  void reply
    .code(status)
    .headers({ ...headers, 'x-request-id': request.id })
    .type('application/json; charset=utf-8');
  sendBeforeRest(text, request.raw, reply, clock);
}
