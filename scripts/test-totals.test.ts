import { describe, expect, it } from 'vitest';
import { lastLine, totalsOf } from './test-totals.ts';

const counts = { numPassedTests: 5, numFailedTests: 1, numPendingTests: 1, numTodoTests: 1 };

describe('totals', () => {
  it('adds up tests', () => {
    const testResults = [
      { status: 'failed', assertionResults: [{ status: 'failed' }, { status: 'passed' }] },
    ];
    expect(totalsOf({ ...counts, testResults })).toEqual({ passed: 5, failed: 1, skipped: 2 });
  });

  it('counts a file that did not load as one failure', () => {
    const testResults = [{ status: 'failed', assertionResults: [] }];
    expect(totalsOf({ ...counts, testResults }).failed).toBe(2);
  });

  it('prints one line, never "0 failed" when a part failed', () => {
    expect(lastLine({ passed: 7, failed: 0, skipped: 0 }, 0)).toBe('7 passed, 0 failed');
    expect(lastLine({ passed: 7, failed: 0, skipped: 2 }, 1)).toBe('7 passed, 1 failed, 2 skipped');
  });
});
