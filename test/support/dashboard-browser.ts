// Opens the dashboard in a real browser: logged in, console errors recorded, accessibility checked with axe.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import { expect, onTestFinished, vi } from 'vitest';
import { chromiumPath } from '../../scripts/services/chromium.ts';
import type { RunningServer } from '../../src/app/index.ts';

export type Width = 390 | 1440;

/** One per test file: starting takes a second. Close it at the end. Graphs need WebGL, which costs a third more CPU. */
export async function openBrowser({ webgl = false } = {}): Promise<Browser> {
  return chromium.launch({
    executablePath: await chromiumPath(),
    args: [
      '--no-sandbox',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      // Without a graphics card.
      ...(webgl
        ? ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader']
        : ['--disable-gpu']),
    ],
  });
}

export interface DashboardPage {
  readonly page: Page;
  /** Console errors, uncaught errors and requests to other hosts. */
  readonly complaints: string[];
  /** Opens a page of the dashboard, for example `/models`. */
  readonly open: (path: string) => Promise<void>;
  /** Violations that axe-core finds on the current page. */
  readonly accessibilityFaults: () => Promise<readonly string[]>;
  /** Fails on a violation in the light or dark scheme. */
  readonly hasNoFaultInAnyScheme: () => Promise<void>;
  /** Pixels by which the page is wider than the window. */
  readonly overflow: () => Promise<number>;
}

/** Instead of Playwright's 30 s, which were too few for a page on a machine with 25 times more work than cores. */
export const browserTimeoutMs = 150_000;

/** A new window, logged in, without a page loaded (that costs a second of CPU). Closed at the end of the test. */
export async function openDashboard(
  browser: Browser,
  server: Pick<RunningServer, 'url' | 'adminToken'>,
  width: Width = 1440,
): Promise<DashboardPage> {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    reducedMotion: 'reduce',
  });
  onTestFinished(() => context.close());
  context.setDefaultTimeout(browserTimeoutMs);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!/^(data:|blob:)/.test(request.url()) && !request.url().startsWith(server.url))
      complaints.push(`a request to ${request.url()}`);
  });
  const data = { token: server.adminToken };
  await context.request.post(`${server.url}/api/v1/dashboard/session`, { data, failOnStatusCode: true });
  return {
    page,
    complaints,
    open: async (path) => {
      await page.goto(`${server.url}/dashboard${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
    },
    accessibilityFaults: () => faultsOf(page),
    hasNoFaultInAnyScheme: async () => {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        // Text changes its color one frame after the page.
        await vi.waitFor(
          async () =>
            expect({ colorScheme, faults: await faultsOf(page) }).toEqual({ colorScheme, faults: [] }),
          { timeout: 60_000, interval: 50 },
        );
      }
    },
    overflow: () =>
      page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
  };
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
  }[];
}

async function faultsOf(page: Page): Promise<readonly string[]> {
  const axe = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
  // Through the debugger: the content security policy blocks scripts of other origins.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe.run({
      resultTypes: ['violations'],
    }),
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
  );
}
