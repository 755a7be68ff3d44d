// What undici and the socket say went wrong, in the four words of the core port.
import type { HttpFailureKind } from '../../core/index.ts';
import { HttpFailure, kindOf } from '../../core/index.ts';

const kinds: Readonly<Record<string, HttpFailureKind>> = {
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  ETIMEDOUT: 'timeout',
  UND_ERR_ABORTED: 'aborted',
  UND_ERR_DESTROYED: 'aborted',
  UND_ERR_CLOSED: 'aborted',
};

/** Everything that has no better name (refused, reset, cut short, TLS, not HTTP) is "network". */
export function failureFrom(error: unknown, label: string): HttpFailure {
  if (error instanceof HttpFailure) return error;
  const code = kindOf(error);
  const kind = kinds[code] ?? 'network';
  return new HttpFailure(kind, `${label} failed: ${words[kind]} (${code}).`, error);
}

const words: Readonly<Record<HttpFailureKind, string>> = {
  timeout: 'no answer in time',
  network: 'no usable answer came',
  'too-large': 'the answer is too large',
  aborted: 'it was stopped on our side',
};
