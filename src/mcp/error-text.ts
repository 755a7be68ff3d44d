// Error text for models: what happened and what to do next. Never a stack trace or internals.
import { HeadworksError } from '../core/index.ts';

/** Where the API speaks to people at a terminal, what a model can do. */
const advice: Readonly<Record<string, string>> = {
  UNAUTHENTICATED:
    'You cannot fix this: tell the user that this connection needs a valid key (HEADWORKS_API_KEY, where it is ' +
    'headworks mcp).',
  FORBIDDEN: 'You cannot fix this: tell the user that the key of this connection has no access to it.',
  SERVER_UNREACHABLE: 'Tell the user if it stays so.',
};

/** The sentence of the API that tells programs how credentials travel. */
const howToSend = / Send [^.]* in the Authorization header[^.]*\./;

/** For whom somebody else sends them. */
export const withoutHeader = (message: string): string => message.replace(howToSend, '');

export const unforeseen =
  'Something went wrong inside Headworks, not with your input. Doing the same again will hardly help; tell the user, ' +
  'whose log has a line about it.';

/** Null for what nobody foresaw: then `unforeseen` is all there is to say. */
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
