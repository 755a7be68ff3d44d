// What of the gateway's rows goes when it is old. The app runs these beside its own.
import type { AttemptStore, UsageStore } from '../ports.ts';
import { dayOf } from './usage-meter.ts';

export interface GatewayRetentionRule {
  readonly kind: string;
  readonly describe: string;
  /** Older rows go; 0 keeps them for ever. */
  readonly keepDays: number;
  /** Deletes at most `limit` rows from before `before`; how many went. */
  readonly purge: (before: Date, limit: number) => Promise<number>;
}

export function gatewayRetentionRules(
  { attempts, usage }: { attempts: Pick<AttemptStore, 'purge'>; usage: Pick<UsageStore, 'purge'> },
  days: { readonly attemptsDays: number; readonly usageDays: number },
): readonly GatewayRetentionRule[] {
  return [
    {
      kind: 'gateway-attempts',
      describe: 'calls to AI models',
      keepDays: days.attemptsDays,
      purge: (before, limit) => attempts.purge(before, limit),
    },
    {
      kind: 'gateway-usage',
      describe: 'days of token usage',
      keepDays: days.usageDays,
      purge: (before, limit) => usage.purge(dayOf(before.getTime()), limit),
    },
  ];
}
