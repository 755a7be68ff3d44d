// Evaluates the alerts in this process, for those who have no Prometheus.
import type { Clock } from '../../../core/index.ts';
import type { Alert, AlertDesk } from '../desk-ports.ts';
import type { UsageSample } from '../gate/usage-board.ts';
import type { AlertRule } from './alert-rules.ts';
import { globalUsageRule, organizationUsageRule, redisAwayRule, refusalBurstRule } from './alert-rules.ts';

export interface AlertWatchParts {
  readonly clock: Clock;
  readonly sample: () => Promise<UsageSample>;
  /** Null while Redis decides, or none is configured. */
  readonly redisProblem: () => string | null;
}

interface Condition {
  readonly rule: AlertRule;
  readonly organizationId: string | null;
  readonly message: string;
}

interface Seen extends Condition {
  readonly since: number;
}

export class AlertWatch implements AlertDesk {
  readonly #parts: AlertWatchParts;
  #seen = new Map<string, Seen>();
  /** When the last refusals were, one more of them than make a burst. */
  readonly #refusedAt: number[] = [];

  constructor(parts: AlertWatchParts) {
    this.#parts = parts;
  }

  list(): readonly Alert[] {
    const now = this.#parts.clock.now();
    return [...this.#seen.values()].map(({ rule, organizationId, message, since }) => ({
      name: rule.name,
      organizationId,
      severity: rule.severity,
      message,
      since: new Date(since),
      state: now - since >= rule.forMs ? 'firing' : 'pending',
    }));
  }

  /** A request was turned away. */
  refused(): void {
    this.#refusedAt.push(this.#parts.clock.now());
    if (this.#refusedAt.length > refusalBurstRule.moreThan + 1) this.#refusedAt.shift();
  }

  /** Looks at everything; call it every few seconds. Never fails: what cannot be seen stays as it was. */
  async evaluate(): Promise<void> {
    const sample = await this.#parts.sample().catch(() => null);
    const now = this.#parts.clock.now();
    const conditions = [
      ...this.#redis(),
      ...this.#burst(now),
      ...(sample ? usageConditions(sample) : this.#usageAsItWas()),
    ];
    this.#seen = new Map(
      conditions.map((condition) => {
        const key = `${condition.rule.name} ${condition.organizationId ?? ''}`;
        return [key, { ...condition, since: this.#seen.get(key)?.since ?? now }];
      }),
    );
  }

  #redis(): readonly Condition[] {
    const message = this.#parts.redisProblem();
    return message === null ? [] : [{ rule: redisAwayRule, organizationId: null, message }];
  }

  #burst(now: number): readonly Condition[] {
    const { moreThan, withinMs } = refusalBurstRule;
    const [oldest] = this.#refusedAt;
    if (this.#refusedAt.length <= moreThan || oldest === undefined || oldest < now - withinMs) return [];
    const message =
      `More than ${moreThan} requests were answered with 429 within a minute. ` +
      'See who is at the limit with "headworks limits list --with-usage"; raise it, or have the client slow down.';
    return [{ rule: refusalBurstRule, organizationId: null, message }];
  }

  #usageAsItWas(): readonly Condition[] {
    return [...this.#seen.values()].filter(
      ({ rule }) => rule === globalUsageRule || rule === organizationUsageRule,
    );
  }
}

function usageConditions({ global, globalLimit, organizations }: UsageSample): readonly Condition[] {
  const conditions: Condition[] = organizations
    .filter(({ used, limit }) => used > limit * organizationUsageRule.above)
    .map(({ organizationId, used, limit }) => ({
      rule: organizationUsageRule,
      organizationId,
      message:
        `The organization ${organizationId} uses ${used} of its ${limit} concurrent requests. ` +
        `Raise its limit with "headworks limits set ${organizationId} LIMIT", or see what holds slots with "headworks executions list".`,
    }));
  if (global > globalLimit * globalUsageRule.above)
    conditions.push({
      rule: globalUsageRule,
      organizationId: null,
      message:
        `All organizations together use ${global} of ${globalLimit} concurrent requests. ` +
        'Raise API_DEPLOYMENT_GLOBAL_RATE_LIMIT if the machines can take more, or lower limits of organizations.',
    });
  return conditions;
}
