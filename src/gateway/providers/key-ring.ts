// The providers' keys: read from the environment, never stored. Several in one variable are separated by commas.
import { createHash } from 'node:crypto';
import type { ProviderKeys, ModelDefinition, ProviderKey } from '../ports.ts';
import { fillBaseUrl, urlVariables } from './base-url.ts';
import { placesOf } from './env-vars.ts';

/** For models that need no key. */
export const noKey: ProviderKey = { id: 'none', secret: null };

export interface EnvironmentProviderKeys extends ProviderKeys {
  /** Every key of these models, for the Redactor. */
  secretsOf(models: readonly ModelDefinition[]): readonly string[];
}

/** Reads `env` as it is now: a change later on is not seen. */
export function createProviderKeys(
  env: Readonly<Record<string, string | undefined>>,
): EnvironmentProviderKeys {
  const snapshot = { ...env };
  const rings = new Map<string, FoundKeys>();
  const urls = new Map<string, string | undefined>();

  /** Read once: every request asks for the keys of every model. */
  const foundFor = (envVar: string): FoundKeys => {
    let found = rings.get(envVar);
    if (!found) rings.set(envVar, (found = findKeys(envVar, snapshot)));
    return found;
  };
  const isSet = (name: string): boolean => Boolean(snapshot[name]?.trim());
  /** A local model whose address was given needs no key; its own default address does not count as given. */
  const isPointedAt = (model: ModelDefinition): boolean =>
    model.isLocal && urlVariables(model.baseUrl).some(({ name }) => isSet(name));

  const keysOf = (model: ModelDefinition): readonly ProviderKey[] => {
    if (model.envVar === null) return alone;
    const { keys } = foundFor(model.envVar);
    return keys.length === 0 && isPointedAt(model) ? alone : keys;
  };
  const baseUrlOf = ({ baseUrl }: ModelDefinition): string | undefined => {
    if (!urls.has(baseUrl)) urls.set(baseUrl, fillBaseUrl(baseUrl, snapshot));
    return urls.get(baseUrl);
  };
  /** Variables of its address that are not set, or, when all are and it still is no address, those. */
  const missingInUrl = (model: ModelDefinition): readonly string[] => {
    if (baseUrlOf(model) !== undefined) return [];
    const inUrl = urlVariables(model.baseUrl);
    const unset = inUrl.filter(({ name, fallback }) => fallback === undefined && !isSet(name));
    return (unset.length > 0 ? unset : inUrl).map(({ name }) => name);
  };
  return {
    keysOf,
    keySourceOf: ({ envVar }) => (envVar === null ? null : foundFor(envVar).source),
    baseUrlOf,
    missingEnvVars(model) {
      const inUrl = missingInUrl(model);
      if (keysOf(model).length > 0) return inUrl.length > 0 ? [inUrl] : [];
      const addresses = model.isLocal ? urlVariables(model.baseUrl).map(({ name }) => name) : [];
      const places = model.envVar === null ? [] : placesOf(model.envVar);
      return [...addresses, ...places].map((name) => [...new Set([name, ...inUrl])]);
    },
    secretsOf: (models) => [
      ...new Set(models.flatMap((model) => keysOf(model).flatMap(({ secret }) => secret ?? []))),
    ],
  };
}

const alone: readonly ProviderKey[] = [noKey];

interface FoundKeys {
  readonly source: string | null;
  readonly keys: readonly ProviderKey[];
}

function findKeys(envVar: string, env: Readonly<Record<string, string | undefined>>): FoundKeys {
  for (const source of placesOf(envVar)) {
    const keys = parseKeys(env[source] ?? '');
    if (keys.length > 0) return { source, keys };
  }
  return { source: null, keys: [] };
}

/** A key with control characters in it would break the header it travels in: it is none. */
function parseKeys(text: string): readonly ProviderKey[] {
  const secrets = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => /^[\x21-\x7e]+$/.test(part));
  return [...new Set(secrets)].map((secret) => ({ id: keyId(secret), secret }));
}

function keyId(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 12);
}

/** What `missingEnvVars` says, for people: `A together with B, or C`. */
export function describeMissing(ways: readonly (readonly string[])[]): string {
  return ways.map((variables) => variables.join(' together with ')).join(' or ');
}
