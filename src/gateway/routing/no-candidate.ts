// Why nobody can be asked, and what would help.
import { GatewayError } from '../errors.ts';
import type { KeyRing, Model } from '../ports.ts';
import { nearNames } from './near-names.ts';
import type { Need } from './needs.ts';
import { can, canAll, needWords } from './needs.ts';

/** A message names at most so many; `details` has all. */
const mostListed = 20;
const longestName = 100;

export function unknownModel(name: string, models: readonly Model[]): GatewayError {
  const near = nearNames(
    name,
    models.flatMap((model) => [model.name, model.upstreamModel]),
  );
  const meant = near.length > 0 ? ` Did you mean ${listed(near, 'or')}?` : '';
  const shown = name.length > longestName ? `${name.slice(0, longestName)}…` : name;
  return new GatewayError(
    'GATEWAY_MODEL_UNKNOWN',
    `There is no model "${shown}".${meant} GET /v1/models lists all that can be asked; "auto" takes the best of them.`,
    { details: { model: shown, near } },
  );
}

/** `scope` holds no model that is active, has a key, and can do everything. */
export function noCandidate(scope: readonly Model[], needs: readonly Need[], keys: KeyRing): GatewayError {
  const active = scope.filter((model) => model.isActive);
  if (active.length === 0 && scope.length > 0) return disabled(scope);
  const configured = active.filter((model) => isConfigured(model, keys));
  const able = active.filter((model) => canAll(model.capabilities, needs));
  if (configured.length === 0) return notConfigured(variablesOf(able.length > 0 ? able : active, keys));
  return unable(configured, needs, variablesOf(able, keys));
}

export function isConfigured(model: Model, keys: KeyRing): boolean {
  return keys.keysOf(model).length > 0 && keys.baseUrlOf(model) !== undefined;
}

function disabled(scope: readonly Model[]): GatewayError {
  const names = scope.map((model) => model.name);
  return new GatewayError(
    'GATEWAY_NOT_CONFIGURED',
    `No model can be asked: ${listed(names, 'and')} ${names.length === 1 ? 'is' : 'are'} disabled. Enable one with "headworks models enable NAME".`,
    { details: { disabled: names } },
  );
}

function notConfigured(envVars: readonly string[]): GatewayError {
  const remedy =
    envVars.length > 0
      ? `Set ${envVars.length === 1 ? '' : 'one of '}${listed(envVars, 'or')} in the environment and start again.`
      : 'Add one with "headworks models add".';
  return new GatewayError('GATEWAY_NOT_CONFIGURED', `No model that could answer has a key. ${remedy}`, {
    details: { envVars },
  });
}

function unable(
  configured: readonly Model[],
  needs: readonly Need[],
  envVars: readonly string[],
): GatewayError {
  const lacking = needs.filter((need) => !configured.some((model) => can(model.capabilities, need)));
  const missing = lacking.length > 0 ? lacking : needs;
  const words = listed(
    missing.map((need) => needWords[need]),
    'and',
  );
  const together = lacking.length > 0 || needs.length === 1 ? '' : ' together';
  const remedy = envVars.length > 0 ? ` Models that can need ${listed(envVars, 'or')} to be set.` : '';
  return new GatewayError(
    'GATEWAY_UNABLE',
    `No configured model that may be asked can do ${words}${together}. Ask without, or name another model.${remedy}`,
    { details: { missing, envVars } },
  );
}

/** Variables that are not set and would make one of these models usable. */
function variablesOf(models: readonly Model[], keys: KeyRing): readonly string[] {
  const names = new Set<string>();
  for (const model of models) {
    if (model.envVar !== null && keys.keysOf(model).length === 0) names.add(model.envVar);
    if (keys.baseUrlOf(model) === undefined)
      for (const [, name] of model.baseUrl.matchAll(/\{([A-Z0-9_]+)\}/g)) if (name) names.add(name);
  }
  return [...names].sort();
}

function listed(words: readonly string[], joint: 'and' | 'or'): string {
  const shown = words.slice(0, mostListed);
  if (words.length > mostListed) shown.push(`${words.length - mostListed} more`);
  const last = shown.pop() ?? '';
  return shown.length > 0 ? `${shown.join(', ')} ${joint} ${last}` : last;
}
