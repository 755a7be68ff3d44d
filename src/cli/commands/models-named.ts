// Finds a model by the name or id that somebody typed, and changes it.
import type { ModelAnswer } from '../../app/api-answers.ts';
import type { CallOptions, HeadworksClient } from '../../app/headworks-client.ts';
import { CoreError } from '../../core/index.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import type { CliSession } from '../session.ts';

export const modelsPath = '/api/v1/models';

/** Fails with NOT_FOUND, naming those that come near. */
export function withModel<T>(
  session: CliSession,
  wanted: string,
  work: (model: ModelAnswer, client: HeadworksClient) => Promise<T>,
): Promise<T> {
  return session.withClient(async (client) => {
    const models = await client.call<readonly ModelAnswer[]>('GET', modelsPath, {
      query: { active_only: false, include_recent: true },
      signal: session.io.signal,
    });
    const model = models.find(({ id, name }) => name === wanted || String(id) === wanted);
    if (model) return work(model, client);
    const near = models.map(({ name }) => name).filter((name) => name.includes(wanted));
    throw new CoreError(
      'NOT_FOUND',
      near.length === 0
        ? `There is no model ${wanted}. "headworks models list --all" lists all.`
        : `There is no model ${wanted}. Did you mean ${near.join(' or ')}?`,
    );
  });
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
    readonly done: (model: ModelAnswer) => string;
  },
): Promise<ExitCode> {
  return withModel(session, wanted, async ({ id }, client) => {
    const [what, options] = change();
    const changed = await client.call<ModelAnswer>('PATCH', `${modelsPath}/${id}/${what}`, {
      ...options,
      signal: session.io.signal,
    });
    if (session.out.isJson) session.out.json(changed);
    else session.out.line(done(changed));
    return exitCodes.ok;
  });
}
