// The dashboard's frame in a real browser: logging in and out, losing the server, both widths, both colour schemes.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Browser } from 'playwright-core';
import { openBrowser, openDashboard } from '../support/dashboard-browser.ts';
import { startTestServer, testConfig } from '../support/test-server.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

describe('the dashboard', () => {
  it.each([390, 1440] as const)('opens every page without a complaint, %i px wide', async (width) => {
    const server = await startTestServer(await testConfig());
    const {
      open,
      complaints,
      accessibilityFaults,
      overflow: overflowOf,
    } = await openDashboard(browser, server, width);
    for (const path of ['/', '/extraction', '/models', '/tenants', '/knowledge', '/ledger']) {
      await open(path);
      expect({ path, faults: await accessibilityFaults() }).toEqual({ path, faults: [] });
      const overflow = await overflowOf();
      expect({ path, overflow }).toEqual({ path, overflow: 0 });
    }
    expect(complaints).toEqual([]);
  });

  it('leaves no token in the address, and asks for one when there is no session', async () => {
    const server = await startTestServer(await testConfig());
    const { page } = await openDashboard(browser, server);
    expect(page.url()).toBe(`${server.url}/dashboard/`);
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('button', { name: 'Log in' }).waitFor();
    await page.goto(`${server.url}/dashboard/models`);
    await page.getByLabel('Admin token').fill(server.adminToken);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('live', { exact: true }).waitFor();
  });

  it('says when the server is gone, and keeps what it showed', async () => {
    const server = await startTestServer(await testConfig());
    const { page } = await openDashboard(browser, server);
    await server.stop();
    await page.getByText('The server does not answer').first().waitFor();
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
  });
});
