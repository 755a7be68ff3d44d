// Benchmarks of the gateway: throughput and added latency compared with a minimal proxy and another gateway, cooldowns, streams, aborts.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Pool } from 'undici';
import { readScenario } from '../src/simulators/models/scenario.ts';
import { startModelsSimulator } from '../src/simulators/models/simulator.ts';
import type { Figure } from './figure.ts';
import type { Measured } from './gateway/cpu.ts';
import { cpuPerRequest } from './gateway/cpu.ts';
import { latencies } from './gateway/latency.ts';
import type { Latency } from './gateway/latency.ts';
import { load } from './gateway/load.ts';
import type { Running } from './gateway/processes.ts';
import { bareProxy, headworks, mockProvider, portkey } from './gateway/processes.ts';
import { installPeers } from './peers.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const token = 'bench-admin-token-0123456789';
const path = '/v1/chat/completions';
const asAdmin = { authorization: `Bearer ${token}` };
const bodyFor = (model: string, more: object = {}): string =>
  JSON.stringify({
    model,
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: 'Tell me something about foxes. '.repeat(10) },
    ],
    ...more,
  });

export async function gatewayFigures(): Promise<readonly Figure[]> {
  await installPeers();
  await promisify(execFile)(process.execPath, ['scripts/build.ts'], { cwd: root });
  const folder = await mkdtemp(join(tmpdir(), 'headworks-bench-'));
  await using closing = new AsyncDisposableStack();
  closing.defer(() => rm(folder, { recursive: true, force: true }));
  const started = async (running: Promise<Running>): Promise<Running> => {
    const server = await running;
    closing.defer(() => server.stop());
    return server;
  };
  const fast = await started(mockProvider());
  const slow = await started(mockProvider(50));
  const bare = await started(bareProxy(fast.url));
  const bareBeforeSlow = await started(bareProxy(slow.url));
  const ours = await started(headworks(folder, token));
  const peer = await started(portkey());
  for (const [name, base] of [
    ['fast', fast.url],
    ['slow', slow.url],
  ] as const)
    await addModel(ours, { name, base_url: `${base}/v1`, model: 'mock' });
  return [
    ...(await throughput({ fast, bare, ours, peer })),
    await processes(ours, fast, closing),
    ...(await latency(slow, bareBeforeSlow, ours)),
    await pacedLatency(fast, bare, ours),
    await cooldown(ours, fast),
    ...(await streams(ours)),
  ];
}

async function addModel(ours: Running, model: object): Promise<void> {
  const answer = await fetch(`${ours.url}/api/v1/models`, {
    method: 'POST',
    headers: { ...asAdmin, 'content-type': 'application/json' },
    body: JSON.stringify({ env_var: 'BENCH_API_KEY', ...model }),
  });
  if (answer.status !== 201) throw new Error(`The model was not added: ${await answer.text()}`);
}

/**
 * Seconds of full load before a server is measured. V8 optimizes code for about that long, on threads that compete with the
 * server on a small machine: 36 µs of a request's CPU time at first, 2 µs after it.
 */
const warmUpSeconds = 20;

/** Medians of five rounds in alternation, so that load of the machine affects all equally. */
async function throughput(
  servers: Readonly<Record<'fast' | 'bare' | 'ours' | 'peer', Running>>,
): Promise<Figure[]> {
  const { fast, bare, ours, peer } = servers;
  const targets = {
    direct: { url: fast.url + path, headers: {}, body: bodyFor('mock') },
    bare: { url: bare.url + path, headers: {}, body: bodyFor('mock') },
    ours: {
      url: ours.url + path,
      headers: { ...asAdmin, 'x-headworks-fallback': 'none' },
      body: bodyFor('fast'),
    },
    peer: {
      url: peer.url + path,
      headers: {
        authorization: 'Bearer sk-bench',
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': `${fast.url}/v1`,
      },
      body: bodyFor('mock'),
    },
  };
  const rounds = { direct: [], bare: [], ours: [], peer: [] } as Record<keyof typeof targets, number[]>;
  const names = Object.keys(targets) as (keyof typeof targets)[];
  for (let round = 0; round < 6; round++)
    for (const name of names) {
      const result = await load(targets[name].url, {
        ...targets[name],
        connections: 32,
        seconds: round === 0 ? warmUpSeconds : 4,
      });
      if (result.failed > 0) throw new Error(`${name}: ${result.failed} requests failed.`);
      if (round > 0) rounds[name].push(result.perSecond);
    }
  const [direct, bareRate, ourRate, peerRate] = names.map((name) => median(rounds[name])) as [
    number,
    number,
    number,
    number,
  ];
  const cpuTargets = {
    bare: { ...targets.bare, pid: bare.pid },
    ours: { ...targets.ours, pid: ours.pid },
  };
  const streamed = ({ body, ...target }: Measured): Measured => ({
    ...target,
    body: `${body.slice(0, -1)},"stream":true}`,
  });
  const streamTargets = { bare: streamed(cpuTargets.bare), ours: streamed(cpuTargets.ours) };
  return [
    ...cpuFigure('a request', await cpuPerRequest(cpuTargets, 32), 1, 0.7),
    ...cpuFigure('an event of a stream', await cpuPerRequest(streamTargets, 16, 20), eventsPerStream, 0.75),
    { name: 'direct to the mock, 32 connections', value: direct, unit: 'req/s' },
    {
      name: 'gateway, 32 connections',
      value: ourRate,
      unit: 'req/s',
      against: { name: 'a bare Node proxy', value: bareRate },
      goal: 'at least 0.7 of the bare proxy',
      isMet: ourRate / bareRate >= 0.7,
    },
    {
      name: 'gateway, 32 connections',
      value: ourRate,
      unit: 'req/s',
      against: { name: 'Portkey 1.15.2', value: peerRate },
      goal: 'at least 6 of Portkey',
      isMet: ourRate / peerRate >= 6,
    },
  ];
}

/** With the last one of the mock, which has two in one chunk. */
const eventsPerStream = 101;

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

function cpuFigure(
  what: string,
  cpu: Readonly<Record<'bare' | 'ours', number>> | undefined,
  parts: number,
  goal: number,
): readonly Figure[] {
  if (!cpu) return [];
  return [
    {
      name: `processor time of ${what}, main thread`,
      value: cpu.ours / parts,
      unit: 'µs',
      against: { name: 'a bare Node proxy', value: cpu.bare / parts },
      goal: `at most 1/${goal} of the bare proxy`,
      isMet: cpu.bare / cpu.ours >= goal,
    },
  ];
}

/** The load generator and the provider need processor time, too: on two cores they leave about one to the server. */
async function processes(one: Running, fast: Running, closing: AsyncDisposableStack): Promise<Figure> {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-bench-'));
  closing.defer(() => rm(folder, { recursive: true, force: true }));
  const two = await headworks(folder, token, 2);
  try {
    await addModel(two, { name: 'fast', base_url: `${fast.url}/v1`, model: 'mock' });
    const rates = { one: [] as number[], two: [] as number[] };
    for (let round = 0; round < 6; round++)
      for (const [name, { url }] of Object.entries({ one, two })) {
        const result = await load(url + path, {
          headers: { ...asAdmin, 'x-headworks-fallback': 'none' },
          body: bodyFor('fast'),
          connections: 32,
          seconds: round === 0 ? warmUpSeconds : 4,
        });
        if (result.failed > 0) throw new Error(`${name}: ${result.failed} requests failed.`);
        if (round > 0) rates[name as keyof typeof rates].push(result.perSecond);
      }
    return {
      name: `gateway with --processes 2, 32 connections, ${availableParallelism()} cores for all`,
      value: median(rates.two),
      unit: 'req/s',
      against: { name: '--processes 1', value: median(rates.one) },
    };
  } finally {
    await two.stop();
  }
}

/** Compared with what the minimal proxy adds, which is not negligible on a busy machine. */
async function latency(slow: Running, bare: Running, ours: Running): Promise<Figure[]> {
  const headers = { ...asAdmin, 'x-headworks-fallback': 'none' };
  const measured = await latencies(
    {
      direct: { url: slow.url, headers: {}, body: bodyFor('mock') },
      bare: { url: bare.url, headers: {}, body: bodyFor('mock') },
      ours: { url: ours.url, headers, body: bodyFor('slow') },
    },
    { path, connections: 8, turns: 8 },
  );
  const added = (name: keyof Latency, label: string, goalMs: number): Figure => {
    const value = measured.ours[name] - measured.direct[name];
    return {
      name: `added latency, upstream at 50 ms, 8 connections, ${label}`,
      value,
      unit: 'ms',
      against: { name: 'a bare Node proxy', value: measured.bare[name] - measured.direct[name] },
      goal: `under ${goalMs} ms`,
      isMet: value < goalMs,
    };
  };
  return [added('p50Ms', 'p50', 1), added('p99Ms', 'p99', 5)];
}

const pacedPerSecond = 4_000;

/** At a load that all of them can take: at the highest one, latency is that of the queue. */
async function pacedLatency(fast: Running, bare: Running, ours: Running): Promise<Figure> {
  const headers = { ...asAdmin, 'x-headworks-fallback': 'none' };
  const measured = await latencies(
    {
      direct: { url: fast.url, headers: {}, body: bodyFor('mock') },
      bare: { url: bare.url, headers: {}, body: bodyFor('mock') },
      ours: { url: ours.url, headers, body: bodyFor('fast') },
    },
    { path, connections: 64, turns: 5, perSecond: pacedPerSecond },
  );
  const value = measured.ours.p50Ms - measured.direct.p50Ms;
  const bareMs = measured.bare.p50Ms - measured.direct.p50Ms;
  return {
    name: `added latency at ${pacedPerSecond.toLocaleString('en')} requests per second, p50`,
    value,
    unit: 'ms',
    against: { name: 'a bare Node proxy', value: bareMs },
    goal: 'at most 1.5 of the bare proxy',
    isMet: value / bareMs <= 1.5,
  };
}

/** The best of three models is rate-limited: it should receive the first request only. */
async function cooldown(ours: Running, fast: Running): Promise<Figure> {
  await addModel(ours, { name: 'refuses', base_url: `${fast.url}/v1`, model: 'limited' });
  for (let request = 0; request < 50; request++) {
    const answer = await fetch(ours.url + path, {
      method: 'POST',
      headers: { ...asAdmin, 'content-type': 'application/json' },
      body: bodyFor('refuses,fast,slow'),
    });
    if (!answer.ok) throw new Error(`A request failed: ${await answer.text()}`);
    await answer.arrayBuffer();
  }
  const { limited } = (await (await fetch(`${fast.url}/__stats`)).json()) as { readonly limited: number };
  return {
    name: 'calls to a model that responds 429 with Retry-After: 60, in 50 requests',
    value: limited,
    unit: 'calls',
    goal: '1',
    isMet: limited === 1,
  };
}

const streamCount = 1_000;

async function streams(ours: Running): Promise<Figure[]> {
  const scenario = readScenario({
    providers: [{ name: 'sim', models: [{ name: 'talker', token_ms: 250 }] }],
  });
  const simulator = await startModelsSimulator({ scenario });
  const pool = new Pool(ours.url, { connections: streamCount, pipelining: 1 });
  const promptOf = (number: number) => `I am caller ${number} and no other`;
  const sendPrompt = async (number: number): Promise<boolean> => {
    const { body } = await pool.request({
      method: 'POST',
      path,
      headers: { ...asAdmin, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'talker',
        stream: true,
        messages: [{ role: 'user', content: promptOf(number) }],
      }),
    });
    const text = await body.text();
    const words = [...text.matchAll(/"content":"([^"]*)"/g)].map(([, word]) => word).join('');
    return words.endsWith(`You said: ${promptOf(number)}`) && text.includes('[DONE]');
  };
  try {
    await addModel(ours, { name: 'talker', base_url: simulator.baseUrl('sim') });
    let maxOpen = 0;
    const watching = setInterval(() => (maxOpen = Math.max(maxOpen, simulator.open())), 20);
    const whole = await Promise.all(Array.from({ length: streamCount }, (_, number) => sendPrompt(number)));
    clearInterval(watching);
    const right = whole.filter(Boolean).length;
    return [
      {
        name: 'streams held at once, each with its own answer',
        value: Math.min(right, maxOpen),
        unit: 'streams',
        goal: `${streamCount}`,
        isMet: right === streamCount && maxOpen === streamCount,
      },
      await abortFigure(ours, simulator),
    ];
  } finally {
    await pool.destroy();
    await simulator.stop();
  }
}

/** From the client's disconnect until the provider detects it; the slowest of twenty. */
async function abortFigure(ours: Running, simulator: { open(): number }): Promise<Figure> {
  let slowestMs = 0;
  for (let round = 0; round < 20; round++) {
    const leaving = new AbortController();
    const answer = await fetch(ours.url + path, {
      method: 'POST',
      headers: { ...asAdmin, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'talker',
        stream: true,
        messages: [{ role: 'user', content: 'x '.repeat(200) }],
      }),
      signal: leaving.signal,
    });
    const reading = answer.text().catch(() => '');
    const leftAt = performance.now();
    leaving.abort();
    while (simulator.open() > 0) await new Promise((resolve) => setImmediate(resolve));
    slowestMs = Math.max(slowestMs, performance.now() - leftAt);
    await reading;
  }
  return {
    name: 'client disconnect until the provider call is aborted, slowest of 20',
    value: slowestMs,
    unit: 'ms',
    goal: 'under 100 ms',
    isMet: slowestMs < 100,
  };
}
