// How commands name a deployment: by its id, as ORGANIZATION/NAME, or by its name alone if only one has it.
import type { Deployment, Deployments } from '../../api/deployments.ts';
import { CoreError } from '../../core/index.ts';
import { callServer } from '../call-server.ts';
import type { CliSession } from '../session.ts';

export const deploymentsPath = '/api/v1/deployments';
export const deploymentPath = (id: string): string => `${deploymentsPath}/${id}`;

export const deploymentArgument = ['<deployment>', 'its id, ORGANIZATION/NAME, or its name'] as const;

/** Fails with NOT_FOUND, or CONFLICT when several organizations have one of this name. */
export async function deploymentNamed(session: CliSession, wanted: string): Promise<Deployment> {
  // Organizations' names hold no slash.
  const slash = wanted.lastIndexOf('/');
  const query = slash === -1 ? {} : { organization: wanted.slice(0, slash) };
  const name = wanted.slice(slash + 1);
  const { deployments } = await callServer<Deployments>(session, 'GET', deploymentsPath, { query });
  const byId = deployments.find(({ id }) => id === wanted);
  if (byId) return byId;
  const named = deployments.filter((each) => each.name.toLowerCase() === name.toLowerCase());
  const [only] = named;
  if (only && named.length === 1) return only;
  if (named.length > 1)
    throw new CoreError(
      'CONFLICT',
      `Several organizations have a deployment ${name}: ${named.map((each) => `${each.organization_name}/${each.name}`).join(', ')}. Say which.`,
    );
  throw new CoreError(
    'NOT_FOUND',
    `There is no deployment ${wanted}. "headworks deployments list" shows all.`,
  );
}
