// Why nobody can be asked, and what would help.
import { nearNames } from '../../core/index.ts';
import { GatewayError } from '../errors.ts';
import type { ProviderKeys, Model } from '../ports.ts';
import type { Need } from './needs.ts';
import { can, canAll, needWords } from './needs.ts';
import { describeMissing } from '../providers/index.ts';

/** A message names at most so many; `details` has all. */
const mostListed = 30;
const longestName = 100;

export function unknownModel(name: string, models: readonly Model[]): GatewayError {
  const near = nearNames(
    name,
    models.flatMap((model) => [model.name, model.upstreamModel]),
  );
  const meant = near.length > 0 ? ` Did you mean ${listed(near, 'or')}?` : '';
  const shown = name.length > longestName ? `${name.slice(0, longestName)}…` : name;
  return new GatewayError(
    'GATEWAY_MODEL_NOT_FOUND',
    `There is no model "${shown}".${meant} GET /v1/models lists all that can be asked; "auto" takes the best of them.`,
    { details: { model: shown, near } },
  );
}

/** `scope`, of all `models`, holds none that is active, has a key, and can do everything. */
export function noCandidateError(
  scope: readonly Model[],
  needs: readonly Need[],
  keys: ProviderKeys,
  models: readonly Model[],
): GatewayError {
  const active = scope.filter((model) => model.isActive);
  if (active.length === 0 && scope.length > 0) return disabled(scope);
  const kind = needs.find((need) => need === 'chat' || need === 'embeddings');
  if (scope !== models && kind && !active.some((model) => can(model.capabilities, kind)))
    return wrongKind(active, kind, models, keys);
  const configured = active.filter((model) => isConfigured(model, keys));
  const able = active.filter((model) => canAll(model.capabilities, needs));
  if (configured.length === 0) return notConfigured(waysTo(able.length > 0 ? able : active, keys));
  return unable(configured, needs, waysTo(able, keys));
}

export function isConfigured(model: Model, keys: ProviderKeys): boolean {
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

function notConfigured(ways: Ways): GatewayError {
  const remedy =
    ways.words.length > 0
      ? `Set ${ways.words.length === 1 ? '' : 'one of '}${listed(ways.words, 'or')} in the environment and start again.`
      : 'Add one with "headworks models add".';
  return new GatewayError('GATEWAY_NOT_CONFIGURED', `No model that could answer has a key. ${remedy}`, {
    details: { envVars: ways.envVars },
  });
}

/** Those that were named are for chat, and embeddings are wanted, or the other way round. */
function wrongKind(
  named: readonly Model[],
  kind: 'chat' | 'embeddings',
  models: readonly Model[],
  keys: ProviderKeys,
): GatewayError {
  const right = models.filter((model) => model.isActive && can(model.capabilities, kind));
  const listCallable = right.filter((model) => isConfigured(model, keys)).map((model) => model.name);
  const ways = waysTo(right, keys);
  const what = kind === 'chat' ? 'chat model' : 'embedding model';
  const quoted = named.map((model) => `"${model.name}"`);
  const remedy =
    listCallable.length > 0
      ? `Ask ${listed(listCallable, 'or')}.`
      : ways.words.length > 0
        ? `Models that are need ${listed(ways.words, 'or')} to be set.`
        : 'Add one with "headworks models add".';
  return new GatewayError(
    'GATEWAY_CAPABILITY_UNSUPPORTED',
    `${listed(quoted, 'and')} ${named.length === 1 ? `is no ${what}` : `are no ${what}s`}. ${remedy}`,
    { details: { missing: [kind], envVars: listCallable.length > 0 ? [] : ways.envVars } },
  );
}

function unable(configured: readonly Model[], needs: readonly Need[], ways: Ways): GatewayError {
  const lacking = needs.filter((need) => !configured.some((model) => can(model.capabilities, need)));
  const missing = lacking.length > 0 ? lacking : needs;
  const words = listed(
    missing.map((need) => needWords[need]),
    'and',
  );
  const together = lacking.length > 0 || needs.length === 1 ? '' : ' together';
  const remedy = ways.words.length > 0 ? ` Models that can need ${listed(ways.words, 'or')} to be set.` : '';
  return new GatewayError(
    'GATEWAY_CAPABILITY_UNSUPPORTED',
    `No configured model that may be asked can do ${words}${together}. Ask without, or name another model.${remedy}`,
    { details: { missing, envVars: ways.envVars } },
  );
}

/** What would make one of some models usable: in words, a way each, and the names of all variables. */
interface Ways {
  readonly words: readonly string[];
  readonly envVars: readonly string[];
}

function waysTo(models: readonly Model[], keys: ProviderKeys): Ways {
  const ways = models.flatMap((model) => keys.missingEnvVars(model));
  return {
    words: [...new Set(ways.map((way) => describeMissing([way])))].sort(),
    envVars: [...new Set(ways.flat())].sort(),
  };
}

function listed(words: readonly string[], joint: 'and' | 'or'): string {
  const shown = words.slice(0, mostListed);
  if (words.length > mostListed) shown.push(`${words.length - mostListed} more`);
  const last = shown.pop() ?? '';
  return shown.length > 0 ? `${shown.join(', ')} ${joint} ${last}` : last;
}
