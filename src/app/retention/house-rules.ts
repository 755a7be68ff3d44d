// The retention rules of the house itself; domains add their own where they are composed.
import type { LedgerStore } from '../../ledger/index.ts';
import type { AuditTrail } from '../audit/index.ts';
import type { RetentionRule } from './retention-rule.ts';

export interface HouseStores {
  readonly audit: Pick<AuditTrail, 'purge'>;
  readonly ledger: Pick<LedgerStore, 'purge'>;
  readonly jobs: Pick<RetentionRule, 'purge'>;
}

export function houseRules(
  { audit, ledger, jobs }: HouseStores,
  days: { readonly auditDays: number; readonly ledgerDays: number; readonly jobsDays: number },
): readonly RetentionRule[] {
  return [
    {
      kind: 'audit',
      describe: 'rows of the audit log',
      keepDays: days.auditDays,
      purge: (before, limit) => audit.purge(before, limit),
    },
    {
      kind: 'ledger',
      describe: 'repaired rows of the ledger',
      keepDays: days.ledgerDays,
      purge: (before, limit) => ledger.purge(before, limit),
    },
    {
      kind: 'jobs',
      describe: 'jobs that have ended',
      keepDays: days.jobsDays,
      purge: (before, limit) => jobs.purge(before, limit),
    },
  ];
}
