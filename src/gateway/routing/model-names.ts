// The names in the field `model` of a request: a model's own, its provider's for it, aliases, `auto`.
import { CoreError } from '../../core/index.ts';
import { autoModel } from '../dialects/dialect.ts';
import { modelIdentity } from '../models/catalog.ts';
import { maxNames } from '../options.ts';
import type { Model } from '../types.ts';
import { aliasNotFound, modelNameNotFound } from './no-candidate.ts';

/** What the settings say about names. */
export interface NameSettings {
  /** Names that callers send, and the models they stand for, in order. An alias takes precedence over a model. */
  readonly aliases: ReadonlyMap<string, readonly string[]>;
  /** Names of models that come before the others, in this order. */
  readonly modelOrder: readonly string[];
}

/** The models that each name refers to, in the order of the names. */
export type NamedModels = readonly (readonly Model[])[];

export interface RequestedModels {
  readonly named: NamedModels;
  /** `auto` is among the names. */
  readonly acceptsAny: boolean;
}

export const identityOf = ({ upstreamModel }: Model): string => modelIdentity(upstreamModel);

/** Fails with INPUT_INVALID or GATEWAY_MODEL_NOT_FOUND. */
export function requestedModels(
  written: string,
  models: readonly Model[],
  { aliases }: NameSettings,
): RequestedModels {
  const named: (readonly Model[])[] = [];
  let acceptsAny = false;
  for (const name of parseNames(written)) {
    const alias = aliases.get(name);
    if (alias) {
      const found = alias.map((each) => findModels(each, models)).filter((each) => each.length > 0);
      const hasAuto = alias.includes(autoModel);
      // Its other models may have been removed, or be added later.
      if (found.length === 0 && !hasAuto) throw aliasNotFound(name, alias);
      acceptsAny ||= hasAuto;
      named.push(...found);
    } else if (name === autoModel) acceptsAny = true;
    else {
      const found = findModels(name, models);
      if (found.length === 0) throw modelNameNotFound(name, models, [...aliases.keys()]);
      named.push(found);
    }
  }
  return { named, acceptsAny };
}

/** Each once, in the given order. */
function parseNames(written: string): readonly string[] {
  if (!written.includes(',')) return [written.trim() || autoModel];
  const names = written.split(',', maxNames + 1);
  if (names.length > maxNames)
    throw invalidModel(`has more than ${maxNames} names; "${autoModel}" selects from all models`);
  const given = new Set(names.map((name) => name.trim()));
  given.delete('');
  if (given.size === 0) throw invalidModel(`has commas and no name; "${autoModel}" selects the best model`);
  return [...given];
}

export function invalidModel(problem: string): CoreError {
  return new CoreError('INPUT_INVALID', `The field "model" of the request ${problem}.`, {
    details: { field: 'model' },
  });
}

/** The list of models is the same object until a model changes. */
const nameIndexes = new WeakMap<readonly Model[], ReadonlyMap<string, Model>>();

function byName(models: readonly Model[]): ReadonlyMap<string, Model> {
  let index = nameIndexes.get(models);
  if (!index) nameIndexes.set(models, (index = new Map(models.map((model) => [model.name, model]))));
  return index;
}

/** A model's own name refers to it alone; a provider's name for it to all that offer it. Empty for an unknown name. */
function findModels(name: string, models: readonly Model[]): readonly Model[] {
  const exact = byName(models).get(name);
  return exact ? [exact] : models.filter((model) => identityOf(model) === modelIdentity(name));
}

/** The models that a request names; all where it names none that exists. Never throws. */
export function likelyModels(
  written: string,
  models: readonly Model[],
  { aliases }: Pick<NameSettings, 'aliases'>,
): readonly Model[] {
  const names = written.split(',', maxNames).flatMap((name) => aliases.get(name.trim()) ?? [name.trim()]);
  const named = names.flatMap((name) => findModels(name, models));
  return named.length > 0 ? named : models;
}

/** The names in a request's `model` that refer to no model. */
export function unknownNames(
  written: string,
  models: readonly Model[],
  aliases: NameSettings['aliases'],
): readonly string[] {
  const isKnown = (name: string) =>
    name === '' || name === autoModel || aliases.has(name) || findModels(name, models).length > 0;
  return written
    .split(',')
    .map((name) => name.trim())
    .filter((name) => !isKnown(name));
}

/** The aliases that stand for the model, not counting `auto`. */
export function aliasesOf(
  model: Model,
  models: readonly Model[],
  { aliases }: NameSettings,
): readonly string[] {
  return [...aliases].flatMap(([alias, names]) =>
    names.some((name) => findModels(name, models).includes(model)) ? [alias] : [],
  );
}

/** Position of the model in the configured order, from 0; infinite when that does not name it. */
export function orderOf(model: Model, { modelOrder }: NameSettings): number {
  const index = modelOrder.findIndex(
    (name) => name === model.name || modelIdentity(name) === identityOf(model),
  );
  return index < 0 ? Number.POSITIVE_INFINITY : index;
}

/** Names in the settings that refer to no model, by setting. Models may be added later, so they are no error. */
export function unknownInSettings(
  { aliases, modelOrder }: NameSettings,
  models: readonly Model[],
): readonly { readonly setting: string; readonly names: string }[] {
  const settings = [
    ...[...aliases].map(([alias, names]) => ({ setting: `gateway.aliases.${alias}`, names })),
    { setting: 'gateway.modelOrder', names: modelOrder },
  ];
  return settings.flatMap(({ setting, names }) => {
    const unknown = unknownNames(names.join(','), models, new Map());
    return unknown.length === 0 ? [] : [{ setting, names: unknown.join(', ') }];
  });
}
