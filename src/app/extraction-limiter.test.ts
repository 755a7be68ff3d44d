import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { resolveConfig } from '../config/index.ts';
import { openExtractionLimiter } from './extraction-limiter.ts';

it('keeps rates in files that only their owner may read', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  const config = resolveConfig({ flags: {}, env: {}, cwd });
  await using closing = new AsyncDisposableStack();
  await openExtractionLimiter(config, {
    key: 'k',
    closing,
    signal: new AbortController().signal,
    onHeld: () => undefined,
    onChange: () => undefined,
  });
  const files = await readdir(config.data.folder);
  expect(files).toContain('limits.sqlite');
  for (const file of files)
    expect((await stat(join(config.data.folder, file))).mode & 0o777, file).toBe(0o600);
});
