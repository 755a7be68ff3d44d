// Workflows plugged into the real gateway, document reader and schema checker, in front of simulated models.
import { describe, expect, it, onTestFinished } from 'vitest';
import { openGatewayWorkflows } from '../support/tenancy/gateway-workflows.ts';
import { systemClock, withTimeout } from '../../src/core/index.ts';
import type { ExecutionInput, Workflow } from '../../src/tenancy/index.ts';
import type { WorkflowName } from '../../src/tenancy/vocabulary.ts';
import type { GatewayWorldOptions } from '../support/gateway/gateway-world.ts';
import { gatewayWorld } from '../support/gateway/gateway-world.ts';
import { docxOf, paragraph, pdfOf } from '../support/sample-documents.ts';

const docx = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';

async function world(model: object, more: Partial<GatewayWorldOptions> & { schemaMs?: number } = {}) {
  const { gateway, simulator } = await gatewayWorld({
    providers: [{ name: 'acme', models: [{ name: 'm', ...model }] }],
    ...more,
  });
  const closing = new AsyncDisposableStack();
  onTestFinished(() => closing.disposeAsync());
  const workflows = openGatewayWorkflows(gateway, closing, { timeoutMs: more.schemaMs ?? 5_000 });
  const find = (name: WorkflowName): Workflow => {
    const workflow = workflows.find((each) => each.name === name);
    if (!workflow) throw new Error(`There is no workflow ${name}.`);
    return workflow;
  };
  return {
    gateway,
    calls: () => simulator.stats().models['m']?.calls ?? 0,
    find,
    run: (
      name: WorkflowName,
      options: Readonly<Record<string, unknown>>,
      { parameters = {}, files = [] }: Partial<ExecutionInput>,
      signal = new AbortController().signal,
    ) =>
      find(name).run({
        organizationId: 'org_1',
        executionId: '0190a0a0-0000-7000-8000-000000000001',
        options,
        input: { parameters, files },
        signal,
      }),
  };
}

const schema = {
  type: 'object',
  required: ['total'],
  properties: { total: { type: 'number' }, date: { type: 'string', format: 'date' } },
};

it('warn about an unknown model, by any of its names, and about no known one', async () => {
  const { find } = await world({}, { providers: [{ name: 'acme', models: [{ name: 'm' }] }] });
  for (const name of ['structure', 'prompt'] as const) {
    const warned = (options: Readonly<Record<string, unknown>>) => find(name).warnings?.(options, 'org_1');
    expect(await warned({ model: 'acme/m, unknown/x,auto, y' })).toEqual([
      expect.stringMatching(/^There is no model "unknown\/x": every request will fail until/),
      expect.stringContaining('"y"'),
    ]);
    for (const options of [{}, { model: 'auto' }, { model: 'm' }, { model: ' acme/m ' }])
      expect(await warned(options)).toEqual([]);
  }
});

describe('structure', () => {
  it('extracts JSON from real documents through the gateway, charged to the organization', async () => {
    const { run, gateway, find } = await world({ completion: 'Sure!\n```json\n{"total": 42,}\n```' });
    expect(await find('structure').checkOptions({ schema }, 'org_1')).toEqual([]);
    const files = [
      { name: 'a.pdf', mediaType: 'application/pdf', bytes: pdfOf(['Total: 42']) },
      { name: 'b.docx', mediaType: docx, bytes: docxOf(paragraph('Total: 42')) },
      { name: 'c.pdf', mediaType: 'application/pdf', bytes: pdfOf(['']) },
    ];
    expect(await find('structure').checkInput({ schema }, { parameters: {}, files })).toEqual([]);
    expect(await run('structure', { schema }, { files })).toMatchObject({
      result: [
        { file: 'a.pdf', status: 'completed', output: { total: 42 }, model: 'acme/m' },
        { file: 'b.docx', status: 'completed', output: { total: 42 } },
        { file: 'c.pdf', status: 'failed', error: { code: 'DEPLOYMENT_DOCUMENT_UNREADABLE' } },
      ],
      warnings: ['1 of 3 documents failed.'],
    });
    const usage = await gateway.keys.usage({ fromDay: '2000-01-01', caller: 'org:org_1' });
    expect(usage.reduce((sum, { requests }) => sum + requests, 0)).toBe(2);
  });

  it('rejects a file with a wrong media type before anything is stored', async () => {
    const { find } = await world({});
    const files = [{ name: 'a.pdf', mediaType: 'application/pdf', bytes: Buffer.from('plain text') }];
    expect(await find('structure').checkInput({ schema }, { parameters: {}, files })).toMatchObject([
      {
        field: 'files[0]',
        message: expect.stringMatching(/"a\.pdf".*declared as application\/pdf/) as string,
      },
    ]);
  });

  it('fails after one repair, with the violations', async () => {
    const { run, calls } = await world({ completion: '{"total": "many", "date": "soon"}' });
    await expect(run('structure', { schema }, { parameters: { text: 'x' } })).rejects.toMatchObject({
      code: 'DEPLOYMENT_RESPONSE_INVALID',
      details: { violations: ['/total must be number', '/date must match format "date"'] },
    });
    expect(calls()).toBe(2);
  });

  it('uses a model without JSON mode when there is no other', async () => {
    const { run } = await world(
      { completion: '{"total": 1}' },
      { models: { 'acme/m': { capabilities: { json: false } } } },
    );
    expect(await run('structure', { schema }, { parameters: { text: 'x' } })).toMatchObject({
      result: [{ output: { total: 1 } }],
    });
  });

  it('ends with an error that is not retried when its schema does not terminate', async () => {
    const { run } = await world(
      { completion: JSON.stringify({ name: `${'a'.repeat(100)}!` }) },
      { schemaMs: 500 },
    );
    const endless = { type: 'object', properties: { name: { pattern: '^(a+)+$' } } };
    let ticks = 0;
    const ticking = setInterval(() => (ticks += 1), 20);
    await expect(run('structure', { schema: endless }, { parameters: { text: 'x' } })).rejects.toMatchObject({
      code: 'DEPLOYMENT_SCHEMA_TOO_SLOW',
      isRetryable: false,
    });
    clearInterval(ticking);
    expect(ticks).toBeGreaterThan(5);
  });

  it('reports input that is too long', async () => {
    const { run } = await world({ script: [{ fault: 'context', times: 10 }] });
    await expect(run('structure', { schema }, { parameters: { text: 'x' } })).rejects.toMatchObject({
      code: 'DEPLOYMENT_DOCUMENT_UNREADABLE',
      isRetryable: false,
      message: expect.stringMatching(/longer than the context of every model/) as string,
    });
  });
});

describe('prompt', () => {
  it('returns the completion', async () => {
    const { run } = await world({});
    const answer = await run(
      'prompt',
      { template: 'Greet {{name}}.', max_tokens: 100 },
      { parameters: { name: 'Ada' } },
    );
    expect(answer).toEqual({
      result: { text: 'This is m. You said: Greet Ada.', model: 'acme/m' },
      warnings: [],
    });
  });

  it('sends images to a multimodal model', async () => {
    const { run } = await world({});
    const files = [{ name: 'a.gif', mediaType: 'image/gif', bytes: Buffer.from('GIF89a....') }];
    expect(await run('prompt', { template: 'What is it?' }, { files })).toMatchObject({
      result: { text: expect.stringMatching(/I see 1 image\./) as string },
    });
  });

  it("keeps the gateway's decision whether a failure is retryable", async () => {
    const down = await world({ faults: [{ fault: 500, probability: 1 }] });
    await expect(down.run('prompt', { template: 'Hi' }, {})).rejects.toMatchObject({
      code: 'GATEWAY_EXHAUSTED',
      isRetryable: true,
    });
    await expect(down.run('prompt', { template: 'Hi', model: 'unknown' }, {})).rejects.toMatchObject({
      code: 'GATEWAY_MODEL_NOT_FOUND',
      isRetryable: false,
    });
  });

  it('ends with its signal', async () => {
    const { run } = await world({ script: [{ fault: 'hang', times: 10 }] });
    let running: Promise<unknown> | undefined;
    const work = (signal: AbortSignal) => (running = run('prompt', { template: 'Hi' }, {}, signal));
    // The gateway respects the same deadline, and may report it first.
    await expect(withTimeout(work, { clock: systemClock, timeoutMs: 300 })).rejects.toThrow();
    await expect(running).rejects.toThrow();
  });
});
