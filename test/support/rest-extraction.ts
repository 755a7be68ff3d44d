// Complete extractions of a REST source over HTTP from a handler.
import { onTestFinished } from 'vitest';
import { estimateExtraction, extract } from '../../src/app/extract.ts';
import { resolveConfig } from '../../src/config/index.ts';
import { unthrottled } from './extraction-runs.ts';
import type { InMemoryRequest, InMemoryResponse } from './http-client/in-memory-transport.ts';
import { serveHandler } from './misbehaving-api.ts';
import { temporaryFolder } from './services.ts';

export const json = (
  value: unknown,
  headers: Record<string, string> = {},
  status = 200,
): InMemoryResponse => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
});
export const items = (count: number, first = 0) =>
  Array.from({ length: count }, (_, at) => ({ id: first + at + 1 }));

interface RestExtraction {
  readonly handler: (request: InMemoryRequest) => InMemoryResponse;
  /** With ${URL} for the address of the server. */
  readonly yaml: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly flags?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** The folder, and all events and results. */
export async function extractRest({ handler, yaml, env = {}, flags = {}, signal }: RestExtraction) {
  const server = await serveHandler((request) => Promise.resolve(handler(request)));
  onTestFinished(() => server.stop());
  const folder = await temporaryFolder();
  const output: string[] = [];
  const config = resolveConfig({
    flags: { ...unthrottled, 'batch-size': '100', retries: '0', ...flags },
    env: { HEADWORKS_EXTRACTION_RETRY_DELAY_MS: '1' },
    cwd: folder,
  });
  const options = {
    signal: signal ?? new AbortController().signal,
    env: { URL: server.baseUrl, ...env },
    onSecret: () => undefined,
    onEvent: (event: object) => output.push(JSON.stringify(event)),
  };
  const choice = { kind: 'rest', file: 'api.yaml', text: yaml } as const;
  const run = async () => {
    const result = await extract(config, choice, options);
    output.push(JSON.stringify(result));
    return result;
  };
  return { run, estimate: () => estimateExtraction(config, choice, options), folder, output };
}
