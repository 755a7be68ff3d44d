// Runs the steps of the demo that are not yet completed, in order.
import type { Clock } from '../../core/index.ts';
import { createUndiciTransport } from '../../platform/http-client/undici-transport.ts';
import { changesStep, extractionStep, modelsStep } from './extraction-steps.ts';
import type { DemoState } from './folder.ts';
import { writeDemoState } from './folder.ts';
import { documentsStep, reviewStep, throttledStep, vaultStep } from './knowledge-steps.ts';
import type { DemoContext, DocumentSources, Step, StepProgress, Upstreams } from './step.ts';
import { executionsStep, tenantsStep } from './tenancy-steps.ts';
import { ensureModels, ensureSource } from './upstreams.ts';

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

export interface DemoDeps {
  readonly client: DemoContext['client'];
  readonly documents: DocumentSources;
  readonly upstreams: Upstreams;
  readonly dataFolder: string;
  readonly state: DemoState;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly reporter: StepReporter;
}

/** Returns the state after the last step. Completed steps are not repeated; rejects when the signal aborts. */
export async function runDemo(deps: DemoDeps): Promise<DemoState> {
  const { client, documents, upstreams, dataFolder, clock, signal, reporter } = deps;
  let state: DemoState = { ...deps.state, ports: upstreams.ports };
  const save = async (change: Partial<DemoState>): Promise<void> => {
    state = { ...state, ...change };
    await writeDemoState(dataFolder, state);
  };
  const transport = createUndiciTransport({});
  const keys = new Map(Object.entries(state.keys));
  const context: DemoContext = {
    client,
    documents,
    upstreams,
    dataFolder,
    clock,
    signal,
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
      signal.throwIfAborted();
      reporter.begin(step);
      reporter.end(await step.run(context));
      await save({ done: [...state.done, step.name] });
    }
    return state;
  } finally {
    await transport.close();
  }
}
