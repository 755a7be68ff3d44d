// How old executions and their files go. The shape is that of the house's retention rules.
import type { ExecutionStore } from '../ports.ts';

export function executionRetentionRules(
  store: Pick<ExecutionStore, 'purge' | 'purgeFiles'>,
  days: { readonly executionsDays: number; readonly executionFilesDays: number },
) {
  return [
    {
      kind: 'execution-files',
      describe: 'files of executions that have ended',
      keepDays: days.executionFilesDays,
      purge: (before: Date, limit: number) => store.purgeFiles(before, limit),
    },
    {
      kind: 'executions',
      describe: 'executions that have ended',
      keepDays: days.executionsDays,
      purge: (before: Date, limit: number) => store.purge(before, limit),
    },
  ];
}
