// The page of the API in a real browser: it renders, sends no request to other hosts, and complies with its CSP.
import { chromium } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { chromiumPath } from '../../scripts/services/chromium.ts';
import { browserTimeoutMs } from '../support/dashboard-browser.ts';
import { startTestServer, testConfig } from '../support/test-server.ts';

/** Runs in the page. Paths have zero-width spaces at which they may wrap. */
const shownOperations = `[...document.querySelectorAll('.opblock-summary')].map((summary) => {
  const [method, path] = ['method', 'path'].map((part) => summary.querySelector('.opblock-summary-' + part).textContent);
  return method.toLowerCase() + ' ' + path.replaceAll('\\u200b', '');
})`;

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
  page.setDefaultTimeout(browserTimeoutMs);
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
  await page.locator('.opblock-summary-path').first().waitFor();
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, object>>;
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  // Swagger UI renders a document of this size only where it is visible: scroll until all were seen.
  const shown = new Set<string>();
  for (let screen = 0; screen < 400 && shown.size < operations.length; screen += 1) {
    await page.evaluate(`scrollTo(0, (${screen} * 400) % document.body.scrollHeight)`);
    await page.waitForTimeout(50);
    for (const operation of await page.evaluate<string[]>(shownOperations)) shown.add(operation);
  }
  expect([...shown].toSorted()).toEqual(operations.toSorted());
  await page.evaluate('scrollTo(0, 0)');
  await page.locator('.opblock-summary', { hasText: '/api/v1/doctor' }).click();
  await page.locator('.opblock-body').first().waitFor();
  expect({ complaints, elsewhere }).toEqual({ complaints: [], elsewhere: [] });
});
