// Which environment variables a model may name. Whoever can add a model must not be able to send our secrets away.

import { providers } from './provider-data.ts';

/** Not all are called like keys: GITHUB_TOKEN. */
const ofCatalogue: ReadonlySet<string> = new Set(
  providers.flatMap(({ envVar, ownEnvVar }) => [envVar, ownEnvVar ?? envVar]),
);

const ownNames: ReadonlyMap<string, string> = new Map(
  providers.flatMap(({ envVar, ownEnvVar }) => (ownEnvVar === undefined ? [] : [[envVar, ownEnvVar]])),
);

/** Where to look for the keys of a model that names this variable; the first that holds one is taken. */
export function placesOf(envVar: string): readonly string[] {
  const own = ownNames.get(envVar);
  return own === undefined ? [envVar] : [own, envVar];
}

/** Never, although they end like keys: ours, the stores', and those that open more than a model. */
const forbidden =
  /^(?:HEADWORKS|DATABASE|DB|POSTGRES|PG|REDIS|AWS|NPM|NODE|SSH|GPG|CI|VAULT|KUBE|DOCKER|STRIPE|SLACK|LOOKER)_|(?:PRIVATE|SECRET|ACCESS|ENCRYPTION|SIGNING|MASTER|ADMIN|SESSION|REFRESH|DEPLOY)_(?:KEY|TOKEN)$|_(?:SSH|GPG)_KEY$/;

/** Why this variable may not hold a provider's keys, to follow its name; undefined when it may. */
export function envVarProblem(name: string): string | undefined {
  if (!/^[A-Z][A-Z0-9_]{2,127}$/.test(name))
    return 'must be the name of an environment variable in capitals, like GROQ_API_KEY';
  if (forbidden.test(name)) return 'is not for models: it looks like a secret of something else';
  return /_API_(?:KEY|TOKEN)$/.test(name) || ofCatalogue.has(name)
    ? undefined
    : 'must look like a provider key: only variables that end in _API_KEY or _API_TOKEN may be named';
}

/** Why a base URL may not hold this variable in braces; undefined when it may. What it holds is no secret. */
export function urlVariableProblem(name: string): string | undefined {
  return /^[A-Z][A-Z0-9_]*_(?:ACCOUNT_ID|PROJECT_ID|RESOURCE|REGION)$/.test(name) && !forbidden.test(name)
    ? undefined
    : 'may not stand in a base URL; only names that end in _ACCOUNT_ID, _PROJECT_ID, _RESOURCE or _REGION may';
}
