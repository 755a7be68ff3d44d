import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../test/support/services.ts';

function runTest(...args: readonly string[]): { code: number | null; lines: readonly string[] } {
  // Without the variables that vitest sets for its workers.
  const { VITEST: _vitest, NODE_OPTIONS: _options, ...env } = process.env;
  const run = spawnSync(process.execPath, ['scripts/test.ts', ...args], { encoding: 'utf8', env });
  return { code: run.status, lines: run.stdout.trim().split('\n') };
}

describe('npm test', () => {
  it('prints the totals last, after what ran and what was skipped', () => {
    const { code, lines } = runTest('--unit', 'scripts/test-totals.test.ts');
    expect(lines.at(-1)).toBe('3 passed, 0 failed');
    expect(lines.at(-2)).toMatch(/^not run: check, services/);
    expect(code).toBe(0);
  });

  it('deletes everything that the tests created', async () => {
    const folder = await temporaryFolder();
    const { VITEST: _vitest, NODE_OPTIONS: _options, ...env } = process.env;
    const args = ['scripts/test.ts', '--unit', 'scripts/services/file-lock.test.ts'];
    const run = spawnSync(process.execPath, args, { encoding: 'utf8', env: { ...env, TMPDIR: folder } });
    expect(run.status, run.stdout).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('fails, and counts a failure, when nothing was run', () => {
    const { code, lines } = runTest('--unit', 'no/such/file');
    expect(lines.at(-1)).toBe('0 passed, 1 failed');
    expect(code).toBe(1);
  });
});
