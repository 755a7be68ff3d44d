// Page Knowledge in a real browser: search to evidence, review by keyboard, merge, undo, split.
import type { ApiResponse } from '../../src/api/client.ts';
import type { EntityDetail, EntityReview } from '../../src/api/entities.ts';
import type { Artifact, ArtifactStatuses, Artifacts, IngestResult } from '../../src/api/artifacts.ts';
import type { LedgerEntry } from '../../src/api/ledger.ts';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { RunningServer } from '../../src/app/index.ts';
import { startServer } from '../../src/app/start.ts';
import { resolveConfig } from '../../src/config/index.ts';
import { openBrowser, openDashboard } from '../support/dashboard-browser.ts';
import { databaseUrl, uniqueName } from '../support/services.ts';
import { callAsAdmin } from '../support/test-server.ts';

const longTimeout = { timeout: 60_000, interval: 50 };
/** Spaces: read only; for the review; for merges and splits. */
const [looked, reviewed, changed] = ['looked', 'reviewed', 'changed'] as const;
const notes = new URL('../../examples/knowledge/notes/', import.meta.url);

describe('dashboard page Knowledge', () => {
  let folder: string;
  let server: RunningServer;
  let browser: Browser;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
    const env = {
      DATABASE_URL: databaseUrl(),
      HEADWORKS_DATABASE_SCHEMA: uniqueName('app'),
      HEADWORKS_LOG_LEVEL: 'silent',
      HEADWORKS_PORT: '0',
      HEADWORKS_DRAIN_SECONDS: '1',
      HEADWORKS_JOBS_DRAIN_SECONDS: '1',
    };
    server = await startServer(resolveConfig({ flags: {}, cwd: folder, env }), { role: 'serve' });
    browser = await openBrowser({ webgl: true });
    await bringNotes([looked, reviewed, changed]);
  });
  afterAll(async () => {
    await browser.close();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const read = async <T>(path: string): Promise<T> =>
    (await callAsAdmin(server, 'GET', `/api/v1/knowledge${path}`)).body;

  /** Ingests the example notes into each space in order: name resolution depends on it. */
  async function bringNotes(spaces: readonly string[]): Promise<void> {
    for (const name of spaces) await callAsAdmin(server, 'POST', '/api/v1/knowledge/spaces', { name });
    for (const name of ['billing.eml', 'kickoff.md', 'partner.md', 'standup.md']) {
      const file = { name, content: (await readFile(new URL(name, notes))).toString('base64') };
      await Promise.all(spaces.map((space) => bring({ file, source_id: name, space })));
    }
  }

  /** Resolves when extraction has finished. */
  async function bring(document: {
    readonly space: string;
    readonly [field: string]: unknown;
  }): Promise<void> {
    const { body } = await callAsAdmin(server, 'POST', '/api/v1/knowledge/artifacts', document);
    const { id: uid } = body as IngestResult;
    await vi.waitFor(async () => {
      const { status } = await read<Artifact>(`/artifacts/${uid}?space=${document.space}`);
      expect(status.state).toBe('completed');
    }, longTimeout);
  }

  const pairsOf = async (space: string) => (await read<EntityReview>(`/pairs?space=${space}`)).pairs;
  const entitiesOf = async (space: string, name: string) =>
    (
      await read<ApiResponse<'GET /api/v1/knowledge/entities'>>(
        `/entities?space=${space}&name=${encodeURIComponent(name)}`,
      )
    ).entities;
  const entityOf = (space: string, id: string) => read<EntityDetail>(`/entities/${id}?space=${space}`);

  it.each([
    [390, 'light'],
    [1440, 'dark'],
  ] as const)('goes from a search to its evidence at %i px in the %s scheme', async (width, colorScheme) => {
    const space = looked;
    const { page, open, complaints, accessibilityFaults, overflow } = await openDashboard(
      browser,
      server,
      width,
    );
    await page.emulateMedia({ colorScheme });
    const isSound = async (where: string): Promise<void> => {
      // An axe run takes seconds: every page in dark, the most colorful ones in light.
      const isLookedThrough = colorScheme === 'dark' || where === 'entity' || where === 'artifacts';
      const faults = isLookedThrough ? await accessibilityFaults() : [];
      expect({ where, faults, overflow: await overflow() }).toEqual({ where, faults: [], overflow: 0 });
    };
    await open(`/knowledge?space=${space}`);
    await page.getByRole('textbox', { name: 'Query' }).fill('when was the launch moved');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('heading', { name: 'Related events' }).waitFor();
    await isSound('results');

    await page.getByRole('link', { name: 'Billing service before the launch' }).click();
    await page.locator('mark.document-target').first().waitFor();
    const words = await page.locator('mark.document-target').allTextContents();
    expect(words.map((word) => word.toLowerCase())).toEqual(expect.arrayContaining(['launch', 'move']));
    const decision = 'We decided with Bob to move the launch of Project Beacon to April 15.';
    await page.getByRole('article').getByRole('link', { name: decision }).click();
    await vi.waitFor(
      async () =>
        expect((await page.locator('mark.document-target').allTextContents()).join('')).toBe(decision),
      longTimeout,
    );
    await isSound('document');

    await goTo(page, 'Artifacts');
    await page.getByText('read by rules').nth(3).waitFor();
    await isSound('artifacts');
    await goTo(page, 'Entities');
    await page.getByRole('textbox', { name: 'Name or alias' }).fill('bob');
    await vi.waitFor(async () => expect(await page.getByRole('row').count()).toBe(2), longTimeout);
    await isSound('entities');
    await page.getByRole('link', { name: 'Bob Smith' }).click();
    await page.getByRole('img', { name: /Graph around Bob Smith: \d+ entities and \d+ events/ }).waitFor();
    await isSound('entity');
    await goTo(page, 'Review');
    await page.getByText('1 of 3').waitFor();
    await isSound('review');
    expect(complaints).toEqual([]);
  });

  it('merges with the key s, shows the next pair at once, and undoes the last verdict', async () => {
    const space = reviewed;
    const [first, second] = await pairsOf(space);
    if (!first || !second) throw new Error('The notes make three pairs.');
    const { page, open, complaints } = await openDashboard(browser, server);
    await open(`/knowledge/review?space=${space}`);
    await page.getByText('1 of 3').waitFor();
    await page.getByText('The same name.').waitFor();
    await page.getByText(/^(Organization|Email): \S+ \((left|right)\)\.$/).waitFor();

    await page.keyboard.press('s');
    await page.getByText('2 of 3').waitFor();
    await vi.waitFor(async () => {
      const { merges } = await entityOf(space, first.a.id);
      expect(merges.map(({ decided_by: by, undone_at: undone }) => [by, undone])).toEqual([['admin', null]]);
    }, longTimeout);
    expect((await entityOf(space, first.a.id)).id).toBe((await entityOf(space, first.b.id)).id);

    await page.keyboard.press('u');
    await page.getByText('1 of 3').waitFor();
    await vi.waitFor(async () => expect(await pairsOf(space)).toHaveLength(3), longTimeout);
    expect((await entityOf(space, first.a.id)).id).not.toBe((await entityOf(space, first.b.id)).id);

    await page.getByRole('button', { name: 'Decide later' }).click();
    await page.getByText('2 of 3').waitFor();
    await page.keyboard.press('ArrowLeft');
    await page.getByText('Postponed.').waitFor();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('d');
    await page.getByText('3 of 3').waitFor();
    await page.keyboard.press('d');
    await page.getByText('0 same, 2 different, 1 postponed.').waitFor();
    await vi.waitFor(async () => {
      const states = (await entityOf(space, second.a.id)).pairs.map(({ state }) => state);
      expect(states).toContain('different');
    }, longTimeout);
    expect((await pairsOf(space)).map(({ id, state }) => [id, state])).toEqual([[first.id, 'later']]);

    await page.getByRole('button', { name: 'Review remaining pairs' }).click();
    await page.keyboard.press('s');
    await page.getByText('All pairs decided').waitFor();
    expect(complaints).toEqual([]);
  });

  it('reports a pair decided by another reviewer and keeps it on screen', async () => {
    const space = looked;
    const [first] = await pairsOf(space);
    const { page, open } = await openDashboard(browser, server);
    await open(`/knowledge/review?space=${space}`);
    await page.getByText('1 of 3').waitFor();
    const decide = (verdict: string) =>
      callAsAdmin(server, 'POST', `/api/v1/knowledge/pairs/${first?.id}/verdict?space=${space}`, {
        verdict,
      });
    await page.getByText('live', { exact: true }).waitFor();
    await decide('different');
    // The live stream updates the page.
    await page.getByText('This pair was decided elsewhere.').waitFor();
    await page.keyboard.press('s');
    await page.getByText(/were decided to be different by admin/).waitFor();
    await page.getByText('1 of 3').waitFor();
    await decide('later');
    await vi.waitFor(async () => expect(await pairsOf(space)).toHaveLength(3), longTimeout);
  });

  it('reopens a pair when its verdict cannot be sent', async () => {
    const space = looked;
    const { page, open } = await openDashboard(browser, server);
    await open(`/knowledge/review?space=${space}`);
    await page.getByText('1 of 3').waitFor();
    await page.route(/\/verdict/, (route) => route.abort());
    await page.keyboard.press('s');
    await page.getByText('Action failed').waitFor();
    await page.getByText('1 of 3').waitFor();
    expect(await page.getByText(/\d decided/).count()).toBe(0);
    expect(await pairsOf(space)).toHaveLength(3);
  });

  it('draws the graph of an entity, expands it, and opens a clicked node', async () => {
    const space = looked;
    const [carol] = await entitiesOf(space, 'Carol');
    const { page, open, complaints } = await openDashboard(browser, server);
    await open(`/knowledge/entities/${carol?.id}?space=${space}`);
    const picture = page.getByRole('img', { name: /Graph around Carol Davis/ });
    await picture.waitFor();
    expect(await picture.locator('canvas').count()).toBeGreaterThan(2);
    const list = page.getByRole('region', { name: 'Graph as a list' });
    await clickANode(page);
    await vi.waitFor(() => expect(page.url()).not.toContain(carol?.id ?? ''), longTimeout);
    await page.goBack();
    await picture.waitFor();
    const before = await list.getByRole('listitem').count();
    await list.getByRole('button', { name: 'Expand Bob Smith' }).click();
    await vi.waitFor(
      async () => expect(await list.getByRole('listitem').count()).toBeGreaterThan(before),
      longTimeout,
    );
    await list.getByRole('link', { name: 'Bob Smith', exact: true }).click();
    await page.getByRole('heading', { level: 2, name: 'Bob Smith' }).waitFor();
    expect(page.url()).toContain(`space=${space}`);
    expect(complaints).toEqual([]);
  });

  it('merges, undoes and splits entities on the entity page', async () => {
    const space = changed;
    const [bob] = await entitiesOf(space, 'Bob');
    const [carol] = await entitiesOf(space, 'Carol');
    if (!bob || !carol) throw new Error('The notes name Bob and Carol.');
    const { page, open, complaints } = await openDashboard(browser, server);
    await open(`/knowledge/entities/${bob.id}?space=${space}`);
    await page.getByRole('img', { name: /Graph around Bob Smith/ }).waitFor();
    // What loads above the field can move it out of sight, which hides its list.
    await vi.waitFor(async () => {
      await page.getByRole('combobox', { name: 'Merge another entity into this one' }).fill('carol');
      await page.getByRole('option', { name: /Carol Davis/ }).click({ timeout: 5000 });
    }, longTimeout);
    await page.getByRole('button', { name: 'Merge entity' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Merge entity' }).click();
    await page.getByText('Merged Carol Davis into Bob Smith.').waitFor();
    expect((await entityOf(space, carol.id)).id).toBe(bob.id);

    await page.getByRole('button', { name: 'Undo merge' }).click();
    await page.getByText('Undone: Merged Carol Davis in the dashboard.').waitFor();
    expect((await entityOf(space, carol.id)).id).toBe(carol.id);

    await page.getByRole('checkbox', { name: 'Select Bob in Stand-up, 2026-03-16 for splitting' }).check();
    await page.getByRole('textbox', { name: 'Name of the new entity for 1 mention' }).fill('Bob Miller');
    await page.getByRole('button', { name: 'Split off mentions' }).click();
    await page.getByRole('heading', { level: 2, name: 'Bob Miller' }).waitFor();
    expect((await entitiesOf(space, 'Bob Miller')).map(({ mention_count: count }) => count)).toEqual([1]);
    expect(complaints).toEqual([]);
  });

  it('ingests pasted text into the space of an organization, and into no other', async () => {
    await callAsAdmin(server, 'POST', '/api/v1/organizations', { name: 'Acme' });
    const { page, open, complaints, hasNoFaultInAnyScheme } = await openDashboard(browser, server);
    await open('/knowledge/artifacts');
    await page.getByRole('combobox', { name: 'Space' }).click();
    await page.getByRole('option', { name: 'Acme: default' }).click();
    await page.getByText('No artifacts yet').waitFor();
    await page.getByRole('button', { name: 'Paste text' }).click();
    await page.getByRole('textbox', { name: 'Title' }).fill('Call with Dana');
    await page
      .getByRole('textbox', { name: 'Text' })
      .fill('Dana Reed promised to send the contract on Monday.');
    await page.getByRole('button', { name: 'Ingest text' }).click();
    await page.getByRole('heading', { level: 2, name: 'Call with Dana' }).waitFor();
    expect(page.url()).toContain('organization=Acme');
    const [artifact] = (await read<Artifacts>('/artifacts?organization=Acme')).artifacts;
    expect(artifact?.title).toBe('Call with Dana');
    expect((await read<Artifacts>('/artifacts')).artifacts).toEqual([]);
    const gone = '00000000-0000-7000-8000-000000000000';
    const { statuses } = await read<ArtifactStatuses>(
      `/artifacts/statuses?organization=Acme&ids=${artifact?.id},${gone}`,
    );
    expect(statuses.map((each) => each.id)).toEqual([artifact?.id]);

    await pretendUnread(page, artifact?.id ?? '');
    // Reload: a complete page is not refetched.
    await open('/ledger');
    await page.getByRole('button', { name: 'In “Call with Dana”: No model read this chunk.' }).click();
    await page.getByRole('link', { name: 'Call with Dana' }).click();
    await page.getByRole('heading', { level: 2, name: 'Call with Dana' }).waitFor();
    expect(page.url()).toContain('organization=Acme');
    await page.getByText('Read by rules instead of a model').waitFor();
    await page.getByText('chunk 0 ALL_MODELS_FAILED').waitFor();
    await hasNoFaultInAnyScheme();
    expect(complaints).toEqual([]);
  });

  it('shows how to get data on empty pages', async () => {
    const { page, open, complaints, accessibilityFaults } = await openDashboard(browser, server, 390);
    for (const [path, words] of [
      ['', 'Search your documents'],
      ['/artifacts', 'No artifacts yet'],
      ['/entities', 'No entities yet'],
      ['/review', 'No pairs to review'],
    ] as const) {
      await open(`/knowledge${path}`);
      await page.getByText(words).waitFor();
    }
    await goTo(page, 'Search');
    await page.getByRole('textbox', { name: 'Query' }).fill('anything');
    await page.keyboard.press('Enter');
    await page.getByText('No results').waitFor();
    expect(await accessibilityFaults()).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('keeps showing data when the server is gone, and an error for what it cannot load', async () => {
    const space = looked;
    const { page, open } = await openDashboard(browser, server);
    await open(`/knowledge/review?space=${space}`);
    await page.getByText('1 of 3').waitFor();
    await server.stop();
    await page.getByText('disconnected').waitFor();
    expect(await page.getByText('1 of 3').count()).toBe(1);
    await goTo(page, 'Entities');
    await page.getByText('Could not load the entities.').waitFor();
  });
});

/** Simulates a chunk for which no model was available: no model is configured here. */
async function pretendUnread(page: Page, uid: string): Promise<void> {
  const kind = 'knowledge.chunk-read-by-rules';
  const at = new Date().toISOString();
  const row: LedgerEntry = {
    id: uid,
    kind,
    subject: '62',
    cause: 'ALL_MODELS_FAILED',
    message: 'No model read this chunk.',
    details: { artifact_id: uid, space_id: 7 },
    count: 1,
    first_seen_at: at,
    last_seen_at: at,
    resolved_at: null,
    resolution: null,
    repair_attempts: 0,
    next_repair_at: null,
    last_repair_error: null,
  };
  await page.route(/\/api\/v1\/ledger\?/, (route) => route.fulfill({ json: { entries: [row], next: null } }));
  await page.route(/\/api\/v1\/ledger\/kinds/, (route) =>
    route.fulfill({ json: { kinds: [{ kind, open: 1, resolved: 0, repair: null }] } }),
  );
  await page.route(new RegExp(`/artifacts/${uid}\\?`), async (route) => {
    const response = await route.fetch();
    const artifact = (await response.json()) as Artifact;
    const model_fallbacks = [{ cause: 'ALL_MODELS_FAILED', positions: [0] }];
    await route.fulfill({ response, json: { ...artifact, status: { ...artifact.status, model_fallbacks } } });
  });
}

const goTo = (page: Page, section: string): Promise<void> =>
  page.getByRole('navigation', { name: 'Knowledge' }).getByRole('link', { name: section }).click();

/**
 * Clicks nodes until another page opens. The graph fills a square with 30 px of padding: some node lies at its upper or
 * left edge.
 */
async function clickANode(page: Page): Promise<void> {
  const frame = page.getByRole('img', { name: /Graph around/ });
  const box = await frame.boundingBox();
  if (!box) throw new Error('The graph is not visible.');
  const address = page.url();
  const side = box.height - 60;
  const left = box.x + (box.width - side) / 2;
  const steps = Array.from({ length: Math.ceil(side / 7) }, (_, index) => index * 7);
  const points = steps.flatMap((step) => [
    [left + step, box.y + 30],
    [left, box.y + 30 + step],
  ]);
  for (const [x = 0, y = 0] of points) {
    await page.mouse.move(x, y);
    if (!(await frame.locator('> *').getAttribute('style'))?.includes('pointer')) continue;
    await page.mouse.click(x, y);
    const navigated = page.waitForURL(({ href }) => href !== address, { timeout: 2_000 });
    if (await navigated.then(() => true).catch(() => false)) return;
  }
  throw new Error('No node found at the edges of the graph.');
}
