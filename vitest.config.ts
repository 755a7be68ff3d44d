// Kinds of test: beside the code (unit), against real stores (integration), against the packed product (e2e), every page
// of the dashboard (browser).
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { SlowFirst } from './scripts/slow-first.ts';

const embeddedTemplate = 'test/support/embedded-template.ts';

export default defineConfig({
  test: {
    pool: 'forks',
    // Many threads with WebAssembly come and go here: see src/platform/threads/thread-pool.ts.
    execArgv: ['--wasm-wrapper-tiering-budget=2147483647'],
    // Many tests wait more than they work, so one more than there are cores; seven would wait for the same two servers.
    maxWorkers: Math.max(3, Math.min(availableParallelism() + 1, 6)),
    sequence: { sequencer: SlowFirst },
    // Processes and threads that tests start read TypeScript: each takes 0.3 s less processor time with it kept.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/headworks-tests') },
    // Limits for tests that hang, not for slow ones: with ten times more work than cores, tests of 5 s took over a minute.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    projects: [
      {
        extends: true,
        // One process for many files: their imports took more time than they did. They keep nothing outside themselves.
        test: {
          name: 'unit',
          include: [
            'src/**/*.test.ts',
            'test/support/**/*.test.ts',
            'bench/**/*.test.ts',
            'scripts/**/*.test.ts',
            'web/src/**/*.test.ts',
          ],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/*/**/*.test.ts'],
          exclude: ['test/e2e/**', 'test/browser/**', 'test/slow/**', 'test/support/**'],
          globalSetup: embeddedTemplate,
          // As above: importing the whole application 120 times took a minute of two cores.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: [
            embeddedTemplate,
            'test/support/build-dashboard.ts',
            'test/support/installed-package.ts',
          ],
          testTimeout: 360_000,
          // A hook builds, packs and installs the package: over 3 minutes on a machine with seven times more work than cores.
          hookTimeout: 900_000,
        },
      },
      {
        // Thousands of generated cases, of which the other projects run a sample: npm run verify:slow.
        extends: true,
        test: {
          name: 'slow',
          include: ['test/slow/**/*.test.ts'],
          globalSetup: embeddedTemplate,
          testTimeout: 3_600_000,
          hookTimeout: 3_600_000,
        },
      },
      {
        // Every page of the dashboard with data, at two widths.
        extends: true,
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          globalSetup: ['test/support/build-dashboard.ts'],
          testTimeout: 360_000,
        },
      },
    ],
    // npm run coverage: watching costs an eighth of the run's time.
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['**/*.test.ts', '**/*.contract.ts', '**/contract/**'],
      reporter: ['text-summary', 'json-summary', 'html'],
      thresholds: { lines: 90 },
      reportOnFailure: true,
    },
  },
});
