import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

function runTest(...args: readonly string[]): { code: number | null; lines: readonly string[] } {
  // Without what vitest tells its own workers.
  const { VITEST: _vitest, NODE_OPTIONS: _options, ...env } = process.env;
  const run = spawnSync(process.execPath, ['scripts/test.ts', ...args], { encoding: 'utf8', env });
  return { code: run.status, lines: run.stdout.trim().split('\n') };
}

describe('npm test', () => {
  it('ends with the totals, after what ran and what did not', () => {
    const { code, lines } = runTest('--unit', 'scripts/test-totals.test.ts');
    expect(lines.at(-1)).toBe('3 passed, 0 failed');
    expect(lines.at(-2)).toMatch(/^not run: check, services/);
    expect(code).toBe(0);
  });

  it('fails, and counts a failure, when nothing was run', () => {
    const { code, lines } = runTest('--unit', 'no/such/file');
    expect(lines.at(-1)).toBe('0 passed, 1 failed');
    expect(code).toBe(1);
  });
});
