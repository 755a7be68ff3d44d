// When somebody should look: the founding document's four alerts. The shipped Prometheus rules say the same.
import type { Alert } from '../desk-ports.ts';

export interface AlertRule {
  readonly name: string;
  readonly severity: Alert['severity'];
  /** It must last so long before it fires. */
  readonly forMs: number;
}

export const globalUsageRule = {
  name: 'HeadworksAdmissionGlobalUsageHigh',
  severity: 'critical',
  forMs: 300_000,
  above: 0.8,
} as const satisfies AlertRule & { readonly above: number };

export const organizationUsageRule = {
  name: 'HeadworksAdmissionOrganizationUsageHigh',
  severity: 'warning',
  forMs: 300_000,
  above: 0.9,
} as const satisfies AlertRule & { readonly above: number };

/** Of this process; Prometheus adds all of them up. */
export const refusalBurstRule = {
  name: 'HeadworksAdmissionRejectionBurst',
  severity: 'warning',
  forMs: 0,
  moreThan: 60,
  withinMs: 60_000,
} as const satisfies AlertRule & { readonly moreThan: number; readonly withinMs: number };

export const redisAwayRule = {
  name: 'HeadworksAdmissionRedisDown',
  severity: 'critical',
  forMs: 0,
} as const satisfies AlertRule;

export const alertRules: readonly AlertRule[] = [
  globalUsageRule,
  organizationUsageRule,
  refusalBurstRule,
  redisAwayRule,
];
