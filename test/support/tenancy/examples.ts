// Examples that the suites share.
import type {
  Deployment,
  Organization,
  StoredOrganizationKey,
  Workflow,
} from '../../../src/tenancy/index.ts';
import type { WorkflowName } from '../../../src/tenancy/vocabulary.ts';

/** Milliseconds after a fixed moment. */
export const moment = (ms: number): Date => new Date(Date.parse('2026-03-01T12:00:00Z') + ms);

const uuid = (number: number): string => `0195a1b2-c3d4-7e5f-8a9b-${String(number).padStart(12, '0')}`;

export const exampleOrganization = (number: number, change: Partial<Organization> = {}): Organization => ({
  id: `org_${String(number).padStart(16, 'a')}`,
  name: `acme ${number}`,
  createdAt: moment(number),
  ...change,
});

export const exampleOrganizationKey = (
  number: number,
  change: Partial<StoredOrganizationKey> = {},
): StoredOrganizationKey => ({
  id: uuid(number),
  organizationId: exampleOrganization(1).id,
  name: `key ${number}`,
  prefix: 'hwo_abcdef',
  hash: `hash ${number}`,
  createdAt: moment(number),
  expiresAt: null,
  revokedAt: null,
  ...change,
});

export const exampleDeployment = (number: number, change: Partial<Deployment> = {}): Deployment => ({
  id: uuid(number),
  organizationId: exampleOrganization(1).id,
  name: `invoices-${number}`,
  workflow: 'prompt',
  options: { instructions: 'Summarize.' },
  webhookUrl: null,
  waitSeconds: 0,
  isActive: true,
  createdAt: moment(number),
  modifiedAt: moment(number),
  ...change,
});

/** A workflow that requires instructions and returns them. */
export const exampleWorkflow = (name: WorkflowName = 'prompt'): Workflow => ({
  name,
  checkOptions: async ({ instructions, ...rest }) => [
    ...(typeof instructions === 'string' ? [] : [{ field: 'instructions', message: 'must be text' }]),
    ...Object.keys(rest).map((field) => ({ field, message: 'is not known' })),
  ],
  checkInput: async () => [],
  run: async ({ options }) => ({ result: options['instructions'], warnings: [] }),
});
