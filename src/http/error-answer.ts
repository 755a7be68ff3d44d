// Turns anything that was thrown into the one shape of our error answers.
import type { FastifyError } from 'fastify';
import { CoreError, HeadworksError, plainValue } from '../core/index.ts';
import type { KnownErrorCode } from './error-mapping.ts';
import { errorMapping, isKnownErrorCode } from './error-mapping.ts';
import { HttpError } from './errors.ts';
import type { ErrorResponse } from '../api/fields.ts';
import { snakeCase } from './snake-case.ts';

export interface AnsweredError {
  readonly status: number;
  readonly body: ErrorResponse;
  /** Seconds, whole: what the Retry-After header can say. */
  readonly retryAfterHeader: string | undefined;
  /** A bug of ours: its message stays inside, the log tells it. */
  readonly isUnexpected: boolean;
}

/** Never throws, whatever it is given. Messages of status 500 do not leave the house. */
export function answerTo(thrown: unknown, requestId: string): AnsweredError {
  const error = recognised(thrown);
  const rule = errorMapping[error.code];
  const isUnexpected = rule.status === 500;
  const retryAfterMs = error.retryAfterMs ?? rule.retryAfterMs;
  const details = isUnexpected ? {} : error.details;
  return {
    status: rule.status,
    isUnexpected,
    retryAfterHeader:
      retryAfterMs === undefined ? undefined : String(Math.max(1, Math.ceil(retryAfterMs / 1000))),
    body: {
      error: {
        code: error.code,
        message: isUnexpected
          ? `Something went wrong on our side. The log has a line with request id ${requestId}.`
          : error.message,
        request_id: requestId,
        ...(retryAfterMs === undefined ? {} : { retry_after_seconds: Math.max(retryAfterMs, 0) / 1000 }),
        ...(Object.keys(details).length === 0
          ? {}
          : { details: snakeCase(plainValue(details)) as Record<string, unknown> }),
      },
    },
  };
}

/** Their messages name addresses, users and folders of the house. */
const ofTheHouse = /^(STATE|REDIS|SQLITE|DATA_FOLDER)_/;

/** What those outside hear of a store that is away: that it is, and when to come back. The log tells the rest. */
export function forStrangers(thrown: unknown): unknown {
  if (!(thrown instanceof CoreError) || !ofTheHouse.test(thrown.code)) return thrown;
  const { code, isRetryable, retryAfterMs } = thrown;
  return new CoreError(code, 'A store of this server is away.', {
    isRetryable,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    cause: thrown,
  });
}

function recognised(thrown: unknown): HeadworksError<KnownErrorCode> {
  if (thrown instanceof HeadworksError)
    return isKnownErrorCode(thrown.code)
      ? (thrown as HeadworksError<KnownErrorCode>)
      : new CoreError('INTERNAL', thrown.message, { cause: thrown });
  if (thrown instanceof Error) return fromFramework(thrown as FastifyError);
  return new CoreError('INTERNAL', 'Something was thrown that is not an error.');
}

function fromFramework(error: FastifyError): HeadworksError<KnownErrorCode> {
  if (error.validation) return invalidInput(error);
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new HttpError('HTTP_BODY_TOO_LARGE', 'The request body is too large. Send less at once.');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new HttpError(
        'HTTP_CONTENT_TYPE_UNSUPPORTED',
        'The request body is of a type that is not read here. Send JSON with content-type: application/json.',
      );
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new CoreError('INPUT_INVALID', 'A part of the path is longer than any name or id can be.');
    case 'FST_ERR_HANDLER_TIMEOUT':
      return new CoreError(
        'DEADLINE_EXCEEDED',
        'The answer took too long and was given up. Try again later.',
        {
          isRetryable: true,
        },
      );
    default:
      break;
  }
  // Everything else the framework blames on the caller: malformed JSON, forbidden keys, wrong lengths, bad URLs.
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return new CoreError('INPUT_INVALID', `The request cannot be read: ${error.message}`);
  return new CoreError('INTERNAL', error.message, { cause: error });
}

const places: Readonly<Record<string, string>> = {
  body: 'body',
  querystring: 'query',
  params: 'path',
  headers: 'headers',
};

/** Names every field that is wrong, all at once. */
function invalidInput(error: FastifyError): CoreError {
  const place = places[error.validationContext ?? ''] ?? 'request';
  const problems = (error.validation ?? []).flatMap(({ instancePath, message = 'is invalid', params }) => {
    const path = [place, ...instancePath.split('/').filter((part) => part !== '')].join('.');
    const strangers = Array.isArray(params['keys']) ? (params['keys'] as unknown[]).map(String) : [];
    if (strangers.length === 0) return [{ field: path, message }];
    return strangers.map((stranger) => ({ field: `${path}.${stranger}`, message }));
  });
  return invalidFields(problems);
}

/** The request is refused because of these. */
export function invalidFields(
  problems: readonly { readonly field: string; readonly message: string }[],
): CoreError {
  const list = problems.map(({ field, message }) => `${field}: ${message}`).join('; ');
  return new CoreError('INPUT_INVALID', `The request is invalid. ${list.replace(/\.$/, '')}.`, {
    details: { problems },
  });
}
