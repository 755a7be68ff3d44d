import { expect, it } from 'vitest';
import { artifactsApi } from '../../../src/api/artifacts.ts';
import { deploymentsApi, executionsApi } from '../../../src/api/deployments.ts';
import { entitiesApi } from '../../../src/api/entities.ts';
import { runsApi, sourcesApi } from '../../../src/api/extraction.ts';
import { jobsApi } from '../../../src/api/jobs.ts';
import { graphApi } from '../../../src/api/knowledge.ts';
import { ledgerApi } from '../../../src/api/ledger.ts';
import { limitsApi } from '../../../src/api/limits.ts';
import { modelsApi } from '../../../src/api/models.ts';
import type { Operation } from '../../../src/api/operation.ts';
import { organizationsApi } from '../../../src/api/organizations.ts';
import { foldersApi, spacesApi } from '../../../src/api/spaces.ts';
import { staleBy } from './stale-by.ts';

const changed = (operation: unknown) => staleBy({ name: 'http:changed', payload: { operation } });

it('maps events to queries by the prefix of their name', () => {
  expect(staleBy({ name: 'ledger:lost', payload: {} })).toEqual(['ledger', 'alerts', 'flow']);
  expect(staleBy({ name: 'job:completed', payload: {} })).toContain('knowledge');
  expect(staleBy({ name: 'http:request-finished', payload: {} })).toEqual([]);
});

/** What the dashboard shows, by the first element of its query key. */
const shown: readonly (readonly [key: string, ...apis: readonly Readonly<Record<string, Operation>>[]])[] = [
  ['knowledge', artifactsApi, entitiesApi, graphApi, foldersApi, spacesApi],
  ['organizations', deploymentsApi, executionsApi, limitsApi, organizationsApi],
  ['extraction', runsApi, sourcesApi],
  ['models', modelsApi],
  ['ledger', ledgerApi],
  ['jobs', jobsApi],
];

it.each(
  shown.flatMap(([key, ...apis]) =>
    apis
      .flatMap((api) => Object.values(api))
      .filter(({ method }) => method !== 'GET')
      .map(({ id }) => [id, key] as const),
  ),
)('%s refetches what is shown of %s', (operation, key) => {
  expect(changed(operation)).toContain(key);
});

it('ignores unknown operations', () => {
  expect(changed('presence.attach')).toEqual([]);
  expect(changed(undefined)).toEqual([]);
});
