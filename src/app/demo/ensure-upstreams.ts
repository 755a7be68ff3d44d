// The server knows the simulators: registered at first, and told their new addresses when these have changed.
import type { ExtractionSource, ExtractionSources } from '../../api/extraction.ts';
import type { Model } from '../../api/models.ts';
import type { Stage } from './chapter.ts';
import { modelBodies } from './demo-models.ts';
import { lookerSource } from './demo-world.ts';

type Parts = Pick<Stage, 'client' | 'world' | 'signal'>;

export async function ensureModels({ client, world, signal }: Parts): Promise<number> {
  const query = { active_only: false };
  const known = await client.call<Model[]>('GET', '/api/v1/models', { query, signal });
  const bodies = modelBodies((provider) => world.models.baseUrl(provider));
  for (const body of bodies) {
    const model = known.find(({ name }) => name === body.name);
    if (!model) await client.call('POST', '/api/v1/models', { body, signal });
    else if (!model.api_endpoint.startsWith(body.base_url))
      await client.call('PUT', `/api/v1/models/${model.id}`, { body, signal });
  }
  return bodies.length;
}

export async function ensureSource({ client, world, signal }: Parts): Promise<ExtractionSource> {
  const path = '/api/v1/extraction/sources';
  const body = lookerSource(world.looker.url);
  const { sources } = await client.call<ExtractionSources>('GET', path, { signal });
  const source = sources.find(({ name }) => name === body.name);
  if (!source) return client.call('POST', path, { body, signal });
  if (source.kind === 'looker' && source.settings.base_url === body.settings.base_url) return source;
  return client.call('PATCH', `${path}/${source.id}`, { body: { settings: body.settings }, signal });
}
