// The demo as a new user runs it: interrupted, started again, tried out, stopped, started a third time.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { HeadworksProcess } from '../support/headworks-process.ts';
import { startHeadworks } from '../support/headworks-process.ts';
import { browserTimeoutMs, openBrowser } from '../support/dashboard-browser.ts';
import { temporaryFolder } from '../support/services.ts';

interface Ready {
  readonly url: string;
  readonly login_url: string;
  readonly organization: string;
  readonly api_key: string;
  readonly try: readonly { readonly what: string; readonly command: string }[];
}

const lines = (demo: HeadworksProcess): readonly Record<string, unknown>[] =>
  demo
    .stdout()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const stepsOf = (demo: HeadworksProcess) =>
  lines(demo).flatMap(({ event, step }) => (event === 'demo:step-started' ? [step] : []));

async function readyOf(demo: HeadworksProcess): Promise<Ready> {
  await demo.printed(/"state":"ready".*\n/);
  return lines(demo).find(({ state }) => state === 'ready') as unknown as Ready;
}

async function interrupt(demo: HeadworksProcess): Promise<number | string> {
  demo.child.kill('SIGINT');
  return demo.ended;
}

/** Whether something listens there. */
const isListening = (url: string) =>
  fetch(url).then(
    () => true,
    () => false,
  );

/** Pasted into a shell in which `node` is this one; `headworks` is installed nowhere. */
const shellIn = (folder: string) => async (command: string) => {
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}` };
  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', command], { cwd: folder, env });
  return stdout + stderr;
};

interface Named {
  readonly name: string;
}

async function asker(url: string, cwd: string) {
  const token = (await readFile(join(cwd, '.headworks/demo/admin-token'), 'utf8')).trim();
  return async (path: string) =>
    (await (
      await fetch(`${url}/api/v1/${path}`, { headers: { authorization: `Bearer ${token}` } })
    ).json()) as never;
}

/** What the output reports about the models and about the dashboard whose owner changed. */
async function inStory(url: string, cwd: string) {
  const get = await asker(url, cwd);
  const models: readonly (Named & { readonly available_at: string | null })[] = await get('models');
  const { runs }: { runs: readonly { id: string; state: string }[] } = await get('extraction/runs');
  const { versions }: { versions: readonly object[] } = await get(
    `extraction/runs/${runs[0]?.id}/vault/item?type=dashboards&item=7`,
  );
  const inTenMinutes = new Date(Date.now() + 600_000).toISOString();
  const away = models.filter(({ available_at: at }) => at !== null && at > inTenMinutes);
  return {
    away: away.map(({ name }) => name).toSorted(),
    runs: runs.map(({ state }) => state),
    versions: versions.length,
  };
}

/** What must exist once. */
async function inStore(url: string, cwd: string) {
  const get = await asker(url, cwd);
  const models: readonly Named[] = await get('models?configured_only=true');
  const { artifacts }: { artifacts: readonly object[] } = await get('knowledge/artifacts?limit=500');
  const { organizations }: { organizations: readonly Named[] } = await get('organizations');
  const { sources }: { sources: readonly Named[] } = await get('extraction/sources');
  const { executions }: { executions: readonly object[] } = await get('executions?limit=500');
  return {
    models: models.map(({ name }) => name).toSorted(),
    organizations: organizations.map(({ name }) => name),
    sources: sources.map(({ name }) => name),
    artifacts: artifacts.length,
    executions: executions.length,
  };
}

/** Opens the dashboard by the login link. With HEADWORKS_WRITE_PICTURE set, writes the picture of the README. */
async function openFlowPage(loginUrl: string): Promise<string> {
  const browser = await openBrowser();
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 700 }, colorScheme: 'light' });
    page.setDefaultTimeout(browserTimeoutMs);
    await page.goto(loginUrl);
    await page.getByText('live', { exact: true }).waitFor();
    await page.getByText('Per-minute figures').waitFor();
    const path = process.env['HEADWORKS_WRITE_PICTURE'];
    if (path !== undefined) await page.screenshot({ path });
    return await page.locator('main').innerText();
  } finally {
    await browser.close();
  }
}

describe('headworks demo', () => {
  it('continues after Ctrl-C, its five commands work, and it leaves nothing running', async () => {
    const cwd = await temporaryFolder();
    // A key of the user, which it must not use.
    const start = () => startHeadworks(['demo', '--json', '--port', '0'], cwd, { GROQ_API_KEY: 'gsk_mine' });

    const first = start();
    await first.printed(/"step":"documents"/);
    expect(await interrupt(first)).toBe(130);

    const second = start();
    const ready = await readyOf(second);
    expect(stepsOf(second)).toEqual(['documents', 'vault', 'review', 'tenants', 'executions', 'throttled']);

    expect(await inStory(ready.url, cwd)).toEqual({
      away: ['atlas/large', 'harbor/classic', 'nimbus/flash'],
      runs: ['incomplete', 'incomplete'],
      versions: 2,
    });

    expect(await openFlowPage(ready.login_url)).toMatch(/Sources[\s\S]*Gateway[\s\S]*Ledger/);

    const shell = shellIn(cwd);
    expect(ready.try).toHaveLength(5);
    expect(ready.try[4]?.what).toContain('rules read 2 passages.');
    const outputs: string[] = [];
    for (const { command } of ready.try) outputs.push(await shell(command));
    const [decided, official, review, tenant, repaired] = outputs;
    expect(decided).toMatch(/Mara Lindqvist decided that net revenue[\s\S]*Related:\n/);
    expect(official).toMatch(/Revenue Overview[\s\S]*Revenue KPIs/);
    expect(official).toMatch(/Mentioned: .*(Mara Lindqvist|Tomás Herrera)/);
    expect(review).toMatch(/Okafor .*S\. Okafor/);
    expect(tenant?.match(/ (200|429)$/gm)?.toSorted()).toEqual([' 200', ' 200', ' 429']);
    expect(tenant).toContain('maximum concurrent API requests limit (2/2)');
    expect(repaired).toContain('Everything is repaired.');

    const before = await inStore(ready.url, cwd);
    // Only its own models: provider keys of the user's environment are not read.
    expect(before.models).toEqual([
      'atelier/drafts',
      'atlas/large',
      'harbor/classic',
      'nimbus/flash',
      'quartz/mini',
    ]);
    expect(ready.login_url).toMatch(/\/dashboard\/login#./);

    expect(await interrupt(second)).toBe(130);
    expect(await isListening(ready.url)).toBe(false);

    const third = start();
    const { url, try: later } = await readyOf(third);
    expect(later[4]?.what).toContain('Models have read every passage');
    expect(stepsOf(third)).toEqual([]);
    expect(await inStore(url, cwd)).toEqual(before);
    expect(await interrupt(third)).toBe(130);
  });
});
