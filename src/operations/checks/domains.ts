// Checks of the domains: models, vectors, graph, jobs, ledger, alerts.
import type { JobQueue } from '../../core/index.ts';
import type { ModelView } from '../../gateway/index.ts';
import type { GraphService } from '../../knowledge/index.ts';
import type { LedgerEntry, LedgerStore, RepairRegistry } from '../../ledger/index.ts';
import type { Finding } from './check.ts';
import { notConfigured, ok, problem, warning } from './check.ts';

/** A job that is overdue by more than this means that no process works on its kind. */
const overdueMs = 10 * 60_000;

/** Models are optional: features that need one fall back or report it. `active`: the enabled models. */
export function models(active: readonly ModelView[]): Finding {
  const configured = active.filter(({ isConfigured }) => isConfigured);
  if (configured.length === 0)
    return notConfigured(
      'No AI model has a key.',
      'Set a variable that "headworks models list --all" names, for example GROQ_API_KEY, in the environment of the server.',
    );
  // Names with the source of each key: a variable may have been set for another purpose (GITHUB_TOKEN).
  const named = (some: readonly ModelView[]) =>
    some.map(({ name, keySource }) => (keySource === null ? name : `${name} (${keySource})`)).join(', ');
  const inState = (...states: readonly ModelView['state'][]) =>
    configured.filter(({ state }) => states.includes(state));
  const [available, failing] = [inState('available'), inState('failing')];
  const blocked = inState('cooling-down', 'quota-exhausted');
  const rest = [
    ...(failing.length === 0 ? [] : [` Failing: ${failing.map(failureText).join(', ')}.`]),
    ...(blocked.length === 0 ? [] : [` Cooling down or out of quota: ${named(blocked)}.`]),
  ].join('');
  if (available.length === 0)
    return problem(
      `None of ${configured.length} models is available.${rest}`,
      'See why with "headworks models list" and "headworks models explain MODEL"; "headworks models clear-cooldown MODEL" clears a cooldown.',
    );
  const detail = `${available.length} of ${configured.length} models are available: ${named(available)}.${rest}`;
  return failing.length === 0
    ? ok(detail)
    : warning(
        detail,
        'See the failed calls with "headworks models explain MODEL"; "headworks models disable MODEL" stops the use of a model.',
      );
}

function failureText({ name, health }: ModelView): string {
  const { requestCount, successRate, lastFailure } = health;
  const share = Math.round((successRate ?? 0) * 100);
  const rate = requestCount === 0 ? '' : `, ${share}% of ${requestCount} requests in 15 minutes succeeded`;
  return `${name} (${lastFailure ?? 'failed'}${rate})`;
}

/**
 * Reports missing keys of models that a user added (a catalog model without a key is normal), and keys that the provider
 * rejects: `rejected`, the open ledger rows, by model.
 */
export function modelKeys(
  active: readonly ModelView[],
  rejected: readonly Pick<LedgerEntry, 'kind' | 'subject' | 'cause'>[],
): Finding {
  const addedModels = active.filter(({ origin }) => origin !== 'built-in');
  const without = addedModels.filter(({ isConfigured }) => !isConfigured);
  const rejections = active.flatMap(({ name, keySource }) => {
    const row = rejected.find(({ subject }) => subject === name);
    return row ? [`${name} (${keySource ?? 'no key'}: ${row.cause})`] : [];
  });
  const details = [
    ...(rejections.length === 0 ? [] : [`Rejected by the provider: ${rejections.join(', ')}.`]),
    ...(without.length === 0
      ? []
      : [
          `Without a key: ${without.map(({ name, needs }) => (needs === null ? name : `${name} (set ${needs})`)).join(', ')}.`,
        ]),
  ];
  if (details.length === 0)
    return ok(
      addedModels.length === 0
        ? 'No models were added to the built-in ones, and no key is rejected.'
        : 'Every added model has a key, and none is rejected.',
    );
  return warning(
    details.join(' '),
    'Set valid keys in the environment of the server and restart it, or disable the models: headworks models disable MODEL.' +
      (rejections.length === 0
        ? ''
        : ` "headworks ledger list --kind ${rejected[0]?.kind}" shows the response of each provider.`),
  );
}

export interface EmbeddingStatus {
  current(): {
    readonly state: string;
    readonly embedder?: { readonly model: string };
    readonly why?: string;
  };
  /** Why the configured embedding model cannot be used; null when none is configured or it works. */
  problem(): { readonly why: string; readonly remedy: string } | null;
}

export function vectors(embedding: EmbeddingStatus): Finding {
  const failure = embedding.problem();
  if (failure) return problem(failure.why, failure.remedy);
  const state = embedding.current();
  return state.embedder
    ? ok(`Made by ${state.embedder.model}.`)
    : notConfigured(`No embedding model; search matches words only. ${state.why ?? ''}`.trim(), null);
}

export function graph({ backend, state, detail }: Awaited<ReturnType<GraphService['status']>>): Finding {
  if (state === 'off') return notConfigured('The graph is disabled.', 'Set GRAPH_BACKEND to sql or age.');
  if (state === 'available') return ok(`In ${backend}.`);
  return problem(
    `The graph (${backend}) is unavailable. ${detail ?? ''}`.trim(),
    'Search works without it; writes to it are queued.',
  );
}

export async function jobs(queue: Pick<JobQueue, 'counts' | 'list'>, now: number): Promise<Finding> {
  const counts = await queue.counts();
  const total = (state: string) =>
    counts.filter((count) => count.state === state).reduce((sum, { count }) => sum + count, 0);
  const detail = `${total('queued')} queued, ${total('running')} running, ${total('failed')} failed.`;
  const overdue = (await queue.list({ states: ['queued'], limit: 100 })).filter(
    ({ startAfter, createdAt }) => now - (startAfter ?? createdAt).getTime() > overdueMs,
  );
  if (overdue.length > 0)
    return warning(`${detail} ${overdue.length} are overdue.`, 'Start "headworks serve" or a worker.');
  return total('failed') === 0
    ? ok(detail)
    : warning(detail, 'List them with "headworks jobs list --state failed", then "headworks jobs retry ID".');
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
      ? '"headworks repair" retries what can be repaired; "headworks ledger list" shows the cause of the rest.'
      : '"headworks ledger list" shows each cause.',
  );
}

export interface AlertStatus {
  readonly name: string;
  readonly severity: string;
  readonly message: string;
  readonly state: string;
}

export function alerts(current: readonly AlertStatus[]): Finding {
  const firing = current.filter(({ state }) => state === 'firing');
  if (firing.length === 0) return ok('No alert is firing.');
  const isCritical = firing.some(({ severity }) => severity === 'critical');
  return (isCritical ? problem : warning)(
    `Firing: ${firing.map(({ name, message }) => `${name} (${message})`).join(' ')}`,
    'docs/guide/operations.md has the remedy of each.',
  );
}
