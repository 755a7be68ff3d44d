// Finds a model by the name or id that somebody typed, and changes it.
import type { Model } from '../../api/models.ts';
import type { CallOptions, HeadworksClient } from '../../app/client/session.ts';
import { CoreError, nearNames } from '../../core/index.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import type { CliSession } from '../session.ts';

export const modelsPath = '/api/v1/models';

/** Fails with NOT_FOUND, naming those that come near. */
export function withModel<T>(
  session: CliSession,
  wanted: string,
  work: (model: Model, client: HeadworksClient) => Promise<T>,
): Promise<T> {
  return session.withClient(async (client) => {
    const models = await allModels(session, client);
    return work(modelNamed(wanted, models), client);
  });
}

/** Like `withModel`, for several: in the order given, each once. */
export function withModels<T>(
  session: CliSession,
  wanted: readonly string[],
  work: (models: readonly Model[], client: HeadworksClient) => Promise<T>,
): Promise<T> {
  return session.withClient(async (client) => {
    const models = await allModels(session, client);
    return work([...new Set(wanted.map((name) => modelNamed(name, models)))], client);
  });
}

export const allModels = (session: CliSession, client: HeadworksClient): Promise<readonly Model[]> =>
  client.call<readonly Model[]>('GET', modelsPath, {
    query: { active_only: false, include_recent: true },
    signal: session.io.signal,
  });

function modelNamed(wanted: string, models: readonly Model[]): Model {
  const model = models.find(({ id, name }) => name === wanted || String(id) === wanted);
  if (model) return model;
  const near = nearNames(
    wanted,
    models.map(({ name }) => name),
  );
  throw new CoreError(
    'NOT_FOUND',
    near.length === 0
      ? `There is no model ${wanted}. "headworks models list --all" lists all.`
      : `There is no model ${wanted}. Did you mean ${near.join(' or ')}?`,
  );
}

export function changeModel(
  session: CliSession,
  wanted: string,
  {
    change,
    done,
  }: {
    /** What is changed, and how. */
    readonly change: () => readonly [what: string, options: CallOptions];
    readonly done: (model: Model) => string;
  },
): Promise<ExitCode> {
  return withModel(session, wanted, async ({ id }, client) => {
    const [what, options] = change();
    const changed = await client.call<Model>('PATCH', `${modelsPath}/${id}/${what}`, {
      ...options,
      signal: session.io.signal,
    });
    if (session.out.isJson) session.out.json(changed);
    else session.out.line(done(changed));
    return exitCodes.ok;
  });
}
