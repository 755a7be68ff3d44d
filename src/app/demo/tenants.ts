// The two tenants of the demo: what they may, and what they send.
import { slowModel } from './demo-models.ts';

export interface Tenant {
  readonly name: string;
  readonly limit: number;
  readonly deployments: readonly {
    readonly name: string;
    readonly workflow: string;
    readonly options: Readonly<Record<string, unknown>>;
  }[];
}

const summary = {
  name: 'summarize',
  workflow: 'prompt',
  options: { template: 'Summarize for a store manager, in one sentence: {{text}}', model: slowModel },
};

/** An agency that sends everything at once, and may have two requests under way. */
export const brightline: Tenant = {
  name: 'brightline',
  limit: 2,
  deployments: [
    summary,
    // Published with a model that is gone: a warning then, an error with every request.
    {
      name: 'translate',
      workflow: 'prompt',
      options: { template: 'Translate into German: {{text}}', model: 'lingua/retired' },
    },
  ],
};

/** The stores' own desk, with documents of its own that nobody else finds. */
export const acmeStores: Tenant = {
  name: 'acme-stores',
  limit: 4,
  deployments: [
    summary,
    { name: 'file', workflow: 'ingest', options: {} },
    { name: 'ask', workflow: 'search', options: { graph_expand: true } },
  ],
};

export const tenants: readonly Tenant[] = [brightline, acmeStores];

interface Sent {
  readonly tenant: Tenant;
  readonly deployment: string;
  readonly body: Readonly<Record<string, unknown>>;
}

const storeNotes = [
  'Graz, 2026-11-13: Sam Okafor decided to open on Sundays in December. Two cashiers are missing.',
  'Basel, 2026-11-13: a customer returned a sofa after 60 days. Dana Whitfield will ask Finance whether it counts.',
  'Leeds, 2026-11-14: franchise partner; yesterday net sales were 18,240.50, returns 310.00.',
];

/** One after the other. */
export const inTurn: readonly Sent[] = [
  ...storeNotes.map((text) => ({ tenant: acmeStores, deployment: 'file', body: { text } })),
  { tenant: acmeStores, deployment: 'ask', body: { query: 'Who opens on Sundays?' } },
  { tenant: brightline, deployment: 'translate', body: { text: 'Net revenue' } },
];

const burst = (tenant: Tenant, count: number): readonly Sent[] =>
  Array.from({ length: count }, (_, index) => ({
    tenant,
    deployment: 'summarize',
    body: { text: `Store ${index + 1}: ${storeNotes[index % storeNotes.length] ?? ''}` },
  }));

/** All at the same moment: more than either may. */
export const atOnce: readonly Sent[] = [...burst(brightline, 5), ...burst(acmeStores, 6)];
