// Pages Flow, Extraction, Models, Organizations and Ledger in a real browser, on one server with data for each.
import type { ApiResponse } from '../../src/api/client.ts';
import type { Limit } from '../../src/api/limits.ts';
import type { VaultSummary } from '../../src/api/extraction.ts';
import type { LedgerPage } from '../../src/api/ledger.ts';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openBrowser, openDashboard } from '../support/dashboard-browser.ts';
import { polling, startDashboardWorld, type DashboardWorld } from '../support/dashboard-world.ts';
import { callDeployment } from '../support/tenancy/tenant-server.ts';

describe('dashboard pages with data', () => {
  let world: DashboardWorld;
  let browser: Browser;
  beforeAll(async () => {
    [world, browser] = await Promise.all([startDashboardWorld(), openBrowser()]);
    // Alerts are evaluated every ten seconds: this one fires by the time its test runs.
    await world.refuse(70);
  });
  afterAll(async () => {
    await browser.close();
    await world.stop();
  });

  const at = async (path: string, width: 390 | 1440 = 1440) => {
    const dashboard = await openDashboard(browser, world.server, width);
    await dashboard.open(path);
    return dashboard;
  };
  const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });

  it.each([
    [390, 'dark'],
    [1440, 'light'],
  ] as const)(
    'show data without accessibility faults or overflow at %i px in the %s scheme',
    async (width, colorScheme) => {
      const { page, open, complaints, accessibilityFaults, overflow } = await openDashboard(
        browser,
        world.server,
        width,
      );
      await page.emulateMedia({ colorScheme });
      const run = `/extraction/runs/${world.runs[1].id}`;
      const { id: barred } = await world.model('barred');
      const pages: readonly (readonly [path: string, shown: readonly string[]])[] = [
        ['/', ['2 of 100 in flight', 'limited: available in', 'key-rejected: 2', 'acme: incomplete']],
        ['/extraction', ['Start run', '2 of 3 types', 'items/s']],
        [run, ['1 page failed', 'server-error', 'Retry failed pages']],
        [`${run}/vault?type=users`, ['Show more', 'deleted']],
        [`${run}/vault?type=users&item=1`, ['2 versions. Changed lines are marked.', 'Older version']],
        ['/models', ['swift', 'cooling down', 'available in', 'rate-limit', 'Test prompt', 'completed']],
        [`/models/${barred}`, ['Cooldowns', 'default', 'Ranking', 'authentication']],
        ['/organizations', ['2 of 100 in flight', 'Global concurrency', 'Executions']],
        [`/organizations/${world.busy.organizationId}`, ['2 of 2 in flight', 'active', 'running']],
        ['/ledger', ['2 open entries', 'Repair all entries', 'authentication', 'ago']],
        ['/ledger?state=resolved', ['No resolved entries']],
        ['/nowhere', ['Page not found']],
        ['/models/999999', ['Could not load the model']],
      ];
      for (const [path, shown] of pages) {
        await open(path);
        for (const text of shown) await contains(page, text);
        expect({ path, faults: await accessibilityFaults(), overflow: await overflow() }).toEqual({
          path,
          faults: [],
          overflow: 0,
        });
        for (const what of inSight(path, page)) expect(await rightEdge(what)).toBeLessThanOrEqual(width);
      }
      // The request for the unknown model.
      expect(complaints).toEqual([expect.stringContaining('404')]);
    },
  );

  /** Elements that must be visible without horizontal scrolling. */
  function inSight(path: string, page: Page): readonly Locator[] {
    const running = page.getByText('running', { exact: true }).first();
    if (path === '/organizations') return [button(page, 'Edit limit of busy'), running];
    if (path === '/extraction')
      return [page.getByText('2 of 3 types').first(), page.getByText(/items\/s/).first()];
    if (path.startsWith('/extraction/runs/') && !path.includes('vault'))
      return [page.getByText('server-error', { exact: true }).first()];
    if (path === '/models')
      return ['Success rate', 'Duration'].map((name) => page.getByRole('columnheader', { name }));
    return path.startsWith('/organizations/') ? [running] : [];
  }

  async function rightEdge(what: Locator): Promise<number> {
    const box = await what.boundingBox();
    if (!box) throw new Error('The element is not visible.');
    return box.x + box.width;
  }

  /** In one element or spread over several. */
  async function contains(page: Page, text: string): Promise<void> {
    await vi.waitFor(async () => {
      const shown = await page.locator('main').innerText();
      expect(shown.replaceAll(/\s+/g, ' ')).toContain(text);
    }, polling);
  }

  it('reach every main action by keyboard with a visible focus', async () => {
    const { page, open } = await openDashboard(browser, world.server);
    const goals = [
      ['/', 'Sources'],
      ['/extraction', 'Start run of acme'],
      ['/models', 'Prompt'],
      ['/organizations', 'Edit limit of busy'],
      ['/ledger', 'Repair all entries'],
    ] as const;
    for (const [path, name] of goals) {
      await open(path);
      await page.getByRole('link', { name: 'Data flow', exact: true }).waitFor();
      await contains(
        page,
        name === 'Prompt' ? 'Test prompt' : path === '/organizations' ? 'busy' : (name.split(' ')[0] ?? ''),
      );
      const walk = `(() => {
        const here = document.activeElement;
        const label = here.getAttribute('aria-label') ?? here.labels?.[0]?.textContent ?? here.textContent ?? '';
        const { outlineStyle, outlineWidth } = getComputedStyle(here);
        return { label, isSeen: outlineStyle !== 'none' && outlineWidth !== '0px' };
      })()`;
      let found: { label: string; isSeen: boolean } | null = null;
      for (let tabs = 0; tabs < 60 && found === null; tabs += 1) {
        await page.keyboard.press('Tab');
        const here = await page.evaluate<{ label: string; isSeen: boolean }>(walk);
        if (here.label.startsWith(name)) found = here;
      }
      expect({ path, found }).toEqual({ path, found: expect.objectContaining({ isSeen: true }) as object });
    }
  });

  it('change a limit in place', async () => {
    const { page } = await at('/organizations');
    const limit = () => world.read<Limit>(`/limits/${world.quiet.organizationId}`);
    await button(page, 'Edit limit of quiet').click();
    await page.getByRole('textbox', { name: 'Limit of quiet' }).fill('7');
    await page.keyboard.press('Enter');
    await page.getByText('Set the limit of quiet to 7.').waitFor();
    expect(await limit()).toMatchObject({ custom_limit: 7, limit: 7 });
    await contains(page, '0 of 7');
    // Focus returns to the edit button.
    await page.keyboard.press('Enter');
    await button(page, 'Reset to default').click();
    await page.getByText('Reset the limit of quiet to the default.').waitFor();
    expect(await limit()).toMatchObject({ custom_limit: null, limit: 20 });
    await button(page, 'Edit limit of quiet').click();
    const field = page.getByRole('textbox', { name: 'Limit of quiet' });
    // The typed text stays and is not converted into another number.
    for (const typed of ['1.5', '1e9', '99999999999', '0']) {
      await field.fill('');
      await field.pressSequentially(typed);
      await page.getByText('Enter a whole number from 1 to 2147483647.').waitFor();
      expect(await field.inputValue()).toBe(typed);
      expect(await button(page, 'Save limit').isDisabled()).toBe(true);
    }
    expect(await limit()).toMatchObject({ custom_limit: null });
    await page.keyboard.press('Escape');
    expect(await field.count()).toBe(0);
  });

  it('show accessible error messages and keep the typed input', async () => {
    const { page, open, accessibilityFaults, hasNoFaultInAnyScheme } = await openDashboard(
      browser,
      world.server,
    );
    const reason = `Failed because ${'one step after the other failed, '.repeat(8)}and the retries too.`;
    await page.route(/\/api\/v1\/executions\?/, async (route) => {
      const response = await route.fetch();
      const { executions, next } = (await response.json()) as ApiResponse<'GET /api/v1/executions'>;
      const failed = executions.map((each) => ({ ...each, error: { code: 'X', message: reason } }));
      await route.fulfill({ response, json: { executions: failed, next } });
    });
    await open('/organizations');
    await page.getByRole('button', { name: 'Show all' }).first().press('Enter');
    await page.getByText(reason).waitFor();

    await page.route(/\/api\/v1\/limits\//, (route) => route.abort());
    await button(page, 'Edit limit of quiet').click();
    await page.getByRole('textbox', { name: 'Limit of quiet' }).fill('7');
    await page.keyboard.press('Enter');
    const failure = page.getByRole('alert').filter({ hasText: 'Action failed' });
    // It stays while hovered. Contrast is checked after the fade-in.
    await failure.hover();
    const opacity = `getComputedStyle(document.querySelector('.mantine-Notification-root')).opacity`;
    await vi.waitFor(async () => expect(await page.evaluate(opacity)).toBe('1'), polling);
    await hasNoFaultInAnyScheme();
    expect(await failure.count()).toBe(1);
    expect(await page.getByRole('textbox', { name: 'Limit of quiet' }).inputValue()).toBe('7');

    await button(page, 'Create organization').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name' }).fill('busy');
    await dialog.getByRole('button', { name: 'Create organization' }).click();
    await dialog.getByText(/There is already an organization/).waitFor();
    expect(await dialog.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('busy');
    await vi.waitFor(async () => expect(await accessibilityFaults()).toEqual([]), polling);
    await dialog.getByRole('textbox', { name: 'Name' }).fill('third');
    await dialog.getByRole('button', { name: 'Create organization' }).click();
    await page.getByText('Created third.').waitFor();
    await dialog.waitFor({ state: 'detached' });

    await page.route(/\/dashboard\/session/, (route) => route.abort());
    await button(page, 'Log out').click();
    await page.getByText('You are still logged in').waitFor();
    expect(page.url()).toContain('/organizations');
  });

  it('create a key, show it once, and revoke it', async () => {
    const { organizationId } = world.quiet;
    const { page, accessibilityFaults } = await at(`/organizations/${organizationId}`);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.getByRole('textbox', { name: 'Name of the new key' }).fill('second');
    await button(page, 'Create key').click();
    const key = await page.locator('code', { hasText: /^hwo_[\w-]{40,}$/ }).innerText();
    const call = () => callDeployment(world.server, { ...world.quiet, key }, { query: '?timeout=60' });
    expect(await call()).toMatchObject({ status: 200 });
    expect(await accessibilityFaults()).toEqual([]);
    await page.reload();
    await page.getByRole('row', { name: /second/ }).waitFor();
    expect(await page.content()).not.toContain(key);

    await page
      .getByRole('row', { name: /second/ })
      .getByRole('button', { name: 'Revoke key' })
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('Revoked key second.').waitFor();
    await page.getByRole('row', { name: /second.*revoked/ }).waitFor();
    const { keys } = await world.read<ApiResponse<'GET /api/v1/organizations/:organization/keys'>>(
      `/organizations/${organizationId}/keys`,
    );
    expect(keys.find(({ name }) => name === 'second')?.revoked_at).not.toBeNull();
    expect(await call()).toMatchObject({ status: 401 });
  });

  it('cool down, probe, disable and enable a model, and show the attempts of a prompt', async () => {
    const { id } = await world.model('steady');
    const { page, open } = await at(`/models/${id}`);
    await button(page, 'Set cooldown (10 min)').click();
    await page.getByText(/^available in (9|10) min/).waitFor();
    expect((await world.model('steady')).cooldowns).toMatchObject([
      { cause: 'manual', reason: 'set in the dashboard' },
    ]);
    await button(page, 'Clear cooldown').click();
    await page.getByText('available', { exact: true }).waitFor();
    expect((await world.model('steady')).cooldowns).toEqual([]);
    await button(page, 'Disable model').click();
    await page.getByText('disabled', { exact: true }).waitFor();
    expect((await world.model('steady')).is_active).toBe(false);
    await button(page, 'Enable model').click();
    await page.getByText('available', { exact: true }).waitFor();
    await button(page, 'Probe model').click();
    await page.getByText(/steady responded in \d+ ms/).waitFor();

    await world.send('PATCH', `/models/${(await world.model('never')).id}/active`, { is_active: false });
    world.models.script('swift', [{ fault: '500' }]);
    world.models.script('steady', [{ fault: '500' }]);
    await open('/models');
    await page.getByRole('textbox', { name: 'Prompt' }).fill('Is it so?');
    await button(page, 'Send prompt').click();
    const box = page.getByRole('region', { name: 'Test prompt' });
    await box.getByText(/responded in .* after \d attempts/).waitFor();
    await box.getByText('Yes.', { exact: true }).waitFor();
    await box.getByText('success', { exact: true }).waitFor();
    const tried = await box.getByText(/^(swift|steady)$/).allInnerTexts();
    expect(tried.length).toBeGreaterThanOrEqual(2);
    expect(await box.getByText('server-error', { exact: true }).count()).toBeGreaterThanOrEqual(1);
    await world.send('PATCH', `/models/${(await world.model('never')).id}/active`, { is_active: true });
  });

  it('compare two versions side by side and retry failed pages', async () => {
    const { page, open } = await at(`/extraction/runs/${world.runs[1].id}/vault?type=users`);
    await page
      .getByRole('row', { name: / 2 [\d.]+ (?:bytes|KiB)$/ })
      .first()
      .getByRole('button')
      .click();
    const versions = page.locator('pre');
    await vi.waitFor(async () => expect(await versions.count()).toBe(2), polling);
    const marked = await Promise.all(
      [0, 1].map((side) => versions.nth(side).locator('mark').allInnerTexts()),
    );
    expect(marked[0]?.length).toBeGreaterThan(0);
    expect(marked[0]).not.toEqual(marked[1]);
    const folded = (await versions.nth(0).innerText()).length;
    await page.getByRole('switch', { name: 'Show changes only' }).click();
    await vi.waitFor(
      async () => expect((await versions.nth(0).innerText()).length).toBeGreaterThan(folded),
      polling,
    );
    expect(await versions.nth(0).locator('mark').count()).toBe(marked[0]?.length);

    world.looker.configure({ failures: [] });
    await open(`/extraction/runs/${world.runs[1].id}`);
    await button(page, 'Retry failed pages').click();
    await vi.waitFor(() => expect(page.url()).not.toContain(world.runs[1].id), polling);
    await page.getByText('completed', { exact: true }).first().waitFor();
    await contains(page, 'No failed pages');
    const { runs } = await world.read<ApiResponse<'GET /api/v1/extraction/runs'>>('/extraction/runs?limit=1');
    expect(page.url()).toContain(runs[0]?.id ?? 'none');
    const path = `/extraction/runs/${runs[0]?.id}/vault`;
    expect((await world.read<VaultSummary>(path)).dead_letters).toEqual([]);
  });

  it('repair one entry and all others with progress, and keep resolved entries', async () => {
    const open = async () => (await world.read<LedgerPage>('/ledger')).entries.map(({ subject }) => subject);
    const warm = async (name: string) => {
      const { id } = await world.model(name);
      await world.send('PATCH', `/models/${id}/availability?retry_after_seconds=0`);
    };
    const { page } = await at('/ledger');
    await page.getByRole('button', { name: /barred/ }).click();
    // Its key is still cooling down, so the repair cannot check it.
    await page.getByRole('button', { name: 'Repair entry' }).click();
    await page.getByText('Repair of one entry completed: 1 still open').waitFor();
    await warm('barred');
    await page.getByRole('button', { name: 'Repair entry' }).click();
    await page.getByText('Repair of one entry completed: 1 repaired').waitFor();
    expect(await open()).toEqual(['locked']);
    await warm('locked');
    await button(page, 'Repair all entries').click();
    await page.getByText('Repair of all entries completed: 1 repaired').waitFor();
    const progress = page.getByRole('progressbar', { name: 'Repair progress of all entries' });
    await vi.waitFor(
      async () => expect(await progress.first().getAttribute('aria-valuenow')).toBe('100'),
      polling,
    );
    await contains(page, 'No open entries');
    expect(await open()).toEqual([]);
    await page.getByText('Resolved', { exact: true }).click();
    await page.getByRole('button', { name: /barred/ }).waitFor();
    await page.getByRole('button', { name: /locked/ }).waitFor();
  });

  it('show firing alerts on every page', async () => {
    const { page } = await at('/');
    const alert = page.getByRole('alert').filter({ hasText: 'HeadworksAdmissionRejectionBurst' });
    // On a busy machine it may have resolved already.
    await vi.waitFor(
      () =>
        alert.waitFor({ timeout: 2_000 }).catch(async (error: unknown) => {
          await world.refuse(70);
          await page.reload();
          throw error;
        }),
      { timeout: 60_000, interval: 100 },
    );
    for (const name of ['Extraction', 'Models', 'Organizations', 'Knowledge', 'Ledger', 'Data flow']) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await alert.waitFor();
    }
  });

  it('show a model that fails, its recent success rate and the alert (T3)', async () => {
    const definition = { name: 'down', base_url: 'http://127.0.0.1:9/v1', env_var: 'MODEL_API_KEY' };
    const { id } = await world.send<{ id: number }>('POST', '/models', definition);
    for (let count = 0; count < 3; count++) await world.send('POST', '/models/probe', { ids: [id] });
    const { page, open, hasNoFaultInAnyScheme } = await at('/models', 390);
    await page.getByRole('row', { name: /down.*failing.*network.*0% of 3/ }).waitFor();
    await hasNoFaultInAnyScheme();
    await open('/');
    await contains(page, 'down: failing network, 0% of 3 in 15 min');
    const more = page.getByRole('button', { name: /^Show \d+ more alert/ });
    const alert = page.getByRole('alert').filter({ hasText: 'Most calls to down fail.' });
    await vi.waitFor(async () => {
      if ((await alert.count()) === 0 && (await more.count()) > 0) await more.click();
      await alert.waitFor({ timeout: 1_000 });
    }, polling);
    await world.send('DELETE', `/models/${id}`);
    await alert.waitFor({ state: 'detached' });
  });

  it('mark data that could not be refreshed, for example while a store is down', async () => {
    const { page } = await at('/');
    const alert = page.getByRole('alert').filter({ hasText: 'Could not refresh the data flow' });
    expect(await alert.count()).toBe(0);
    const error = { code: 'STATE_UNAVAILABLE', message: 'The Postgres server does not respond.' };
    await page.route('**/api/v1/overview/flow', (route) => route.fulfill({ status: 503, json: { error } }));
    await alert.getByText(/The Postgres server does not respond\. Last updated \d+ s ago\./).waitFor();
    await contains(page, 'Gateway');
    await page.unroute('**/api/v1/overview/flow');
    await alert.waitFor({ state: 'detached' });
  });

  it('keep showing data when the server is gone, and an error where there is none', async () => {
    const { page, complaints } = await at('/');
    const go = (name: string) => page.getByRole('link', { name, exact: true }).click();
    const shown = [
      ['Extraction', 'acme'],
      ['Models', 'swift'],
      ['Organizations', 'busy'],
      // An entry of a model that failed in another test may still be open.
      ['Ledger', 'open entr'],
    ] as const;
    for (const [name, text] of shown) {
      await go(name);
      await contains(page, text);
    }
    expect(complaints).toEqual([]);
    await world.server.stop();
    const lost = page.getByRole('alert').filter({ hasText: 'Showing the last known data.' });
    await lost.waitFor();
    await page.getByText('disconnected').waitFor();
    for (const [name, text] of shown) {
      await go(name);
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await contains(page, text);
      expect(await lost.count()).toBe(1);
    }
    await go('Models');
    await page.getByRole('link', { name: 'swift', exact: true }).click();
    await page.getByText('Could not load the model.').waitFor();
    await go('Ledger');
    await page.getByText('Resolved', { exact: true }).click();
    await page.getByText('Could not load the entries.').waitFor();
  });
});
