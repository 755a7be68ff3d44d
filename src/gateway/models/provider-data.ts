// The shipped catalog of providers as it is written in providers.json. `catalog.ts` checks it against the schema.
import { readFileSync } from 'node:fs';
import { asObject, objectsIn } from '../dialects/json.ts';
import type { JsonObject } from '../dialects/json.ts';

export const shippedProviders: readonly JsonObject[] = objectsIn(
  JSON.parse(readFileSync(new URL('./providers.json', import.meta.url), 'utf8')),
);

/** Checked before the variable of the catalog, which is often set for another purpose: CI and the gh tool set it. */
const preferredEnvVars: ReadonlyMap<string, string> = new Map([['GITHUB_TOKEN', 'GITHUB_MODELS_TOKEN']]);

/** Variables of the catalog; not all of them end like keys (GITHUB_TOKEN). */
export const catalogEnvVars: ReadonlySet<string> = new Set([
  ...shippedProviders.flatMap(({ envVar }) => (typeof envVar === 'string' ? [envVar] : [])),
  ...preferredEnvVars.values(),
]);

/** The variables to read for the keys of a model that names `envVar`; the first one with keys is used. */
export function keyVariables(envVar: string): readonly string[] {
  const preferred = preferredEnvVars.get(envVar);
  return preferred === undefined ? [envVar] : [preferred, envVar];
}

/** As for models that operators create: what nearly every OpenAI-compatible server has. */
const usualSupport = { supports: ['tools', 'json'] };

/**
 * The definition of a provider as written, on top of the shipped one of the same name: fields replace, models are added or
 * replaced by their name, settings of the discovery are merged.
 */
export function mergedWithShipped(given: JsonObject): JsonObject {
  const shipped = shippedProviders.find(({ name }) => name === given['name']);
  if (!shipped) return { ...usualSupport, ...given };
  const models = objectsIn(given['models']);
  const isReplaced = ({ model }: JsonObject) => models.some((each) => each['model'] === model);
  const discovery = asObject(given['discovery']);
  return {
    ...shipped,
    ...given,
    models:
      given['models'] === undefined || Array.isArray(given['models'])
        ? [...objectsIn(shipped['models']).filter((each) => !isReplaced(each)), ...(given['models'] ?? [])]
        : given['models'],
    ...(discovery ? { discovery: { ...asObject(shipped['discovery']), ...discovery } } : {}),
  };
}
