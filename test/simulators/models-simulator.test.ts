// Simulated AI providers over real HTTP: responses, faults, counts.
import { afterEach, describe, expect, it } from 'vitest';
import { readRetryHint } from '../../src/resilience/index.ts';
import type { ModelsSimulator } from '../../src/simulators/models/simulator.ts';
import { readScenario } from '../../src/simulators/models/scenario.ts';
import { startModelsSimulator } from '../../src/simulators/models/simulator.ts';
import { hintStyles } from '../../src/simulators/models/rate-limit-responses.ts';

let simulator: ModelsSimulator;
afterEach(() => simulator.stop());

async function start(models: readonly object[], provider: object = {}): Promise<void> {
  const scenario = readScenario({ seed: 3, providers: [{ name: 'alpha', models, ...provider }] });
  simulator = await startModelsSimulator({ scenario });
}

const send = (body: object, key = 'sk-any') =>
  fetch(`${simulator.baseUrl('alpha')}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'large', messages: [{ role: 'user', content: 'hello' }], ...body }),
  });

interface Completion {
  readonly choices: readonly {
    readonly message: {
      readonly content: string | null;
      readonly tool_calls?: readonly {
        readonly function: { readonly name: string; readonly arguments: string };
      }[];
    };
  }[];
}
const messageOf = async (answer: Response) => ((await answer.json()) as Completion).choices[0]?.message;

describe('a simulated model', () => {
  it('completes text, calls a tool once, follows a schema and accepts images', async () => {
    await start([{ name: 'large' }]);
    expect((await messageOf(await send({})))?.content).toContain('You said: hello');
    const tools = [
      {
        type: 'function',
        function: {
          name: 'weather',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      },
    ];
    const called = await messageOf(await send({ tools }));
    expect(called?.tool_calls?.[0]?.function).toEqual({ name: 'weather', arguments: '{"city":"text"}' });
    const after = await send({ tools, messages: [{ role: 'tool', content: '21 degrees' }] });
    expect((await messageOf(after))?.content).toContain('21 degrees');
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } } };
    const formatted = await send({ response_format: { type: 'json_schema', json_schema: { schema } } });
    expect((await messageOf(formatted))?.content).toBe('{"ok":true}');
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
    const seen = await send({
      messages: [{ role: 'user', content: [{ type: 'text', text: 'what?' }, image] }],
    });
    expect((await messageOf(seen))?.content).toContain('I see 1 image');
  });

  it('streams the same words, with usage on request', async () => {
    await start([{ name: 'large', completion: 'one two three' }]);
    const text = await (await send({ stream: true, stream_options: { include_usage: true } })).text();
    const chunks = [...text.matchAll(/^data: (\{.*)$/gm)].map(
      ([, json = '']) =>
        JSON.parse(json) as {
          choices: { delta: { content?: string } }[];
          usage?: { completion_tokens: number };
        },
    );
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('one two three');
    expect(chunks.at(-1)?.usage?.completion_tokens).toBe(4);
    expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true);
  });

  it('follows its script, then seeded random faults, and counts its responses', async () => {
    const model = {
      name: 'large',
      script: [500, { fault: 429, times: 2 }, 'ok'],
      faults: [{ fault: 503, probability: 0.5 }],
    };
    const run = async () => {
      await start([model]);
      const statuses: number[] = [];
      for (let call = 0; call < 12; call++) statuses.push((await send({})).status);
      const stats = simulator.stats();
      await simulator.stop();
      return { statuses, stats };
    };
    const first = await run();
    const second = await run();
    expect(first.statuses.slice(0, 4)).toEqual([500, 429, 429, 200]);
    expect(new Set(first.statuses.slice(4))).toEqual(new Set([200, 503]));
    expect(second).toEqual(first);
    const { calls, responded } = first.stats.models['large'] ?? { calls: 0, responded: {} };
    expect(calls).toBe(12);
    expect(Object.values(responded).reduce((sum, count) => sum + count)).toBe(12);
  });

  it('accepts only its keys, and enforces its quotas with headers', async () => {
    await start([{ name: 'large', quotas: { requests_per_minute: 2 } }], { keys: ['sk-a', 'sk-b'] });
    expect((await send({}, 'sk-other')).status).toBe(401);
    expect((await send({}, 'sk-a')).headers.get('x-ratelimit-remaining-requests')).toBe('1');
    expect((await send({}, 'sk-a')).headers.get('x-ratelimit-remaining-requests')).toBe('0');
    const refused = await send({}, 'sk-a');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);
    expect((await send({}, 'sk-b')).status).toBe(200);
  });

  it('interrupts, hangs, or returns invalid data', async () => {
    await start([{ name: 'large', script: ['reset', 'cut', 'malformed', 'empty', 'refused', 'cut-early'] }]);
    await expect(send({})).rejects.toThrow();
    await expect(send({ stream: true }).then((answer) => answer.text())).rejects.toThrow();
    await expect(send({}).then((answer) => answer.json())).rejects.toThrow(SyntaxError);
    expect((await messageOf(await send({})))?.content).toBe('');
    expect(JSON.stringify(await (await send({})).json())).toContain('content_filter');
    await expect(send({ stream: true }).then((answer) => answer.text())).rejects.toThrow();
    expect(simulator.stats().models['large']?.responded).toEqual({ 200: 5, none: 1 });
  });

  it('hangs until its caller disconnects, and detects that', async () => {
    await start([{ name: 'large', script: ['hang'] }]);
    const leaving = new AbortController();
    const pending = fetch(`${simulator.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'large', messages: [{ role: 'user', content: 'x' }] }),
      signal: leaving.signal,
    });
    while (simulator.open() === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    leaving.abort();
    await expect(pending).rejects.toThrow();
    while (simulator.open() > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(simulator.aborted()).toBe(1);
  });
});

describe('a rate-limit response', () => {
  const withHint = hintStyles.filter((style) => style !== 'none');

  it.each(withHint)('in the style %s is parsed by our own retry-hint reader', async (hint) => {
    await start([{ name: 'large', script: [{ fault: 429, hint, seconds: 90 }] }]);
    const answer = await send({});
    const read = readRetryHint(
      { headers: Object.fromEntries(answer.headers), body: await answer.text() },
      Date.now(),
    );
    const seconds = (read?.retryAfterMs ?? 0) / 1_000;
    if (hint === 'cloudflare-day') expect(seconds).toBeGreaterThan(0);
    else expect(Math.abs(seconds - 90)).toBeLessThan(3);
  });
});

describe('a scenario', () => {
  it('lists all its problems', () => {
    const wrong = {
      providers: [{ name: 'a b', models: [{ name: 'x', color: 'red', faults: [{ fault: 'no' }] }] }],
    };
    expect(() => readScenario(wrong)).toThrow(/name: letters.*fault.*color/s);
  });
});

describe('vectors', () => {
  it('are the same for the same model at two providers, and near for similar texts', async () => {
    const models = [{ name: 'embed', kind: 'embeddings', dimensions: 256 }];
    const scenario = readScenario({
      providers: [
        { name: 'one', models },
        { name: 'two', models },
      ],
    });
    simulator = await startModelsSimulator({ scenario });
    const embed = async (provider: string, input: readonly string[], format: string) => {
      const answer = await fetch(`${simulator.baseUrl(provider)}/embeddings`, {
        method: 'POST',
        body: JSON.stringify({ model: 'embed', input, encoding_format: format }),
      });
      const { data } = (await answer.json()) as { data: { embedding: number[] | string }[] };
      return data.map(({ embedding }) =>
        typeof embedding === 'string'
          ? [...new Float32Array(new Uint8Array(Buffer.from(embedding, 'base64')).buffer)]
          : embedding,
      );
    };
    const texts = ['the red river', 'the red stream', 'quarterly revenue figures'];
    const [a = [], b = [], c = []] = await embed('one', texts, 'float');
    expect(await embed('two', texts, 'base64')).toEqual([a, b, c]);
    const near = (x: readonly number[], y: readonly number[]) =>
      x.reduce((sum, each, at) => sum + each * (y[at] ?? 0), 0);
    expect(near(a, b)).toBeGreaterThan(near(a, c));
  });
});
