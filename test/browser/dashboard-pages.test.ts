// The pages Flow, Extraction, Models, Tenants and Ledger in a real browser, on one server with something on each.
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type {
  ExecutionsAnswer,
  ExtractionRunsAnswer,
  LedgerPage,
  LimitAnswer,
  OrganizationKeysAnswer,
  VaultSummaryAnswer,
} from '../../src/http/contract.ts';
import { openBrowser, openDashboard } from '../support/dashboard-browser.ts';
import { patient, startDashboardWorld, type DashboardWorld } from '../support/dashboard-world.ts';
import { callDoor } from '../support/tenancy/tenant-house.ts';

describe('the pages of the dashboard', () => {
  let world: DashboardWorld;
  let browser: Browser;
  beforeAll(async () => {
    [world, browser] = await Promise.all([startDashboardWorld(), openBrowser()]);
    // Looked at every 15 seconds: it fires by the time that its test comes.
    await world.refuse(70);
  }, 120_000);
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
  ] as const)('show what there is, %i px wide, in %s colours', async (width, colorScheme) => {
    const { page, open, complaints, accessibilityFaults, overflow } = await openDashboard(
      browser,
      world.server,
      width,
    );
    await page.emulateMedia({ colorScheme });
    const run = `/extraction/runs/${world.runs[1].id}`;
    const { id: barred } = await world.model('barred');
    const pages: readonly (readonly [path: string, shown: readonly string[]])[] = [
      ['/', ['2 of 100 under way', 'limited: rate-limit, in', 'key-refused: 2', 'acme: incomplete']],
      ['/extraction', ['Extract now', '2 of 3 types', 'items/s']],
      [run, ['1 page did not come', 'server-error', 'Ask for them again']],
      [`${run}/vault?type=users`, ['Show more', 'gone, noticed']],
      [`${run}/vault?type=users&item=1`, ['2 versions are kept', 'Older version']],
      ['/models', ['swift', 'back in', 'rate-limit', 'Try a prompt']],
      [`/models/${barred}`, ['Left alone', 'Who said how long', 'Why this place', 'authentication']],
      ['/tenants', ['2 of 100 under way', 'All together', 'Executions']],
      [`/tenants/${world.busy.organizationId}`, ['2 of 2 under way', 'works', 'executing']],
      ['/ledger', ['2 open', 'Repair everything', 'authentication', 'old']],
      ['/ledger?state=repaired', ['Nothing was repaired yet']],
      ['/nowhere', ['There is no such page']],
      ['/models/999999', ['Cannot read the model']],
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
    // Of the model that is not there.
    expect(complaints).toEqual([expect.stringContaining('404')]);
  });

  /** What nobody should have to scroll a table sideways for. */
  function inSight(path: string, page: Page): readonly Locator[] {
    const executing = page.getByText('executing', { exact: true }).first();
    if (path === '/tenants') return [button(page, 'Change the limit of busy'), executing];
    if (path === '/extraction')
      return [page.getByText('2 of 3 types').first(), page.getByText(/items\/s/).first()];
    if (path.startsWith('/extraction/runs/') && !path.includes('vault'))
      return [page.getByText('server-error', { exact: true }).first()];
    if (path === '/models') return [page.getByRole('columnheader', { name: 'Success' })];
    return path.startsWith('/tenants/') ? [executing] : [];
  }

  async function rightEdge(what: Locator): Promise<number> {
    const box = await what.boundingBox();
    if (!box) throw new Error('It is not drawn.');
    return box.x + box.width;
  }

  /** Wherever it stands, in one element or in several. */
  async function contains(page: Page, text: string): Promise<void> {
    await vi.waitFor(async () => {
      const shown = await page.locator('main').innerText();
      expect(shown.replaceAll(/\s+/g, ' ')).toContain(text);
    }, patient);
  }

  it('lead whoever walks by keyboard to what can be done, and show where they are', async () => {
    const { page, open } = await openDashboard(browser, world.server);
    const goals = [
      ['/', 'Sources'],
      ['/extraction', 'Extract now from acme'],
      ['/models', 'Prompt'],
      ['/tenants', 'Change the limit of busy'],
      ['/ledger', 'Repair everything'],
    ] as const;
    for (const [path, name] of goals) {
      await open(path);
      await page.getByRole('link', { name: 'Flow', exact: true }).waitFor();
      await contains(
        page,
        name === 'Prompt' ? 'Try a prompt' : path === '/tenants' ? 'busy' : (name.split(' ')[0] ?? ''),
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

  it('change a limit in place, and it counts', async () => {
    const { page } = await at('/tenants');
    const limit = () => world.read<LimitAnswer>(`/limits/${world.quiet.organizationId}`);
    await button(page, 'Change the limit of quiet').click();
    await page.getByRole('textbox', { name: 'Limit of quiet' }).fill('7');
    await page.keyboard.press('Enter');
    await page.getByText('quiet may have 7 under way at once.').waitFor();
    expect(await limit()).toMatchObject({ custom_limit: 7, limit: 7 });
    await contains(page, '0 of 7');
    // Who edits by keyboard is back where they began.
    await page.keyboard.press('Enter');
    await button(page, 'Default').click();
    await page.getByText('quiet has the default limit again.').waitFor();
    expect(await limit()).toMatchObject({ custom_limit: null, limit: 20 });
    await button(page, 'Change the limit of quiet').click();
    const field = page.getByRole('textbox', { name: 'Limit of quiet' });
    // What is typed stays, and is not made into another number.
    for (const typed of ['1.5', '1e9', '99999999999', '0']) {
      await field.fill('');
      await field.pressSequentially(typed);
      await page.getByText('A whole number, 1 to 2147483647.').waitFor();
      expect(await field.inputValue()).toBe(typed);
      expect(await button(page, 'Save').isDisabled()).toBe(true);
    }
    expect(await limit()).toMatchObject({ custom_limit: null });
    await page.keyboard.press('Escape');
    expect(await field.count()).toBe(0);
  });

  it('say what did not work so that everybody can read it, and keep what was typed', async () => {
    const { page, open, accessibilityFaults, hasNoFaultInAnyScheme } = await openDashboard(
      browser,
      world.server,
    );
    const reason = `It ended because ${'one thing after the other went wrong, '.repeat(8)}and nobody helped.`;
    await page.route(/\/api\/v1\/executions\?/, async (route) => {
      const response = await route.fetch();
      const { executions, next } = (await response.json()) as ExecutionsAnswer;
      const failed = executions.map((each) => ({ ...each, error: { code: 'X', message: reason } }));
      await route.fulfill({ response, json: { executions: failed, next } });
    });
    await open('/tenants');
    await page.getByRole('button', { name: 'all of it' }).first().press('Enter');
    await page.getByText(reason).waitFor();

    await page.route(/\/api\/v1\/limits\//, (route) => route.abort());
    await button(page, 'Change the limit of quiet').click();
    await page.getByRole('textbox', { name: 'Limit of quiet' }).fill('7');
    await page.keyboard.press('Enter');
    const failure = page.getByRole('alert').filter({ hasText: 'That did not work' });
    // It stays while the mouse is on it. What fades in is too pale until it is there.
    await failure.hover();
    const opacity = `getComputedStyle(document.querySelector('.mantine-Notification-root')).opacity`;
    await vi.waitFor(async () => expect(await page.evaluate(opacity)).toBe('1'), patient);
    await hasNoFaultInAnyScheme();
    expect(await failure.count()).toBe(1);
    expect(await page.getByRole('textbox', { name: 'Limit of quiet' }).inputValue()).toBe('7');

    await button(page, 'Add an organization').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name' }).fill('busy');
    await dialog.getByRole('button', { name: 'Add' }).click();
    await dialog.getByText(/There is already an organization/).waitFor();
    expect(await dialog.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('busy');
    await vi.waitFor(async () => expect(await accessibilityFaults()).toEqual([]), patient);
    await dialog.getByRole('textbox', { name: 'Name' }).fill('third');
    await dialog.getByRole('button', { name: 'Add' }).click();
    await page.getByText('third is added.').waitFor();
    await dialog.waitFor({ state: 'detached' });

    await page.route(/\/dashboard\/session/, (route) => route.abort());
    await button(page, 'Log out').click();
    await page.getByText('You are still logged in').waitFor();
    expect(page.url()).toContain('/tenants');
  });

  it('make a key that works and is shown once, and revoke it', async () => {
    const { organizationId } = world.quiet;
    const { page, accessibilityFaults } = await at(`/tenants/${organizationId}`);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.getByRole('textbox', { name: 'A new key for' }).fill('second');
    await button(page, 'Make a key').click();
    const key = await page.locator('code', { hasText: /^hwo_[\w-]{40,}$/ }).innerText();
    const call = () => callDoor(world.server, { ...world.quiet, key }, { query: '?timeout=60' });
    expect(await call()).toMatchObject({ status: 200 });
    expect(await accessibilityFaults()).toEqual([]);
    await page.reload();
    await page.getByRole('row', { name: /second/ }).waitFor();
    expect(await page.content()).not.toContain(key);

    await page
      .getByRole('row', { name: /second/ })
      .getByRole('button', { name: 'Revoke' })
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('The key second is revoked.').waitFor();
    await page.getByRole('row', { name: /second.*revoked/ }).waitFor();
    const { keys } = await world.read<OrganizationKeysAnswer>(`/organizations/${organizationId}/keys`);
    expect(keys.find(({ name }) => name === 'second')?.revoked_at).not.toBeNull();
    expect(await call()).toMatchObject({ status: 401 });
  });

  it('cool, warm and disable a model, and show the models that a prompt tried', async () => {
    const { id } = await world.model('steady');
    const { page, open } = await at(`/models/${id}`);
    await button(page, 'Leave it alone for 10 min').click();
    await page.getByText(/^back in (9|10) min/).waitFor();
    expect((await world.model('steady')).cooldowns).toMatchObject([
      { cause: 'by-hand', reason: 'by hand, in the dashboard' },
    ]);
    await button(page, 'Ask it again now').click();
    await page.getByText('available', { exact: true }).waitFor();
    expect((await world.model('steady')).cooldowns).toEqual([]);
    await button(page, 'Disable').click();
    await page.getByText('disabled', { exact: true }).waitFor();
    expect((await world.model('steady')).is_active).toBe(false);
    await button(page, 'Enable').click();
    await page.getByText('available', { exact: true }).waitFor();
    await button(page, 'Ask it something cheap').click();
    await page.getByText(/steady answered in \d+ ms/).waitFor();

    await world.send('PATCH', `/models/${(await world.model('never')).id}/active`, { is_active: false });
    world.models.script('swift', [{ fault: '500' }]);
    world.models.script('steady', [{ fault: '500' }]);
    await open('/models');
    await page.getByRole('textbox', { name: 'Prompt' }).fill('Is it so?');
    await button(page, 'Ask').click();
    const box = page.getByRole('region', { name: 'Try a prompt' });
    await box.getByText(/answered in .* after \d attempts/).waitFor();
    await box.getByText('Yes.', { exact: true }).waitFor();
    await box.getByText('success', { exact: true }).waitFor();
    const tried = await box.getByText(/^(swift|steady)$/).allInnerTexts();
    expect(tried.length).toBeGreaterThanOrEqual(2);
    expect(await box.getByText('server-error', { exact: true }).count()).toBeGreaterThanOrEqual(1);
    await world.send('PATCH', `/models/${(await world.model('never')).id}/active`, { is_active: true });
  });

  it('show two versions side by side, and ask again for what did not come', async () => {
    const { page, open } = await at(`/extraction/runs/${world.runs[1].id}/vault?type=users`);
    await page
      .getByRole('row', { name: / 2 \d+$/ })
      .first()
      .getByRole('button')
      .click();
    const versions = page.locator('pre');
    await vi.waitFor(async () => expect(await versions.count()).toBe(2), patient);
    const marked = await Promise.all(
      [0, 1].map((side) => versions.nth(side).locator('mark').allInnerTexts()),
    );
    expect(marked[0]?.length).toBeGreaterThan(0);
    expect(marked[0]).not.toEqual(marked[1]);
    const folded = (await versions.nth(0).innerText()).length;
    await page.getByRole('switch', { name: 'Only what differs' }).click();
    await vi.waitFor(
      async () => expect((await versions.nth(0).innerText()).length).toBeGreaterThan(folded),
      patient,
    );
    expect(await versions.nth(0).locator('mark').count()).toBe(marked[0]?.length);

    world.looker.configure({ failures: [] });
    await open(`/extraction/runs/${world.runs[1].id}`);
    await button(page, 'Ask for them again').click();
    await vi.waitFor(() => expect(page.url()).not.toContain(world.runs[1].id), patient);
    await page.getByText('completed', { exact: true }).first().waitFor();
    await contains(page, 'Everything that was asked for came');
    const { runs } = await world.read<ExtractionRunsAnswer>('/extraction/runs?limit=1');
    expect(page.url()).toContain(runs[0]?.id ?? 'none');
    const path = `/extraction/runs/${runs[0]?.id}/vault`;
    expect((await world.read<VaultSummaryAnswer>(path)).dead_letters).toEqual([]);
  });

  it('repair one row and all others, with progress, and keep the history', async () => {
    const open = async () => (await world.read<LedgerPage>('/ledger')).entries.map(({ subject }) => subject);
    const warm = async (name: string) => {
      const { id } = await world.model(name);
      await world.send('PATCH', `/models/${id}/availability?retry_after_seconds=0`);
    };
    const { page } = await at('/ledger');
    await page.getByRole('button', { name: /barred/ }).click();
    // Its key is still left alone: nothing can be said of it yet.
    await page.getByRole('button', { name: 'Repair this one' }).click();
    await page.getByText('Repair of one row ended: 1 still open').waitFor();
    await warm('barred');
    await page.getByRole('button', { name: 'Repair this one' }).click();
    await page.getByText('Repair of one row ended: 1 repaired').waitFor();
    expect(await open()).toEqual(['locked']);
    await warm('locked');
    await button(page, 'Repair everything').click();
    await page.getByText('Repair of everything ended: 1 repaired').waitFor();
    const progress = page.getByRole('progressbar', { name: 'Progress of the repair of everything' });
    await vi.waitFor(
      async () => expect(await progress.first().getAttribute('aria-valuenow')).toBe('100'),
      patient,
    );
    await contains(page, 'Nothing is open');
    expect(await open()).toEqual([]);
    await page.getByText('History').click();
    await page.getByRole('button', { name: /barred/ }).waitFor();
    await page.getByRole('button', { name: /locked/ }).waitFor();
  });

  it('show alerts wherever one is, once they fire', async () => {
    const { page } = await at('/');
    const alert = page.getByRole('alert').filter({ hasText: 'HeadworksAdmissionRejectionBurst' });
    // On a busy machine it may be over already.
    await vi.waitFor(
      () =>
        alert.waitFor({ timeout: 2_000 }).catch(async (error: unknown) => {
          await world.refuse(70);
          await page.reload();
          throw error;
        }),
      { timeout: 40_000, interval: 100 },
    );
    for (const name of ['Extraction', 'Models', 'Tenants', 'Knowledge', 'Ledger', 'Flow']) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await alert.waitFor();
    }
  });

  it('keep what they showed when the server is gone, and say so where there is nothing to show', async () => {
    const { page, complaints } = await at('/');
    const go = (name: string) => page.getByRole('link', { name, exact: true }).click();
    const shown = [
      ['Extraction', 'acme'],
      ['Models', 'swift'],
      ['Tenants', 'busy'],
      ['Ledger', 'Nothing is open'],
    ] as const;
    for (const [name, text] of shown) {
      await go(name);
      await contains(page, text);
    }
    expect(complaints).toEqual([]);
    await world.server.stop();
    const lost = page.getByRole('alert').filter({ hasText: 'What you see is what it said last.' });
    await lost.waitFor();
    await page.getByText('no connection').waitFor();
    for (const [name, text] of shown) {
      await go(name);
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await contains(page, text);
      expect(await lost.count()).toBe(1);
    }
    await go('Models');
    await page.getByRole('link', { name: 'swift', exact: true }).click();
    await page.getByText('Cannot read the model until it is back.').waitFor();
    await go('Ledger');
    await page.getByText('History').click();
    await page.getByText('Cannot read the rows until it is back.').waitFor();
  });
});
