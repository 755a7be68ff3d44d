// Checks of what the house does: models, vectors, graph, jobs, ledger, alerts.
import type { JobQueue } from '../../core/index.ts';
import type { ModelView } from '../../gateway/index.ts';
import type { AlertDesk } from '../../http/index.ts';
import type { GraphService } from '../../knowledge/index.ts';
import type { LedgerEntry, LedgerStore, RepairRegistry } from '../../ledger/index.ts';
import { keyRefusedKind } from '../gateway-ledger.ts';
import type { HouseKnowledge } from '../knowledge.ts';
import type { Finding } from './findings.ts';
import { notConfigured, ok, problem, warning } from './findings.ts';

/** A pending job that should have started so long ago says that nobody works on its kind. */
const longestWaitMs = 10 * 60_000;

/** Models are optional: without one, what needs them falls back or says so. `active`: those that are switched on. */
export function models(active: readonly ModelView[]): Finding {
  const able = active.filter(({ isConfigured }) => isConfigured);
  if (able.length === 0)
    return notConfigured(
      'No AI model has a key.',
      'Set a variable that "headworks models list --all" names, for example GROQ_API_KEY, where the server runs.',
    );
  // Whose keys they are: a variable may have been set for something else (GITHUB_TOKEN).
  const named = (some: readonly ModelView[]) =>
    some.map(({ name, keySource }) => (keySource === null ? name : `${name} (${keySource})`)).join(', ');
  const free = able.filter(({ availableAt }) => availableAt === null);
  const resting = able.filter(({ availableAt }) => availableAt !== null);
  const rest = resting.length === 0 ? '' : ` Not now: ${named(resting)}.`;
  if (free.length > 0)
    return ok(`${free.length} of ${able.length} models can be asked now: ${named(free)}.${rest}`);
  return warning(
    `All ${able.length} models are cooling down or out of quota: ${named(able)}.`,
    'See why with "headworks models"; "headworks models warm MODEL" takes a cooldown back.',
  );
}

/**
 * Keys that are missing, of models that somebody wanted: one of the catalogue that nobody has a key for is none of them.
 * And keys that providers refuse: `refused`, the ledger's open rows of them, by model.
 */
export function modelKeys(
  active: readonly ModelView[],
  refused: readonly Pick<LedgerEntry, 'subject' | 'cause'>[],
): Finding {
  const wanted = active.filter(({ origin }) => origin !== 'built-in');
  const without = wanted.filter(({ isConfigured }) => !isConfigured);
  const refusals = active.flatMap(({ name, keySource }) => {
    const row = refused.find(({ subject }) => subject === name);
    return row ? [`${name} (${keySource ?? 'no key'}: ${row.cause})`] : [];
  });
  const details = [
    ...(refusals.length === 0 ? [] : [`Refused by the provider: ${refusals.join(', ')}.`]),
    ...(without.length === 0
      ? []
      : [
          `Without a key: ${without.map(({ name, needs }) => (needs === null ? name : `${name} (set ${needs})`)).join(', ')}.`,
        ]),
  ];
  if (details.length === 0)
    return ok(
      wanted.length === 0
        ? 'No models were added beside the built-in ones, and no key is refused.'
        : 'Every model that was added has its key, and none is refused.',
    );
  const list = `headworks ledger list --kind ${keyRefusedKind}`;
  return warning(
    details.join(' '),
    'Set good keys where the server runs and start it again, or switch the models off: headworks models disable MODEL.' +
      (refusals.length === 0 ? '' : ` ${list} says what each provider wants.`),
  );
}

export function vectors(embedders: Pick<HouseKnowledge['embedders'], 'current' | 'problem'>): Finding {
  const named = embedders.problem();
  if (named) return problem(named.why, named.remedy);
  const state = embedders.current();
  return state.state === 'ready'
    ? ok(`Made by ${state.embedder.model}.`)
    : notConfigured(`Nobody makes vectors; search goes by words. ${state.why}`, null);
}

export function graph({ backend, state, detail }: Awaited<ReturnType<GraphService['status']>>): Finding {
  if (state === 'off') return notConfigured('The graph is switched off.', 'Set GRAPH_BACKEND to sql or age.');
  if (state === 'available') return ok(`In ${backend}.`);
  return problem(
    `The graph (${backend}) cannot be used now. ${detail ?? ''}`.trim(),
    'Search goes on without it; what would be written to it waits.',
  );
}

export async function jobs(queue: Pick<JobQueue, 'counts' | 'list'>, now: number): Promise<Finding> {
  const counts = await queue.counts();
  const total = (state: string) =>
    counts.filter((count) => count.state === state).reduce((sum, { count }) => sum + count, 0);
  const detail = `${total('pending')} pending, ${total('running')} running, ${total('failed')} failed.`;
  const overdue = (await queue.list({ states: ['pending'], limit: 100 })).filter(
    ({ startAfter, createdAt }) => now - (startAfter ?? createdAt).getTime() > longestWaitMs,
  );
  if (overdue.length > 0)
    return warning(
      `${detail} ${overdue.length} should have started long ago.`,
      'Start "headworks serve" or a worker.',
    );
  return total('failed') === 0
    ? ok(detail)
    : warning(detail, 'headworks jobs list --state failed, then headworks jobs retry ID.');
}

export async function ledger(
  store: Pick<LedgerStore, 'counts'>,
  repairs: Pick<RepairRegistry, 'get'>,
): Promise<Finding> {
  const open = (await store.counts()).filter((count) => count.open > 0);
  if (open.length === 0) return ok('Nothing is degraded.');
  const detail = open.map((count) => `${count.kind}: ${count.open}`).join(', ');
  const isRepairable = open.some(({ kind }) => repairs.get(kind) !== undefined);
  return warning(
    `Open: ${detail}.`,
    isRepairable
      ? 'headworks repair tries what can be repaired; headworks ledger list shows the cause of what stays.'
      : 'headworks ledger list shows each cause.',
  );
}

export function alerts(desk: AlertDesk): Finding {
  const firing = desk.list().filter(({ state }) => state === 'firing');
  if (firing.length === 0) return ok('None fires.');
  return warning(
    `Firing: ${firing.map(({ name, message }) => `${name} (${message})`).join(' ')}`,
    'docs/operations.md says for each what to do.',
  );
}
