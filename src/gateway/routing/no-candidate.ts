// The errors when no model can serve a request.
import { nearNames } from '../../core/index.ts';
import { targetApi } from '../dialects/parse-request.ts';
import { GatewayError } from '../errors.ts';
import type { Requirement } from '../models/model-definition.ts';
import { meets, meetsAll, requirementsOf } from '../models/model-definition.ts';
import type { KeyLookup } from '../models/provider-keys.ts';
import { describeMissing } from '../models/provider-keys.ts';
import type { CompletionRequest, Model } from '../types.ts';
import { passThroughEndpoints } from '../types.ts';

/** Callers of the library have no CLI. */
const addModel = 'Create a model with its name and base URL (on a server: "headworks models create").';

/** A message lists at most this many; `details` has all. */
const maxListed = 30;
const maxNameLength = 100;

/** Those that are not understood by themselves. */
const requirementLabels: Partial<Record<Requirement, string>> = {
  json: 'JSON output',
  vision: 'images',
};

export function modelNameNotFound(
  name: string,
  models: readonly Model[],
  aliases: readonly string[],
): GatewayError {
  const near = nearNames(name, [...aliases, ...models.flatMap((model) => [model.name, model.upstreamModel])]);
  const suggestion = near.length > 0 ? ` Did you mean ${joinList(near, 'or')}?` : '';
  const shown = name.length > maxNameLength ? `${name.slice(0, maxNameLength)}…` : name;
  return new GatewayError(
    'GATEWAY_MODEL_NOT_FOUND',
    `There is no model "${shown}".${suggestion} Use the name of a configured model, or "auto" for the best available one.`,
    { details: { model: shown, near } },
  );
}

/** What the request needs and the API of the model does not have, as the caller wrote it; empty: the model can serve it. */
export function unsupportedFeatures(request: CompletionRequest, { apis }: Model): readonly string[] {
  return request.api === null || apis.includes(request.api) ? [] : targetApi(request, { apis }).missing;
}

export function aliasNotFound(alias: string, names: readonly string[]): GatewayError {
  return new GatewayError(
    'GATEWAY_MODEL_NOT_FOUND',
    `The alias "${alias}" stands for ${joinList(names, 'and')}; there is no such model. Change gateway.aliases, or create the model.`,
    { details: { model: alias, names } },
  );
}

/** `scope`, a part of `models`, contains none that is active, has a key, and can serve the request. */
export function noCandidateError(
  scope: readonly Model[],
  request: CompletionRequest,
  keys: KeyLookup,
  models: readonly Model[],
): GatewayError {
  const requirements = requirementsOf(request);
  const active = scope.filter((model) => model.isActive);
  if (active.length === 0 && scope.length > 0) return allDisabled(scope);
  const kind = requirements.find((each) => each === 'chat' || each === 'embeddings');
  if (scope !== models && kind && !active.some((model) => meets(model, kind)))
    return wrongKind(active, kind, models, keys);
  const configured = active.filter((model) => keys.isConfigured(model));
  const suitable = active.filter((model) => meetsAll(model, requirements));
  if (configured.length === 0)
    return notConfigured(missingFor(suitable.length > 0 ? suitable : active, keys));
  const callable = suitable.filter((model) => keys.isConfigured(model));
  if (callable.length > 0) return notTranslatable(request, callable);
  return unsupported(configured, requirements, missingFor(suitable, keys));
}

/** Only a model with the API of the request could serve it. */
function notTranslatable(request: CompletionRequest, callable: readonly Model[]): GatewayError {
  const features = callable
    .map((model) => unsupportedFeatures(request, model))
    .reduce((fewest, each) => (each.length < fewest.length ? each : fewest));
  return new GatewayError(
    'GATEWAY_CAPABILITY_UNSUPPORTED',
    `No configured model that the request allows supports ${joinList(features, 'and')}. Send it without, or name a model whose provider has the ${request.api} API.`,
    { details: { missing: features, envVars: [] } },
  );
}

function allDisabled(scope: readonly Model[]): GatewayError {
  const names = scope.map((model) => model.name);
  return new GatewayError(
    'GATEWAY_NOT_CONFIGURED',
    `No model is available: ${joinList(names, 'and')} ${names.length === 1 ? 'is' : 'are'} disabled. Enable one with "headworks models enable NAME".`,
    { details: { disabled: names } },
  );
}

function notConfigured(missing: MissingVariables): GatewayError {
  const remedy =
    missing.texts.length > 0
      ? `Set ${missing.texts.length === 1 ? '' : 'one of '}${joinList(missing.texts, 'or')} in the environment of the gateway and restart it, or create a model that needs no key.`
      : addModel;
  return new GatewayError('GATEWAY_NOT_CONFIGURED', `No suitable model has a key. ${remedy}`, {
    details: { envVars: missing.envVars },
  });
}

/** The named models are for chat and embeddings are requested, or the other way round. */
function wrongKind(
  named: readonly Model[],
  kind: 'chat' | 'embeddings',
  models: readonly Model[],
  keys: KeyLookup,
): GatewayError {
  const suitable = models.filter((model) => model.isActive && meets(model, kind));
  const callable = suitable.filter((model) => keys.isConfigured(model)).map((model) => model.name);
  const missing = missingFor(suitable, keys);
  const what =
    named.length === 1
      ? `is not ${kind === 'chat' ? 'a chat' : 'an embedding'} model`
      : `are not ${kind === 'chat' ? 'chat' : 'embedding'} models`;
  const quoted = named.map((model) => `"${model.name}"`);
  const remedy =
    callable.length > 0
      ? `Use ${joinList(callable, 'or')}.`
      : missing.texts.length > 0
        ? `Suitable models need ${joinList(missing.texts, 'or')} to be set.`
        : addModel;
  return new GatewayError('GATEWAY_CAPABILITY_UNSUPPORTED', `${joinList(quoted, 'and')} ${what}. ${remedy}`, {
    details: { missing: [kind], envVars: callable.length > 0 ? [] : missing.envVars },
  });
}

function unsupported(
  configured: readonly Model[],
  requirements: readonly Requirement[],
  missing: MissingVariables,
): GatewayError {
  const lacking = requirements.filter((each) => !configured.some((model) => meets(model, each)));
  const unmet = lacking.length > 0 ? lacking : requirements;
  const labels = joinList(
    unmet.map((each) => requirementLabels[each] ?? each),
    'and',
  );
  const together = lacking.length > 0 || requirements.length === 1 ? '' : ' together';
  const remedy =
    missing.texts.length > 0 ? ` Models that do need ${joinList(missing.texts, 'or')} to be set.` : '';
  const endpoint = passThroughEndpoints.find((each) => unmet.includes(each));
  if (endpoint !== undefined)
    return new GatewayError(
      'GATEWAY_CAPABILITY_UNSUPPORTED',
      `No configured model that the request allows serves /v1/${endpoint}. Name one that does, or create it with --endpoints ${endpoint}.${remedy}`,
      { details: { missing: unmet, envVars: missing.envVars } },
    );
  return new GatewayError(
    'GATEWAY_CAPABILITY_UNSUPPORTED',
    `No configured model that the request allows supports ${labels}${together}. Send it without, or name another model.${remedy}`,
    { details: { missing: unmet, envVars: missing.envVars } },
  );
}

/** What would configure one of some models: alternatives as texts, and the names of all variables. */
interface MissingVariables {
  readonly texts: readonly string[];
  readonly envVars: readonly string[];
}

function missingFor(models: readonly Model[], keys: KeyLookup): MissingVariables {
  const alternatives = models.flatMap((model) => keys.missingEnvVars(model));
  return {
    texts: [...new Set(alternatives.map((variables) => describeMissing([variables])))].sort(),
    envVars: [...new Set(alternatives.flat())].sort(),
  };
}

function joinList(words: readonly string[], conjunction: 'and' | 'or'): string {
  const shown = words.slice(0, maxListed);
  if (words.length > maxListed) shown.push(`${words.length - maxListed} more`);
  const last = shown.pop() ?? '';
  return shown.length > 0 ? `${shown.join(', ')} ${conjunction} ${last}` : last;
}
