// The ways a call to a model can fail, and what each one means for everything that follows.

/**
 * - `rate-limit`: 429, or an answer that says as much.
 * - `server-error`, `timeout`, `network`: the provider's fault or the way's.
 * - `authentication`: this key is refused (401, 403). `payment`: it has no money or no quota (402).
 * - `validation`: the provider refuses this request (400, 422).
 * - `context-too-long`: the request is larger than this model reads.
 * - `content-refused`: the provider will not answer this content.
 * - `not-found`: the provider does not know the model.
 * - `invalid-response`: empty, or not what was asked for.
 * - `deadline-too-short`: the caller's deadline left the model much less time than it is allowed, and it did not make it.
 * - `canceled`: our caller went away, or this server stopped.
 */
export type FailureClass =
  | 'rate-limit'
  | 'server-error'
  | 'timeout'
  | 'network'
  | 'authentication'
  | 'payment'
  | 'validation'
  | 'context-too-long'
  | 'content-refused'
  | 'not-found'
  | 'invalid-response'
  | 'deadline-too-short'
  | 'canceled';

export interface FailureRule {
  /** Is the same model asked again in a later round of the same request? */
  readonly isRetried: boolean;
  /** Is the next model asked? */
  readonly fallsBack: boolean;
  /** Does it lower the model's reliability? */
  readonly countsAgainst: boolean;
  /** Is it the request that is at fault? When every model says so, the caller gets that answer. */
  readonly isCallersFault: boolean;
  /**
   * How long the key (or, for `not-found`, the model) is left alone when the answer holds no hint. `default` is
   * RATE_LIMIT_DEFAULT_COOLDOWN; 0 is not at all. A hint wins wherever `obeysHint`.
   */
  readonly cooldown: 'default' | number;
  readonly obeysHint: boolean;
  /** Whom the cooldown is for. */
  readonly cools: 'key' | 'model';
}

const hourSeconds = 3_600;

/** `satisfies` keeps the table whole: a new class without a row does not compile. */
export const failureRules = {
  'rate-limit': rule({ fallsBack: true, cooldown: 'default', obeysHint: true }),
  'server-error': rule({ isRetried: true, fallsBack: true, countsAgainst: true, obeysHint: true }),
  timeout: rule({ isRetried: true, fallsBack: true, countsAgainst: true }),
  network: rule({ isRetried: true, fallsBack: true, countsAgainst: true }),
  authentication: rule({ fallsBack: true, countsAgainst: true, cooldown: hourSeconds }),
  // The money is ours: its want says nothing of the model.
  payment: rule({ fallsBack: true, cooldown: hourSeconds, obeysHint: true }),
  validation: rule({ fallsBack: true, isCallersFault: true }),
  'context-too-long': rule({ fallsBack: true, isCallersFault: true }),
  'content-refused': rule({ fallsBack: true, isCallersFault: true }),
  'not-found': rule({ fallsBack: true, countsAgainst: true, cooldown: hourSeconds, cools: 'model' }),
  'invalid-response': rule({ isRetried: true, fallsBack: true, countsAgainst: true }),
  'deadline-too-short': rule({ isRetried: true, fallsBack: true }),
  canceled: rule({}),
} as const satisfies Readonly<Record<FailureClass, FailureRule>>;

/** Has a request that ends so failed by something that may pass and is the model's own? Several in a row make it rest. */
export function isTransientModelFault(failureClass: FailureClass): boolean {
  const { isRetried, countsAgainst } = failureRules[failureClass];
  return isRetried && countsAgainst;
}

function rule(differing: Partial<FailureRule>): FailureRule {
  return {
    isRetried: false,
    fallsBack: false,
    countsAgainst: false,
    isCallersFault: false,
    cooldown: 0,
    obeysHint: false,
    cools: 'key',
    ...differing,
  };
}
