// Three kinds of test: beside the code (unit), against real stores (integration), against the packed product (e2e).
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    pool: 'forks',
    // Many threads with WebAssembly come and go here: see src/platform/thread-module.ts.
    execArgv: ['--wasm-wrapper-tiering-budget=2147483647'],
    // Two on two cores; more than six would only wait for the same two servers.
    maxWorkers: Math.max(2, Math.min(availableParallelism(), 6)),
    testTimeout: 20_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'unit', include: ['src/**/*.test.ts', 'scripts/**/*.test.ts'] } },
      { extends: true, test: { name: 'integration', include: ['test/integration/**/*.test.ts'] } },
      { extends: true, test: { name: 'e2e', include: ['test/e2e/**/*.test.ts'], testTimeout: 120_000 } },
    ],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['**/*.test.ts', '**/*.contract.ts', '**/contract/**'],
      reporter: ['text-summary', 'json-summary', 'html'],
      thresholds: { lines: 80 },
    },
  },
});
