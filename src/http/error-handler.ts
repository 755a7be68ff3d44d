// Sends error responses: of handlers, of the framework, and for malformed HTTP.
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IdSource, Log, Redactor } from '../core/index.ts';
import { CoreError, kindOf } from '../core/index.ts';
import { HttpError, toErrorResponse, redactStoreErrors } from './errors.ts';
import { openAiErrorOf } from './openai/openai-error.ts';

/** Errors below it have OpenAI's shape, unknown paths included. */
const isOpenAiPath = (url: string): boolean => /^\/v1(?:[/?]|$)/.test(url);

/** For fastify's setErrorHandler and frameworkErrors. */
export function createErrorHandler(redactor: Redactor, log: Log) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const error = request.caller?.kind === 'admin' ? thrown : redactStoreErrors(thrown);
    const { status, body, headers, isUnexpected } = isOpenAiPath(request.url)
      ? openAiErrorOf(error, request.id)
      : ourErrorOf(error, request.id);
    if (isUnexpected)
      log.error('a request failed unexpectedly', {
        requestId: request.id,
        method: request.method,
        route: request.routeOptions.url ?? 'unmatched',
        error,
      });
    void reply
      .code(status)
      .headers(headers)
      .header('x-request-id', request.id)
      .type('application/json; charset=utf-8')
      // As text: a response schema of the route must not turn a 400 into a 500.
      .send(JSON.stringify(redactor.value(body)));
  };
}

function ourErrorOf(error: unknown, requestId: string) {
  const { retryAfterHeader, ...answer } = toErrorResponse(error, requestId);
  return { ...answer, headers: retryAfterHeader === undefined ? {} : { 'retry-after': retryAfterHeader } };
}

/** For what the parser refuses before there is a request: answers in JSON and hangs up. */
export function createClientErrorHandler(ids: IdSource) {
  return (error: Error, socket: Socket): void => {
    if (!socket.writable || kindOf(error) === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const { status, body } = toErrorResponse(refusalFor(error), ids.uuid());
    const text = JSON.stringify(body);
    socket.end(
      `HTTP/1.1 ${status} ${status === 408 ? 'Request Timeout' : 'Bad Request'}\r\n` +
        `content-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(text)}\r\n` +
        `x-request-id: ${body.error.request_id}\r\nconnection: close\r\n\r\n${text}`,
    );
  };
}

function refusalFor(error: Error): CoreError | HttpError {
  switch (kindOf(error)) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new HttpError('HTTP_REQUEST_TOO_SLOW', 'The request did not arrive completely in time.');
    case 'HPE_HEADER_OVERFLOW':
      return new HttpError(
        'HTTP_HEADERS_TOO_LARGE',
        'The request line and headers are too large. Send less.',
      );
    default:
      return new CoreError('INPUT_INVALID', 'This is not a valid HTTP request.');
  }
}
