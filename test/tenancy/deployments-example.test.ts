// The example that docs/guide/admission.md runs: the response of the simulated model matches the schema of the deployment.
import { readFile } from 'node:fs/promises';
import { expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { openGatewayWorkflows } from '../support/tenancy/gateway-workflows.ts';
import { gatewayWorld } from '../support/gateway/gateway-world.ts';

const example = async (name: string): Promise<Record<string, unknown>> =>
  parse(await readFile(new URL(`../../examples/deployments/${name}`, import.meta.url), 'utf8')) as Record<
    string,
    unknown
  >;

it('is a workflow whose documented result is exact', async () => {
  const [scenario, options] = await Promise.all([example('clerk.yaml'), example('invoice.yaml')]);
  const providers = scenario['providers'] as readonly {
    name: string;
    models: readonly object[];
  }[];
  const { gateway } = await gatewayWorld({
    providers: providers.map((provider) => ({
      ...provider,
      models: provider.models.map((model) => ({ ...model, first_token_ms: 0 })),
    })),
  });
  const closing = new AsyncDisposableStack();
  onTestFinished(() => closing.disposeAsync());
  const structure = openGatewayWorkflows(gateway, closing).find(({ name }) => name === 'structure');
  expect(await structure?.checkOptions(options, 'org_1')).toEqual([]);
  const answer = await structure?.run({
    organizationId: 'org_1',
    executionId: '0190a0a0-0000-7000-8000-000000000001',
    options,
    input: { parameters: { text: 'Invoice R-7, 42 euro' }, files: [] },
    signal: new AbortController().signal,
  });
  expect(answer?.result).toMatchObject([{ status: 'completed', output: { number: 'R-7', total: 42 } }]);
});
