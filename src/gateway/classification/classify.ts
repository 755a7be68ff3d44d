// What kind of failure a call to a model met. The kernel knows HTTP; this adds what only models' providers say.
import type { HttpFailure } from '../../core/index.ts';
import type { FailureKind, ErrorResponse, RetryHint } from '../../resilience/index.ts';
import { classifyHttpFailure } from '../../resilience/index.ts';
import type { FailureClass } from '../failure-classes.ts';
import { failureRules } from '../failure-classes.ts';
import type { ErrorBody } from './error-body.ts';
import { readErrorBody } from './error-body.ts';
import { providerErrorRules } from './spoken-rules.ts';

export interface ClassifiedFailure {
  readonly failureClass: FailureClass;
  /** What the provider answered; for an error inside a 200, the status that it names. Null when no answer came. */
  readonly status: number | null;
  readonly hint: RetryHint | undefined;
  /** The provider's own sentence where the request is at fault: not yet redacted, not blank. Else null. */
  readonly sentence: string | null;
}

const classOfKind: Readonly<Record<FailureKind, FailureClass>> = {
  'rate-limit': 'rate-limit',
  'server-error': 'server-error',
  timeout: 'timeout',
  network: 'network',
  authentication: 'authentication',
  payment: 'payment',
  validation: 'validation',
  'not-found': 'not-found',
  malformed: 'invalid-response',
  canceled: 'canceled',
};

/** No answer came. */
export function classifyFailure(failure: HttpFailure): ClassifiedFailure {
  const { kind } = classifyHttpFailure(failure, 0);
  return { failureClass: classOfKind[kind], status: null, hint: undefined, sentence: null };
}

/** An answer that refuses, or an error in the body of a 200. `now` in epoch milliseconds; pure, never throws. */
export function classifyAnswer(answer: ErrorResponse, now: number): ClassifiedFailure {
  const body = readErrorBody(answer.body);
  const claimed = answer.status < 300 && body.isJson ? (claimedStatus(body) ?? 500) : answer.status;
  const { kind, hint } = classifyHttpFailure({ ...answer, status: claimed }, now);
  const failureClass = spokenClass(claimed, kind, body) ?? classOfKind[kind];
  const isCallersFault = failureRules[failureClass].isCallersFault;
  return {
    failureClass,
    status: isCallersFault && claimed >= 500 ? 400 : claimed,
    hint,
    sentence: isCallersFault ? sentenceOf(body) : null,
  };
}

/** Characters that steer a terminal, or turn the order of what follows, are no part of a sentence. */
const steering = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;

function sentenceOf({ messages }: ErrorBody): string | null {
  return messages.map((message) => message.replace(steering, ' ').trim()).find((text) => text !== '') ?? null;
}

/** The status that an error inside a 200 stands for. */
function claimedStatus({ status, codes }: ErrorBody): number | undefined {
  if (status !== undefined) return status;
  if (codes.has('invalid_request_error') || codes.has('invalid_argument')) return 400;
  return codes.has('authentication_error') || codes.has('unauthenticated') ? 401 : undefined;
}

function spokenClass(status: number, kind: FailureKind, body: ErrorBody): FailureClass | undefined {
  if (status === 405) return 'not-found';
  for (const rule of providerErrorRules) {
    if (!rule.kinds.has(kind)) continue;
    if (rule.statuses?.has(status)) return rule.failureClass;
    for (const code of rule.codes) if (body.codes.has(code)) return rule.failureClass;
    if (rule.prose && body.messages.some((message) => rule.prose?.test(message))) return rule.failureClass;
  }
  return undefined;
}
