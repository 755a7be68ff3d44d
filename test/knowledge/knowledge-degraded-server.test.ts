// A complete server whose graph or embedder is unavailable: responses, metrics and alerts.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { callAsAdmin, startTestServer, testConfig } from '../support/test-server.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
}

async function knowledgeRules(): Promise<readonly Rule[]> {
  const file = new URL('../../monitoring/headworks-alerts.yml', import.meta.url);
  const { groups } = parse(await readFile(file, 'utf8')) as {
    groups: { name: string; rules: readonly Rule[] }[];
  };
  return groups.find(({ name }) => name === 'headworks-knowledge')?.rules ?? [];
}

describe('monitoring/headworks-alerts.yml, knowledge', () => {
  it('has the rules of the founding document', async () => {
    const shipped = (await knowledgeRules()).map(({ alert, labels }) => ({
      name: alert,
      severity: labels.severity,
    }));
    expect(shipped).toEqual([
      { name: 'HeadworksKnowledgeResolutionErrors', severity: 'warning' },
      { name: 'HeadworksKnowledgeConfirmationFailures', severity: 'warning' },
      { name: 'HeadworksKnowledgeGraphUnavailable', severity: 'critical' },
      { name: 'HeadworksKnowledgeExpansionTimeouts', severity: 'warning' },
      { name: 'HeadworksKnowledgeReviewBacklog', severity: 'info' },
    ]);
  });
});

describe('a server configured for Apache AGE on a Postgres without it', () => {
  it('ingests and searches, and reports the missing graph everywhere', async () => {
    const server = await startTestServer(await testConfig({ GRAPH_BACKEND: 'age' }));
    const call = (method: string, path: string, body?: unknown) => callAsAdmin(server, method, path, body);
    const knowledge = '/api/v1/knowledge';

    expect(await call('GET', `${knowledge}/graph`)).toMatchObject({
      status: 200,
      body: {
        backend: 'age',
        state: 'unavailable',
        detail: expect.stringContaining('GRAPH_BACKEND=sql') as string,
      },
    });
    const text = 'Alice Chen decided to launch in April. Bob Smith will write the plan.';
    const { status, body } = await call('POST', `${knowledge}/artifacts`, { text, title: 'Launch' });
    expect(status, JSON.stringify(body)).toBeLessThan(300);

    const openKinds = async () =>
      (await call('GET', '/api/v1/ledger')).body as { entries: readonly { kind: string }[] };
    await expect
      .poll(async () => (await openKinds()).entries.map(({ kind }) => kind))
      .toEqual(['knowledge.graph-skipped']);
    const search = { query: 'launch', graph_expand: true };
    expect(await call('POST', `${knowledge}/search`, search)).toMatchObject({
      status: 200,
      body: { primary_results: [{ title: 'Launch' }] },
    });

    await expect
      .poll(async () => (await call('GET', '/api/v1/alerts')).body)
      .toMatchObject({
        alerts: [{ name: 'HeadworksKnowledgeGraphUnavailable', severity: 'critical', state: 'firing' }],
      });
    const { checks } = (await call('GET', '/api/v1/doctor')).body as {
      checks: { name: string; state: string }[];
    };
    expect(checks.find(({ name }) => name.includes('graph'))).toMatchObject({ state: 'problem' });

    expect(await call('POST', `${knowledge}/graph/rebuild`)).toMatchObject({
      status: 503,
      body: { error: { message: expect.stringContaining('GRAPH_BACKEND=sql') as string } },
    });

    const metrics = await (
      await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${server.adminToken}` } })
    ).text();
    expect(metrics).toContain('headworks_knowledge_graph_available{backend="age"} 0');
    for (const { expr } of await knowledgeRules())
      for (const name of expr.match(/headworks_\w+/g) ?? [])
        expect(metrics).toMatch(new RegExp(`^# TYPE ${name} `, 'm'));
  });
});

describe('a server whose embedder is unavailable', () => {
  it('records the reason, and calls the embedder at once for a requested repair', async () => {
    let isUp = false;
    const embedder = createServer((request, response) => {
      let body = '';
      request.on('data', (piece: Buffer) => (body += piece.toString()));
      request.on('end', () => {
        const { input = [] } = JSON.parse(body || '{}') as { input?: readonly string[] };
        const data = input.map((_, index) => ({ index, embedding: [1, index + 1] }));
        response.writeHead(isUp ? 200 : 500, { 'content-type': 'application/json' });
        response.end(
          JSON.stringify(isUp ? { object: 'list', data } : { error: { message: 'out of order' } }),
        );
      });
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void embedder.close());
    await new Promise((resolve) => embedder.once('listening', resolve));
    const env = { EMBEDDER: 'gateway', HEADWORKS_KNOWLEDGE_COOLDOWN_SECONDS: '3600' };
    const server = await startTestServer(await testConfig(env));
    const call = (method: string, path: string, body?: unknown) => callAsAdmin(server, method, path, body);
    // Ingested without an embedder: no row, but it gets a vector as soon as there is one.
    await call('POST', '/api/v1/knowledge/artifacts', { text: 'An older note.' });
    const model = {
      name: 'own/embedder',
      base_url: `http://127.0.0.1:${(embedder.address() as AddressInfo).port}/v1`,
      env_var: null,
      capabilities: { embeddings: true },
    };
    const added = await call('POST', '/api/v1/models', model);
    expect(added.status, JSON.stringify(added.body)).toBe(201);

    const { status } = await call('POST', '/api/v1/knowledge/artifacts', {
      text: 'The launch is in April.',
    });
    expect(status).toBeLessThan(300);
    const open = async () =>
      (await call('GET', '/api/v1/ledger')).body as { entries: { kind: string; message: string }[] };
    await expect
      .poll(
        async () =>
          (await open()).entries.find(({ kind }) => kind === 'knowledge.chunk-not-embedded')?.message,
        {
          timeout: 60_000,
        },
      )
      .toContain('own/embedder failed: ');
    const search = () => call('POST', '/api/v1/knowledge/search', { query: 'launch' });
    expect((await search()).body).toMatchObject({
      warning: expect.stringContaining('called again in') as string,
    });

    isUp = true;
    await call('POST', '/api/v1/ledger/repair', {});
    await expect.poll(async () => (await open()).entries).toEqual([]);
    await expect.poll(async () => (await search()).body).not.toHaveProperty('warning');
  });

  it('reports in the doctor that the configured embedding model does not exist', async () => {
    const server = await startTestServer(await testConfig({ EMBEDDING_MODEL: 'emb/none' }));
    const { body } = await callAsAdmin(server, 'GET', '/api/v1/doctor');
    const { checks } = body as { checks: readonly { name: string }[] };
    expect(checks.find(({ name }) => name === 'vectors')).toMatchObject({
      state: 'problem',
      detail: expect.stringContaining('EMBEDDING_MODEL is emb/none') as string,
      remedy: expect.stringContaining('headworks models list') as string,
    });
  });
});
