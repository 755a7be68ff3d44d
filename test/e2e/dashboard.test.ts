// Dashboard shell in a real browser: empty pages, login, logout, lost server, tabs.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Browser } from 'playwright-core';
import { openBrowser, openDashboard } from '../support/dashboard-browser.ts';
import { callAsAdmin, startTestServer, testConfig } from '../support/test-server.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

/** Empty state of each page: what is missing and how to get it. */
const emptyPages = [
  ['/', ['No sources yet', 'No runs yet', 'No degradations', /\d+ models without a key/]],
  ['/extraction', ['headworks sources create --help', 'headworks extract --help']],
  ['/models', ['No models available', 'headworks models create --help', 'Test prompt']],
  ['/organizations', ['No organizations yet', 'headworks organizations create NAME', 'Create organization']],
  ['/knowledge', []],
  ['/ledger', ['No degradations recorded']],
] as const;

describe('the dashboard', () => {
  it.each([390, 1440] as const)('opens every empty page without errors at %i px', async (width) => {
    const server = await startTestServer(await testConfig());
    const {
      page,
      open,
      complaints,
      accessibilityFaults,
      overflow: overflowOf,
    } = await openDashboard(browser, server, width);
    for (const [path, texts] of emptyPages) {
      await open(path);
      for (const text of texts) await page.getByText(text).first().waitFor();
      expect({ path, faults: await accessibilityFaults() }).toEqual({ path, faults: [] });
      const overflow = await overflowOf();
      expect({ path, overflow }).toEqual({ path, overflow: 0 });
    }
    expect(complaints).toEqual([]);
  });

  it('removes the token from the address and asks for one without a session', async () => {
    const server = await startTestServer(await testConfig());
    const { page } = await openDashboard(browser, server);
    await page.context().clearCookies();
    const { body } = await callAsAdmin(server, 'POST', '/api/v1/dashboard/login-links');
    const link = server.url + (body as { path: string }).path;
    // The link is used up the second time, which is no error in a logged-in browser.
    for (let time = 1; time <= 2; time += 1) {
      await page.goto(link);
      await page.getByText('live', { exact: true }).waitFor();
      expect(page.url()).toBe(`${server.url}/dashboard/`);
    }
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('button', { name: 'Log in' }).waitFor();
    await page.goto('about:blank');
    await page.goto(link);
    await page.getByText(/neither the token of a valid login link .* nor the admin token/).waitFor();
    await page.goto(`${server.url}/dashboard/models?active=all`);
    await page.getByLabel('Admin token').fill(server.adminToken);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('live', { exact: true }).waitFor();
    expect(page.url()).toBe(`${server.url}/dashboard/models?active=all`);
  });

  it('shows an error only on the page that cannot be loaded', async () => {
    const server = await startTestServer(await testConfig());
    const { page, open } = await openDashboard(browser, server);
    const go = (name: string) => page.getByRole('link', { name, exact: true }).click();
    await page.route('**/assets/ledger-page*.js', (route) => route.abort());
    await open('/');
    await go('Ledger');
    await page.getByRole('heading', { name: 'This page failed to load' }).waitFor();
    await go('Models');
    await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
    await go('Ledger');
    await page.unroute('**/assets/ledger-page*.js');
    await page.getByRole('button', { name: 'Reload page' }).click();
    await page.getByText('No degradations recorded').waitFor();
  });

  it('shares one live stream between more tabs than a browser has connections', async () => {
    const server = await startTestServer(await testConfig());
    const { page, open } = await openDashboard(browser, server);
    await open('/');
    for (let tab = 2; tab <= 7; tab += 1) {
      const next = await page.context().newPage();
      await next.goto(`${server.url}/dashboard/ledger`);
      await next.getByText('live', { exact: true }).waitFor();
      await next.getByText('No degradations recorded').waitFor();
    }
    await page.getByRole('link', { name: 'Organizations', exact: true }).click();
    await page.getByText('No organizations yet').waitFor();
    await server.stop();
    await page.getByText('The server is not responding').first().waitFor();
  });

  it('reports a lost server and keeps showing data', async () => {
    const server = await startTestServer(await testConfig());
    const { page, open } = await openDashboard(browser, server);
    await open('/');
    await page.getByText('live', { exact: true }).waitFor();
    await server.stop();
    await page.getByText('The server is not responding').first().waitFor();
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
  });
});
