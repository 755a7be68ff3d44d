// The dashboard's frame in a real browser: logging in and out, losing the server, both widths, both colour schemes.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Browser } from 'playwright-core';
import { openBrowser, openDashboard } from '../support/dashboard-browser.ts';
import { callAsAdmin, startTestServer, testConfig } from '../support/test-server.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

/** What each page says when there is nothing yet: what would bring something there. */
const emptyPages = [
  [
    '/',
    ['None is registered', 'Nothing was extracted yet', 'Nothing is degraded', /\d+ models without a key/],
  ],
  ['/extraction', ['headworks sources add --help', 'headworks extract --help']],
  ['/models', ['No model can be asked yet', 'headworks models add --help', 'Try a prompt']],
  ['/tenants', ['There is no organization yet', 'headworks organizations add NAME', 'Add an organization']],
  ['/knowledge', []],
  ['/ledger', ['Nothing has ever fallen back here']],
] as const;

describe('the dashboard', () => {
  it.each([390, 1440] as const)(
    'opens every page without a complaint, also with nothing there, %i px wide',
    async (width) => {
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
    },
  );

  it('leaves no token in the address, and asks for one when there is no session', async () => {
    const server = await startTestServer(await testConfig());
    const { page } = await openDashboard(browser, server);
    await page.context().clearCookies();
    const { body } = await callAsAdmin(server, 'POST', '/api/v1/dashboard/login-links');
    const link = server.url + (body as { path: string }).path;
    // The second time it is used, which is nothing to a browser that is logged in.
    for (let time = 1; time <= 2; time += 1) {
      await page.goto(link);
      await page.getByText('live', { exact: true }).waitFor();
      expect(page.url()).toBe(`${server.url}/dashboard/`);
    }
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('button', { name: 'Log in' }).waitFor();
    await page.goto('about:blank');
    await page.goto(link);
    await page
      .getByText(/neither the token of a login link that still works .* nor the admin token/)
      .waitFor();
    await page.goto(`${server.url}/dashboard/models?active=all`);
    await page.getByLabel('Admin token').fill(server.adminToken);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('live', { exact: true }).waitFor();
    expect(page.url()).toBe(`${server.url}/dashboard/models?active=all`);
  });

  it('loses only the page that cannot be loaded', async () => {
    const server = await startTestServer(await testConfig());
    const { page, open } = await openDashboard(browser, server);
    const go = (name: string) => page.getByRole('link', { name, exact: true }).click();
    await page.route('**/assets/ledger-page*.js', (route) => route.abort());
    await open('/');
    await go('Ledger');
    await page.getByRole('heading', { name: 'This page cannot be shown' }).waitFor();
    await go('Models');
    await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
    await go('Ledger');
    await page.unroute('**/assets/ledger-page*.js');
    await page.getByRole('button', { name: 'Load it again' }).click();
    await page.getByText('Nothing has ever fallen back here').waitFor();
  });

  it('works in more tabs than a browser has connections: they share one stream', async () => {
    const server = await startTestServer(await testConfig());
    const { page, open } = await openDashboard(browser, server);
    await open('/');
    for (let tab = 2; tab <= 7; tab += 1) {
      const next = await page.context().newPage();
      await next.goto(`${server.url}/dashboard/ledger`);
      await next.getByText('live', { exact: true }).waitFor();
      await next.getByText('Nothing has ever fallen back here').waitFor();
    }
    await page.getByRole('link', { name: 'Tenants', exact: true }).click();
    await page.getByText('There is no organization yet').waitFor();
    await server.stop();
    await page.getByText('The server does not answer').first().waitFor();
  });

  it('says when the server is gone, and keeps what it showed', async () => {
    const server = await startTestServer(await testConfig());
    const { page, open } = await openDashboard(browser, server);
    await open('/');
    await page.getByText('live', { exact: true }).waitFor();
    await server.stop();
    await page.getByText('The server does not answer').first().waitFor();
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
  });
});
