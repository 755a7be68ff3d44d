import { expect, it } from 'vitest';
import { resolveConfig } from './index.ts';

it('the timeouts of knowledge have the defaults of document 004, and can be set', () => {
  const timeoutsWith = (env: Record<string, string>) =>
    resolveConfig({ cwd: '/nonexistent-for-tests', env }).knowledge;
  const defaults = {
    embeddingTimeoutMs: 10_000,
    candidatesTimeoutMs: 5_000,
    confirmationTimeoutMs: 30_000,
    graphUpsertTimeoutMs: 5_000,
    expansionTimeoutMs: 500,
    chunkLookupTimeoutMs: 2_000,
  };
  expect(timeoutsWith({})).toMatchObject(defaults);
  expect(timeoutsWith({ HEADWORKS_KNOWLEDGE_EXPANSION_TIMEOUT_MS: '800' })).toMatchObject({
    ...defaults,
    expansionTimeoutMs: 800,
  });
  expect(() => timeoutsWith({ HEADWORKS_KNOWLEDGE_EMBEDDING_TIMEOUT_MS: '0' })).toThrow(
    'must be a whole number from',
  );
});
