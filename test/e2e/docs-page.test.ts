// The page of the API in a real browser: it renders, sends no request to other hosts, and complies with its CSP.
import { chromium } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { chromiumPath } from '../../scripts/services/chromium.ts';
import { startTestServer, testConfig } from '../support/test-server.ts';

it('shows every operation without a console error or a request elsewhere', async () => {
  const server = await startTestServer(await testConfig());
  const browser = await chromium.launch({
    executablePath: await chromiumPath(),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
    ],
  });
  onTestFinished(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  const complaints: string[] = [];
  const elsewhere: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!/^(data:|blob:)/.test(request.url()) && !request.url().startsWith(server.url))
      elsewhere.push(request.url());
  });
  await page.goto(`${server.url}/docs`);
  await page.locator('.opblock-summary-path', { hasText: '/api/v1/ledger' }).first().waitFor();
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
    paths: Record<string, object>;
  };
  const operations = Object.values(document.paths).flatMap((path) => Object.keys(path)).length;
  expect(await page.locator('.opblock').count()).toBe(operations);
  await page.locator('.opblock-summary', { hasText: '/readyz' }).click();
  await page.locator('.opblock-body').first().waitFor();
  expect({ complaints, elsewhere }).toEqual({ complaints: [], elsewhere: [] });
});
