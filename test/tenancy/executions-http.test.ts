// Executions over HTTP, for admins: by names, with names.
import { describe, expect, it } from 'vitest';
import { CoreError } from '../../src/core/index.ts';
import type { Deployment, Execution, ExecutionFilter } from '../../src/tenancy/index.ts';
import { buildServer } from '../../src/http/index.ts';
import { asAdmin, createTestDeps } from '../support/http-dependencies.ts';
import { emptyTenantServices } from '../support/tenancy/tenant-services.ts';

const acme = { id: 'org_a1b2c3d4e5f6g7h8', name: 'acme-corp', createdAt: new Date(0) };
const invoices = {
  id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
  organizationId: acme.id,
  name: 'invoices',
} as Deployment;
const execution: Execution = {
  executionId: '01890a5d-ac96-774b-bcce-b302099a8057',
  organizationId: acme.id,
  deploymentId: invoices.id,
  status: 'running',
  idempotencyKey: null,
  requestHash: '',
  jobId: 'job',
  acceptedAt: new Date(0),
  startedAt: null,
  finishedAt: null,
  result: null,
  failure: null,
  warnings: [],
};

async function openApi() {
  const filters: ExecutionFilter[] = [];
  const find = (organization: string, name: string): Deployment => {
    if ([acme.id, acme.name].includes(organization) && name === invoices.name) return invoices;
    throw new CoreError('NOT_FOUND', `The organization ${organization} has no deployment ${name}.`);
  };
  const get = (id: string): Deployment => {
    if (id === invoices.id) return invoices;
    throw new CoreError('NOT_FOUND', `There is no deployment with the id ${id}.`);
  };
  const tenants = {
    ...emptyTenantServices,
    organizations: { ...emptyTenantServices.organizations, list: () => [acme] },
    deployments: { ...emptyTenantServices.deployments, list: () => [invoices], find, get },
    executions: {
      ...emptyTenantServices.executions,
      get: async () => execution,
      list: async (filter: ExecutionFilter) => {
        filters.push(filter);
        return [execution];
      },
    },
  };
  const server = await buildServer(createTestDeps({ tenants }).dependencies);
  const call = async (url: string) => {
    const answer = await server.inject({ url, headers: asAdmin });
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
  };
  return { filters, call };
}

const named = {
  organization_id: acme.id,
  organization_name: 'acme-corp',
  deployment_id: invoices.id,
  deployment_name: 'invoices',
};

describe('/api/v1/executions', () => {
  it.each([invoices.id, 'acme-corp/invoices', `${acme.id}/invoices`])(
    'lists those of the deployment %s',
    async (reference) => {
      const { filters, call } = await openApi();
      const answer = await call(`/api/v1/executions?deployment=${encodeURIComponent(reference)}`);
      expect(answer).toMatchObject({ status: 200, body: { executions: [named] } });
      expect(filters).toMatchObject([{ deploymentId: invoices.id }]);
    },
  );

  it('names an unknown deployment in the error', async () => {
    const { filters, call } = await openApi();
    for (const [reference, words] of [
      ['acme-corp/other', 'The organization acme-corp has no deployment other.'],
      ['invoices', 'There is no deployment with the id invoices.'],
    ] as const)
      expect(await call(`/api/v1/executions?deployment=${encodeURIComponent(reference)}`)).toMatchObject({
        status: 404,
        body: { error: { message: words } },
      });
    expect(filters).toEqual([]);
  });

  it('returns names with a single execution, and describes the form of an id', async () => {
    const { call } = await openApi();
    expect(await call(`/api/v1/executions/${execution.executionId}`)).toMatchObject({ body: named });
    expect(await call('/api/v1/executions/invoices')).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('must be an id, like') as string } },
    });
  });
});
