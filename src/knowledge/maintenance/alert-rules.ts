// When somebody should look: the founding document's five, with its thresholds and severities. The shipped Prometheus
// rules say the same.

export type Severity = 'info' | 'warning' | 'critical';

export interface KnowledgeAlertRule {
  readonly name: string;
  readonly severity: Severity;
}

/** Rates are over this long, of at least so many tries: one failure of one says little. */
export const rateWindowMs = 15 * 60_000;
export const fewestTries = 10;

export const resolutionRule = {
  name: 'HeadworksKnowledgeResolutionErrors',
  severity: 'warning',
  above: 0.05,
} as const satisfies KnowledgeAlertRule & { readonly above: number };

export const confirmationRule = {
  name: 'HeadworksKnowledgeConfirmationFailures',
  severity: 'warning',
  above: 0.1,
} as const satisfies KnowledgeAlertRule & { readonly above: number };

export const graphRule = {
  name: 'HeadworksKnowledgeGraphUnavailable',
  severity: 'critical',
} as const satisfies KnowledgeAlertRule;

export const expansionRule = {
  name: 'HeadworksKnowledgeExpansionTimeouts',
  severity: 'warning',
  above: 0.2,
} as const satisfies KnowledgeAlertRule & { readonly above: number };

export const reviewRule = {
  name: 'HeadworksKnowledgeReviewBacklog',
  severity: 'info',
  above: 100,
} as const satisfies KnowledgeAlertRule & { readonly above: number };

export const knowledgeAlertRules: readonly KnowledgeAlertRule[] = [
  resolutionRule,
  confirmationRule,
  graphRule,
  expansionRule,
  reviewRule,
];
