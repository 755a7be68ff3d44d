import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { findRegexes, problemOf, readVerdicts } from './check-regexes.ts';

it('finds literals and expressions that a module builds, unless their repetitions are bounded', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'src'));
  await writeFile(
    join(folder, 'src', 'a.ts'),
    "export const a = /a+/g, b = /b{1,3}/, c = new RegExp(`^${'c'}*$`, 'u'); // /d+/\n",
  );
  expect([...(await findRegexes(folder)).keys()]).toEqual(['/a+/g', '/^c*$/u']);
});

it('distinguishes linear expressions from others', async () => {
  expect(await problemOf({ source: '^[a-z]+$', flags: '' })).toBeNull();
  expect(await problemOf({ source: '^(a+)+$', flags: '' })).toContain('takes exponential time');
  expect(await problemOf({ source: '^a*a*$', flags: '' })).toContain('takes polynomial time');
});

it('has a reason for every expression that is not linear', () => {
  for (const reason of Object.values(readVerdicts().bounded)) expect(reason.length).toBeGreaterThan(10);
});
