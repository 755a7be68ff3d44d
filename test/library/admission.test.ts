import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it('keeps the process alive while a caller waits for a slot', async () => {
  const script = join(import.meta.dirname, 'admission-waiting.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [script]);
  expect(stdout).toBe('ADMISSION_ORG_LIMIT');
});
