// The codes and sentences by which providers say what HTTP has no status for, as a table.
import type { FailureKind } from '../../resilience/index.ts';
import type { FailureClass } from '../failure-classes.ts';

export interface ProviderErrorRule {
  readonly failureClass: FailureClass;
  /** Only where the kernel saw one of these. */
  readonly kinds: ReadonlySet<FailureKind>;
  readonly statuses?: ReadonlySet<number>;
  /** In lower case. */
  readonly codes: readonly string[];
  readonly prose?: RegExp;
}

const refusals: ReadonlySet<FailureKind> = new Set(['validation', 'authentication', 'not-found']);
const requestAtFault: ReadonlySet<FailureKind> = new Set(['validation']);
/** A code is clear enough to be believed whatever the status. */
const anything: ReadonlySet<FailureKind> = new Set([...refusals, 'server-error', 'malformed', 'payment']);

/** The first that fits counts. */
export const providerErrorRules: readonly ProviderErrorRule[] = [
  {
    // OpenAI and Groq refuse what is larger than a whole minute's tokens like a rate limit; no waiting makes it fit.
    failureClass: 'context-too-long',
    kinds: new Set(['rate-limit']),
    codes: [],
    prose: /\brequest too large\b|\btokens must be reduced\b|\breduce your message size\b/i,
  },
  {
    failureClass: 'payment',
    kinds: refusals,
    codes: [
      'insufficient_quota',
      'insufficient_balance',
      'not_enough_balance',
      'billing_hard_limit_reached',
      'billing_not_active',
    ],
    prose:
      /\bcredit balance is too low\b|\b(?:insufficient|not enough) (?:account )?(?:balance|credits?|funds)\b|\baccount (?:is |has been )?suspended\b/i,
  },
  {
    failureClass: 'context-too-long',
    kinds: anything,
    statuses: new Set([413]),
    codes: [
      'context_length_exceeded',
      'tokens_limit_reached',
      'max_tokens_per_request',
      'request_too_large',
      'exceed_context_size_error',
      'context_window_exceeded',
      'string_above_max_length',
    ],
  },
  {
    failureClass: 'content-refused',
    kinds: anything,
    codes: [
      'content_filter',
      'content_policy_violation',
      'responsibleaipolicyviolation',
      'moderation_blocked',
      'moderation',
      'data_inspection_failed',
      'prohibited_content',
      'safety',
    ],
  },
  {
    failureClass: 'not-found',
    kinds: anything,
    codes: [
      'model_not_found',
      'model_decommissioned',
      'invalid_model',
      'unknown_model',
      'model_not_supported',
    ],
  },
  {
    // Gemini answers 400 to a wrong key; Groq 400 until somebody accepts a model's terms.
    failureClass: 'authentication',
    kinds: requestAtFault,
    codes: ['invalid_api_key', 'api_key_invalid', 'model_terms_required'],
    prose: /\b(?:api key not valid|(?:incorrect|invalid) api key|api key expired)\b/i,
  },
  {
    failureClass: 'content-refused',
    kinds: new Set(['validation', 'authentication']),
    codes: [],
    prose:
      /\bcontent (?:management )?policy\b|\bcontent[ _-]filter|\bmoderation\b.*\bflagged\b|\bflagged\b.*\b(?:moderation|policy)\b|\bsafety system\b|\bcontent exists risk\b|\binappropriate content\b/is,
  },
  {
    failureClass: 'context-too-long',
    kinds: requestAtFault,
    codes: [],
    prose:
      /\b(?:max(?:imum)?|exceeds?|exceed(?:ed|s)?) (?:the |this model |this model's |available )*context (?:length|window|size)|\bcontext (?:length|window|size)(?: limit)? (?:is |was )?exceeded|\bexceed(?:s|ed)? (?:the |this |its |available |model(?:'s)? |maximum )*(?:context|input length)|\binput token count\b.*\bexceeds|\btoo many (?:input |prompt )?tokens\b|\b(?:prompt|input|request)(?: body)? (?:is |was )?too (?:long|large)\b|\breduce the length of\b|\btokens\b.*\bmust be <=? ?\d|\btoo large for model\b/is,
  },
  {
    failureClass: 'not-found',
    kinds: requestAtFault,
    codes: [],
    prose:
      /\bnot a valid model id\b|\bno such model\b|\binvalid model\b|\bmodel\b.{0,120}\b(?:does not exist|not found|has been decommissioned)\b/is,
  },
  {
    // OpenRouter: the model is there, but nobody runs it with what is asked for. No reason to leave it alone.
    failureClass: 'validation',
    kinds: new Set(['not-found']),
    codes: [],
    prose: /\bno endpoints found that support\b/i,
  },
];
