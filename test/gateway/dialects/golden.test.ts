// Translations between the APIs as golden files in both directions: requests of callers to providers, and answers of
// providers to callers. `npm test -- golden -u` writes them; read the difference.
import { describe, expect, it } from 'vitest';
import type { ChatApi } from '../../../src/gateway/index.ts';
import { parseRequest } from '../../../src/gateway/dialects/parse-request.ts';
import { exchangeFor } from '../../../src/gateway/providers/exchange.ts';
import { modelOf } from '../../support/gateway/routing-world.ts';
import { events } from '../../support/gateway/scripted-upstream.ts';
import { answers, requests } from './examples.ts';

type CallerApi = keyof typeof requests;
type UpstreamApi = keyof typeof answers;

const callers = Object.keys(requests) as CallerApi[];
const upstreams = Object.keys(answers) as UpstreamApi[];
const pairs = callers.flatMap((caller) =>
  upstreams
    .filter((upstream) => upstream !== (caller as ChatApi))
    .map((upstream) => [caller, upstream] as const),
);

const context = { createId: () => 'ID', now: () => 1_000_000 };
const model = (api: UpstreamApi) => ({
  ...modelOf({ name: `up/${api}`, upstream: 'up-1', capabilities: { reasoning: true } }, 1),
  apis: [api],
});

const exchange = (caller: CallerApi, upstream: UpstreamApi, stream: boolean) => {
  const body = { ...requests[caller], ...(stream && { stream: true }) };
  const request = parseRequest(caller, Buffer.from(JSON.stringify(body)));
  return exchangeFor(request, model(upstream), context);
};

const golden = (name: string): string => `./golden/${name}`;
const pretty = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

describe.each(pairs)('a request in the %s API to a model with the %s API', (caller, upstream) => {
  it('is translated as its golden file shows', async () => {
    const { path, body } = exchange(caller, upstream, false);
    const sent = { path, body: JSON.parse(Buffer.from(body).toString()) as unknown };
    await expect(pretty(sent)).toMatchFileSnapshot(golden(`${caller}-to-${upstream}.request.json`));
  });

  it('gets a whole answer as its golden file shows', async () => {
    const read = exchange(caller, upstream, false).readResponse(
      Buffer.from(JSON.stringify(answers[upstream].whole)),
      'application/json',
    );
    const body = read.state === 'valid' ? (JSON.parse(Buffer.from(read.body).toString()) as unknown) : read;
    await expect(pretty(body)).toMatchFileSnapshot(golden(`${upstream}-to-${caller}.answer.json`));
  });

  it('gets a streamed answer as its golden file shows, wherever the network cuts it', async () => {
    const bytes = Buffer.from(events(answers[upstream].stream, upstream !== 'chat' && upstream !== 'gemini'));
    const read = (size: number) => {
      const reader = exchange(caller, upstream, true).createReader();
      let text = '';
      for (let at = 0; at < bytes.length; at += size)
        text += Buffer.from(reader.push(bytes.subarray(at, at + size)) ?? '').toString();
      text += Buffer.from(reader.end() ?? '').toString();
      expect(reader).toMatchObject({ failure: undefined, isCommitted: true, isComplete: true });
      return text;
    };
    const whole = read(bytes.length);
    await expect(whole).toMatchFileSnapshot(golden(`${upstream}-to-${caller}.answer.sse`));
    for (const size of [1, 7, 100]) expect(read(size)).toBe(whole);
  });
});
