// A source whose failures tell no secret: their messages are stored in the vault, shown and sent.
import { FetchError } from '../errors.ts';
import type { Source } from '../types.ts';

/** Redacted before it is cut: half a secret would not be recognised. */
const longestMessage = 500;

/** `redact` takes out every secret that is known by then, tokens of logins included. */
export function redactedSource(source: Source, redact: (text: string) => string): Source {
  return {
    name: source.name,
    limiterKey: source.limiterKey,
    ...(source.secrets ? { secrets: source.secrets } : {}),
    get types() {
      return source.types;
    },
    connect: (signal, onWait) => source.connect(signal, (why, waitMs) => onWait?.(redact(why), waitMs)),
    close: () => source.close(),
    async fetch(request, signal, onSent) {
      try {
        return await source.fetch(request, signal, onSent);
      } catch (error) {
        if (!(error instanceof FetchError)) throw error;
        const message = redact(error.message);
        const told = message.length > longestMessage ? `${message.slice(0, longestMessage)}…` : message;
        throw new FetchError(error.failure, told, error);
      }
    },
  };
}
