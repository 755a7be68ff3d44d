// Provider keys: read from the environment, never stored. Several in one variable are separated by commas and take turns.
import { createHash } from 'node:crypto';
import type { ModelDefinition, ProviderKey } from '../types.ts';
import { fillBaseUrl, urlVariables } from './model-definition.ts';
import { keyVariables } from './provider-data.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A model or a provider. */
type Endpoint = Pick<ModelDefinition, 'envVar' | 'baseUrl' | 'isLocal'>;

const noKey: readonly ProviderKey[] = [{ id: 'none', secret: null }];

interface FoundKeys {
  readonly source: string | null;
  readonly keys: readonly ProviderKey[];
}

/** Reads the environment once, when it is created. */
export class ProviderKeys {
  readonly #env: Environment;
  /** Cached: every request needs the keys of every model. */
  readonly #found = new Map<string, FoundKeys>();
  readonly #urls = new Map<string, string | undefined>();

  constructor(env: Environment) {
    this.#env = { ...env };
  }

  /** In the order they are written; empty: not configured. */
  keysOf(model: Endpoint): readonly ProviderKey[] {
    if (model.envVar === null) return noKey;
    const { keys } = this.#find(model.envVar);
    return keys.length === 0 && this.#hasExplicitUrl(model) ? noKey : keys;
  }

  /** The variable in which the keys were found; null when there are none or none are needed. */
  keySourceOf({ envVar }: Pick<Endpoint, 'envVar'>): string | null {
    return envVar === null ? null : this.#find(envVar).source;
  }

  /** The base URL with its variables filled in; undefined when one is missing (then not configured). */
  baseUrlOf({ baseUrl }: Pick<Endpoint, 'baseUrl'>): string | undefined {
    if (!this.#urls.has(baseUrl)) this.#urls.set(baseUrl, fillBaseUrl(baseUrl, this.#env));
    return this.#urls.get(baseUrl);
  }

  isConfigured(model: Endpoint): boolean {
    return this.keysOf(model).length > 0 && this.baseUrlOf(model) !== undefined;
  }

  /** Alternatives that would configure the model, each the set of variables to set; empty when it is configured. */
  missingEnvVars(model: Endpoint): readonly (readonly string[])[] {
    const inUrl = this.#missingInUrl(model);
    if (this.keysOf(model).length > 0) return inUrl.length > 0 ? [inUrl] : [];
    const urls = model.isLocal ? urlVariables(model.baseUrl).map(({ name }) => name) : [];
    const keys = model.envVar === null ? [] : keyVariables(model.envVar);
    return [...urls, ...keys].map((name) => [...new Set([name, ...inUrl])]);
  }

  /** Every key of these models, for the Redactor. */
  secretsOf(models: readonly Endpoint[]): readonly string[] {
    return [...new Set(models.flatMap((model) => this.keysOf(model).flatMap(({ secret }) => secret ?? [])))];
  }

  #find(envVar: string): FoundKeys {
    let found = this.#found.get(envVar);
    if (!found) this.#found.set(envVar, (found = findKeys(envVar, this.#env)));
    return found;
  }

  #isSet(name: string): boolean {
    return Boolean(this.#env[name]?.trim());
  }

  /** A local model whose URL variable is set needs no key; the default URL alone does not configure it. */
  #hasExplicitUrl(model: Endpoint): boolean {
    return model.isLocal && urlVariables(model.baseUrl).some(({ name }) => this.#isSet(name));
  }

  /** The URL variables that are not set; all of them when they are set and the result is still not a URL. */
  #missingInUrl(model: Endpoint): readonly string[] {
    if (this.baseUrlOf(model) !== undefined) return [];
    const inUrl = urlVariables(model.baseUrl);
    const unset = inUrl.filter(({ name, fallback }) => fallback === undefined && !this.#isSet(name));
    return (unset.length > 0 ? unset : inUrl).map(({ name }) => name);
  }
}

/** What routing needs of ProviderKeys. */
export type KeyLookup = Pick<
  ProviderKeys,
  'keysOf' | 'baseUrlOf' | 'keySourceOf' | 'isConfigured' | 'missingEnvVars'
>;

/** Round robin over the keys of each model. */
export class KeyRotation {
  readonly #next = new Map<number, number>();

  /** The first usable key, starting with the next in turn. */
  pick(
    modelId: number,
    keys: readonly ProviderKey[],
    isUsable: (key: ProviderKey) => boolean,
  ): ProviderKey | undefined {
    const first = keys.length > 1 ? (this.#next.get(modelId) ?? 0) : 0;
    for (let step = 0; step < keys.length; step++) {
      const index = (first + step) % keys.length;
      const key = keys[index];
      if (!key || !isUsable(key)) continue;
      if (keys.length > 1) this.#next.set(modelId, index + 1);
      return key;
    }
    return undefined;
  }
}

function findKeys(envVar: string, env: Environment): FoundKeys {
  for (const source of keyVariables(envVar)) {
    const keys = parseKeys(env[source] ?? '');
    if (keys.length > 0) return { source, keys };
  }
  return { source: null, keys: [] };
}

/** Text with control or non-ASCII characters cannot be sent in a header, so it is not a key. */
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

/** `missingEnvVars` as text: `A together with B or C`. */
export function describeMissing(alternatives: readonly (readonly string[])[]): string {
  return alternatives.map((variables) => variables.join(' together with ')).join(' or ');
}
