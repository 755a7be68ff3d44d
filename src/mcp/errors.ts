// Error texts for models: what happened and what to do next. Never a stack trace or internals.
import { HeadworksError } from '../core/index.ts';

/** Added where the message of the API addresses a person at a terminal. */
const advice: Readonly<Record<string, string>> = {
  UNAUTHENTICATED:
    'You cannot fix this: tell the user that this connection needs a valid key (HEADWORKS_API_KEY for headworks mcp).',
  FORBIDDEN: 'You cannot fix this: tell the user that the key of this connection has no access to it.',
  SERVER_UNREACHABLE: 'Tell the user if it persists.',
};

const howToSend = / Send [^.]* in the Authorization header[^.]*\./;

/** Without the sentence about the Authorization header: a model or a stdio client does not send it itself. */
export const withoutHeader = (message: string): string => message.replace(howToSend, '');

export const unexpectedError =
  'An unexpected error occurred inside Headworks, not because of your input. Repeating the call is unlikely to help; tell ' +
  'the user, whose log has a line about it.';

/** Null for an unexpected error: then `unexpectedError` is the text. */
export function errorText(error: unknown): string | null {
  if (!(error instanceof HeadworksError)) return null;
  const { code, message, retryAfterMs } = error;
  return [
    withoutHeader(message),
    advice[code],
    retryAfterMs === undefined ? undefined : `Try again in ${Math.max(1, Math.ceil(retryAfterMs / 1000))} s.`,
    `(${code})`,
  ]
    .filter((part) => part !== undefined)
    .join(' ');
}
