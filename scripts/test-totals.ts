// The totals of a test run; everything that failed is counted.

/** The part of vitest's JSON report that is read here. */
export interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Adds up tests; a file that failed without a failed test (it did not load, or a hook broke) is one failure. */
export function totalsOf(report: VitestReport): Totals {
  const brokenFiles = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + brokenFiles.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/** The last line of the test command. Each other failed part (checks, services) counts as one failure. */
export function lastLine({ passed, failed, skipped }: Totals, failedParts: number): string {
  const skippedText = skipped > 0 ? `, ${skipped} skipped` : '';
  return `${passed} passed, ${failed + failedParts} failed${skippedText}`;
}
