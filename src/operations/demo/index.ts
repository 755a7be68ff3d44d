// The demo: a fictional company with simulated upstreams, on the real server.
import type { ApiTransport } from '../../api/client.ts';
import { createUndiciTransport } from '../../platform/http-client/undici-transport.ts';
import type { DemoState } from './folder.ts';
import { writeDemoState } from './folder.ts';
import type { DemoContext, Step, StepProgress } from './step.ts';
import { demoApi } from './step.ts';
import {
  changesStep,
  documentsStep,
  ensureModels,
  ensureSource,
  extractionStep,
  modelsStep,
  reviewStep,
  throttledStep,
  vaultStep,
} from './steps.ts';
import { executionsStep, tenantsStep } from './tenancy-steps.ts';

export { deleteDemoFolder, openDemoState, type DemoState } from './folder.ts';
export type { DocumentSources, StepProgress } from './step.ts';
export { readByRulesKind, readSituation, type Situation } from './steps.ts';
export { brightline } from './tenancy-steps.ts';
export { demoEnvironment, reliableModel, startUpstreams, type Upstreams } from './upstreams.ts';

/** Models are throttled last, so that there is something left to repair. */
const steps: readonly Step[] = [
  modelsStep,
  extractionStep,
  changesStep,
  documentsStep,
  vaultStep,
  reviewStep,
  tenantsStep,
  executionsStep,
  throttledStep,
];

/** Receives the progress, step by step. */
export interface StepReporter {
  begin(step: Pick<Step, 'name' | 'title'>): void;
  show(progress: StepProgress): void;
  end(summary: string): void;
}

export interface DemoDeps extends Pick<
  DemoContext,
  'documents' | 'upstreams' | 'dataFolder' | 'clock' | 'signal'
> {
  readonly client: ApiTransport & { readonly url: string };
  readonly state: DemoState;
  readonly reporter: StepReporter;
}

/** Returns the state after the last step. Completed steps are not repeated; rejects when the signal aborts. */
export async function runDemo({ client, state: before, reporter, ...deps }: DemoDeps): Promise<DemoState> {
  let state: DemoState = { ...before, ports: deps.upstreams.ports };
  const save = async (change: Partial<DemoState>): Promise<void> => {
    state = { ...state, ...change };
    await writeDemoState(deps.dataFolder, state);
  };
  const transport = createUndiciTransport({});
  const keys = new Map(Object.entries(state.keys));
  const context: DemoContext = {
    ...deps,
    api: demoApi(client, deps.signal),
    url: client.url,
    transport,
    keys,
    keep: async (organization, key) => {
      keys.set(organization, key);
      await save({ keys: Object.fromEntries(keys) });
    },
    show: (progress) => reporter.show(progress),
  };
  try {
    await save({});
    if (state.done.length > 0) await Promise.all([ensureModels(context), ensureSource(context)]);
    for (const step of steps.filter(({ name }) => !state.done.includes(name))) {
      deps.signal.throwIfAborted();
      reporter.begin(step);
      reporter.end(await step.run(context));
      await save({ done: [...state.done, step.name] });
    }
    return state;
  } finally {
    await transport.close();
  }
}
