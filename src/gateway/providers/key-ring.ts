// The providers' keys: read from the environment, never stored. Several in one variable are separated by commas.
import { createHash } from 'node:crypto';
import type { KeyRing, ModelDefinition, ProviderKey } from '../ports.ts';
import { fillBaseUrl, urlVariables } from './base-url.ts';

/** For models that need no key. */
export const noKey: ProviderKey = { id: 'none', secret: null };

export interface ProviderKeyRing extends KeyRing {
  /** Every key of these models, for the Redactor. */
  secretsOf(models: readonly ModelDefinition[]): readonly string[];
}

/** Reads `env` as it is now: a change later on is not seen. */
export function createKeyRing(env: Readonly<Record<string, string | undefined>>): ProviderKeyRing {
  const snapshot = { ...env };
  const keys = new Map<string, readonly ProviderKey[]>();
  const urls = new Map<string, string | undefined>();

  const inVariable = (name: string): readonly ProviderKey[] => {
    const known = keys.get(name) ?? parseKeys(snapshot[name] ?? '');
    keys.set(name, known);
    return known;
  };
  /** A local model whose address was given needs no key; its own default address does not count as given. */
  const isPointedAt = (model: ModelDefinition): boolean =>
    model.isLocal && urlVariables(model.baseUrl).some(({ name }) => Boolean(snapshot[name]?.trim()));

  const keysOf = (model: ModelDefinition): readonly ProviderKey[] => {
    if (model.envVar === null) return alone;
    const found = inVariable(model.envVar);
    return found.length === 0 && isPointedAt(model) ? alone : found;
  };
  return {
    keysOf,
    baseUrlOf(model) {
      if (!urls.has(model.baseUrl)) urls.set(model.baseUrl, fillBaseUrl(model.baseUrl, snapshot));
      return urls.get(model.baseUrl);
    },
    secretsOf: (models) => [
      ...new Set(models.flatMap((model) => keysOf(model).flatMap(({ secret }) => secret ?? []))),
    ],
  };
}

const alone: readonly ProviderKey[] = [noKey];

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

/** The variables that have to be set before this model can be asked. */
export function variablesOf(model: ModelDefinition): readonly string[] {
  const inUrl = urlVariables(model.baseUrl);
  const needed = inUrl.filter(({ fallback }) => fallback === undefined).map(({ name }) => name);
  return [...(model.envVar === null ? [] : [model.envVar]), ...needed];
}
