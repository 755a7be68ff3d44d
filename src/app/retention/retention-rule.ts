// One kind of row that would grow for ever, and how its old ones go.

export interface RetentionRule {
  /** What the rows are: `audit`, `ledger`, `jobs`, … */
  readonly kind: string;
  /** In words, for help and logs. */
  readonly describe: string;
  /** Older rows go; 0 keeps them for ever. */
  readonly keepDays: number;
  /** Deletes at most `limit` rows from before `before`; how many went. Fewer than `limit` means there are no more. */
  readonly purge: (before: Date, limit: number) => Promise<number>;
}
