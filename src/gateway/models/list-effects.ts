// What follows from a provider's list of models: which are added, changed, retired, and which come back.
import { isDeepStrictEqual } from 'node:util';
import { withoutUndefined } from '../dialects/json.ts';
import type { DiscoveryChange, ListEffects, ListedFacts, Model, ModelDefinition, Price } from '../types.ts';
import { isModelName } from './model-definition.ts';
import type { ListedModel } from './model-list.ts';
import type { DiscoverySettings, ProviderDefinition } from './provider-definition.ts';
import { features, modelDefinition } from './provider-definition.ts';

export interface ModelList {
  readonly models: readonly ListedModel[];
  /** False: there is more that was not read, so that nothing counts as missing. */
  readonly isComplete: boolean;
}

export interface ListPlan {
  readonly effects: ListEffects;
  readonly changes: readonly DiscoveryChange[];
}

/** Lists in a row that must not have a model before it is retired. */
const listsUntilRetired = 2;

/** The most embedding models, as a part of the limit for chat models. */
const embeddingsShare = 4;

/**
 * `models` are all of the gateway. Only built-in and discovered ones of the provider are affected. Models of a kind that
 * the list does not have at all (many have no embeddings) do not count as missing.
 */
export function planList(
  provider: ProviderDefinition & { readonly discovery: DiscoverySettings },
  list: ModelList,
  models: readonly Model[],
  standardLimit: number,
): ListPlan {
  const limit = provider.discovery.limit ?? standardLimit;
  const limits = { chat: limit, embeddings: Math.ceil(limit / embeddingsShare) };
  const entries = new Entries(list.models);
  const own = models.filter((model) => model.provider === provider.name);
  const candidates = rankedCandidates(provider, entries);
  const selected = select(candidates, takenNames(provider, models, own, entries), limits);
  const plan = new PlanBuilder(provider, list.isComplete ? entries.kinds : new Set());
  const isSelected = (entry: ListedModel) => selected.includes(entry);

  for (const model of own.filter(({ origin }) => origin === 'built-in')) {
    const entry = entries.find(model.upstreamModel);
    if (entry) plan.listedBuiltIn(model, entry);
    else plan.missing(model);
  }

  const discovered = own.filter(({ origin }) => origin === 'discovered');
  const unselected: { readonly model: Model; readonly entry: ListedModel }[] = [];
  for (const model of discovered) {
    const entry = entries.find(model.upstreamModel);
    if (!entry) plan.missing(model);
    else if (isSelected(entry)) plan.listed(model, entry);
    else if (!isIncluded(entry.id, provider.discovery)) plan.dropped(model, 'the settings exclude it');
    // One that was not listed for a while is back; one that better ones replaced is not.
    else if (model.retiredAt === null || model.missedLists > 0) unselected.push({ model, entry });
  }
  const rank = ({ entry }: { readonly entry: ListedModel }) => candidates.indexOf(entry) >>> 0;
  const left = { ...limits };
  for (const { model, entry } of unselected.sort((a, b) => rank(a) - rank(b))) {
    const kind = model.capabilities.embeddings ? 'embeddings' : 'chat';
    if (left[kind]-- > 0) plan.listed(model, entry);
    else plan.dropped(model, `more than ${limits[kind]} models of the list come before it`);
  }

  const known = new Set(discovered.map(({ upstreamModel }) => entries.find(upstreamModel)));
  for (const entry of selected) if (!known.has(entry)) plan.added(entry);
  return plan.result();
}

/* ---- the list ---- */

/** The entries of a list by their names. */
class Entries {
  readonly usable: readonly ListedModel[];
  /** Those that the list has. */
  readonly kinds: ReadonlySet<string>;
  readonly #byName = new Map<string, ListedModel>();

  constructor(listed: readonly ListedModel[]) {
    // The exact name wins over an alias, and that over a name without its date. Pages may overlap.
    for (const entry of listed) if (entry.kind !== 'other') this.#addIfNew(entry.id, entry);
    this.usable = [...this.#byName.values()];
    this.kinds = new Set(this.usable.map(({ kind }) => kind));
    for (const entry of this.usable) for (const alias of entry.aliases) this.#addIfNew(alias, entry);
    for (const entry of this.usable) this.#addIfNew(undated(entry.id), entry);
  }

  find(name: string): ListedModel | undefined {
    return this.#byName.get(lower(name));
  }

  #addIfNew(name: string, entry: ListedModel): void {
    if (!this.#byName.has(lower(name))) this.#byName.set(lower(name), entry);
  }
}

const lower = (name: string): string => name.toLowerCase();

/** `gpt-4o-2024-08-06`, `claude-haiku-4-5-20251001`, `mistral-small-2506`, `llama3.2:latest` without the end. */
const undated = (id: string): string => id.replace(/-\d{4}-\d{2}-\d{2}$|-\d{8}$|-\d{4}$|:latest$/, '');

/** Those that may be added, the best first: as the settings prefer, newest, with the most context. */
function rankedCandidates(
  { name, discovery }: Parameters<typeof planList>[0],
  entries: Entries,
): readonly ListedModel[] {
  const preference = (id: string) => {
    const index = discovery.prefer.findIndex((each) => matchesPattern(id, each));
    return index < 0 ? discovery.prefer.length : index;
  };
  // A dated version of a model that is listed without its date is the same one.
  const isVersion = ({ id }: ListedModel) => undated(id) !== id && entries.find(undated(id))?.id !== id;
  return entries.usable
    .filter((entry) => !entry.isDeprecated && !isVersion(entry))
    .filter(({ id }) => isModelName(`${name}/${id}`) && isIncluded(id, discovery))
    .map((entry) => ({ entry, preference: preference(entry.id) }))
    .sort(
      (a, b) =>
        a.preference - b.preference ||
        (b.entry.createdAt ?? 0) - (a.entry.createdAt ?? 0) ||
        (b.entry.contextTokens ?? 0) - (a.entry.contextTokens ?? 0),
    )
    .map(({ entry }) => entry);
}

function isIncluded(id: string, { include, exclude }: DiscoverySettings): boolean {
  const matches = (patterns: readonly string[]) => patterns.some((each) => matchesPattern(id, each));
  return (include.length === 0 || matches(include)) && !matches(exclude);
}

/** `*` stands for any text; case does not matter. Takes linear time. */
export function matchesPattern(name: string, pattern: string): boolean {
  const text = lower(name);
  const [first = '', ...rest] = lower(pattern).split('*');
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let position = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, position);
    if (found < 0) return false;
    position = found + part.length;
  }
  return text.length - last.length >= position && text.endsWith(last);
}

/** Names that are not to be added: models of other origins have them. */
function takenNames(
  { name }: ProviderDefinition,
  models: readonly Model[],
  own: readonly Model[],
  entries: Entries,
): Set<string> {
  const taken = new Set<string>();
  for (const { upstreamModel, origin } of own) {
    if (origin === 'discovered') continue;
    taken.add(lower(upstreamModel));
    const entry = entries.find(upstreamModel);
    for (const each of entry ? [entry.id, ...entry.aliases] : []) taken.add(lower(each));
  }
  const prefix = `${name}/`;
  for (const model of models)
    if (!own.includes(model) && model.name.startsWith(prefix))
      taken.add(lower(model.name.slice(prefix.length)));
  return taken;
}

function select(
  candidates: readonly ListedModel[],
  taken: Set<string>,
  limits: Readonly<Record<'chat' | 'embeddings', number>>,
): readonly ListedModel[] {
  const left = { ...limits, other: 0 };
  return candidates.filter(({ id, aliases, kind }) => {
    const names = [id, ...aliases].map(lower);
    if (left[kind] <= 0 || names.some((each) => taken.has(each))) return false;
    left[kind]--;
    for (const each of names) taken.add(each);
    return true;
  });
}

/* ---- the effects ---- */

class PlanBuilder {
  readonly #provider: ProviderDefinition;
  /** Models of these kinds count as missing when they are not listed. */
  readonly #kinds: ReadonlySet<string>;
  readonly #definitions: ModelDefinition[] = [];
  readonly #facts: { readonly id: number; readonly facts: ListedFacts }[] = [];
  readonly #states: ListEffects['states'][number][] = [];
  readonly #changes: DiscoveryChange[] = [];

  constructor(provider: ProviderDefinition, kinds: ReadonlySet<string>) {
    this.#provider = provider;
    this.#kinds = kinds;
  }

  added(entry: ListedModel): void {
    const definition = definitionOf(this.#provider, entry);
    this.#definitions.push(definition);
    this.#change(definition, 'added', descriptionOf(definition));
  }

  /** A discovered model that is listed. */
  listed(model: Model, entry: ListedModel): void {
    this.#isListed(model);
    const definition = { ...definitionOf(this.#provider, entry, model), name: model.name };
    const difference = differenceBetween(model, definition);
    if (difference === '') return;
    this.#definitions.push({ ...definition, upstreamModel: model.upstreamModel });
    this.#change(model, 'changed', difference);
  }

  /** Of a built-in model the list decides sizes and price only. */
  listedBuiltIn(model: Model, { contextTokens, maxOutputTokens, price }: ListedModel): void {
    this.#isListed(model);
    const stated = withoutUndefined({
      contextTokens: contextTokens ?? undefined,
      maxOutputTokens: maxOutputTokens ?? undefined,
    });
    const after = {
      ...model,
      capabilities: { ...model.capabilities, ...stated },
      price: price ?? model.price,
    };
    const difference = differenceBetween(model, after);
    if (difference === '') return;
    this.#facts.push({ id: model.id, facts: { capabilities: stated, ...(price ? { price } : {}) } });
    this.#change(model, 'changed', difference);
  }

  missing(model: Model): void {
    const kind = model.capabilities.embeddings ? 'embeddings' : 'chat';
    if (!this.#kinds.has(kind) || model.retiredAt !== null) return;
    const missedLists = model.missedLists + 1;
    const isRetired = missedLists >= listsUntilRetired;
    this.#states.push({ id: model.id, missedLists, isRetired });
    if (isRetired) this.#change(model, 'retired', `${missedLists} lists in a row do not have it`);
    else this.#change(model, 'missing', 'if the next list does not have it either, it is retired');
  }

  dropped(model: Model, reason: string): void {
    if (model.retiredAt !== null) return;
    this.#states.push({ id: model.id, missedLists: 0, isRetired: true });
    this.#change(model, 'retired', reason);
  }

  result(): ListPlan {
    return {
      effects: { definitions: this.#definitions, facts: this.#facts, states: this.#states },
      changes: this.#changes,
    };
  }

  #isListed(model: Model): void {
    if (model.retiredAt === null && model.missedLists === 0) return;
    this.#states.push({ id: model.id, missedLists: 0, isRetired: false });
    if (model.retiredAt !== null) this.#change(model, 'returned', 'it is listed again');
  }

  #change({ name }: ModelDefinition, change: DiscoveryChange['change'], detail: string): void {
    this.#changes.push({ model: name, change, detail });
  }
}

/** `known`: what the list stated before, and does not now, stays. */
function definitionOf(provider: ProviderDefinition, entry: ListedModel, known?: Model): ModelDefinition {
  const { id, kind, contextTokens, maxOutputTokens, price } = entry;
  const { capabilities } = known ?? {};
  return modelDefinition(provider, {
    model: id,
    supports: features.filter((each) => entry.features[each] ?? provider.supports.includes(each)),
    isEmbedding: kind === 'embeddings',
    contextTokens: contextTokens ?? capabilities?.contextTokens ?? null,
    maxOutputTokens: maxOutputTokens ?? capabilities?.maxOutputTokens ?? null,
    quotas: {},
    price: price ?? known?.price ?? null,
    timeouts: {},
  });
}

/* ---- texts ---- */

const priceText = (price: Price | null): string =>
  price === null
    ? 'price unknown'
    : `$${price.inputPerMillion} / $${price.outputPerMillion} per million tokens`;

const tokensText = (tokens: number | null): string => (tokens === null ? 'unknown' : String(tokens));

function descriptionOf({ capabilities, price }: ModelDefinition): string {
  const kind = capabilities.embeddings ? 'embeddings' : 'chat';
  return `${kind}, context ${tokensText(capabilities.contextTokens)}, ${priceText(price)}`;
}

/** Empty: none. */
function differenceBetween(before: ModelDefinition, after: ModelDefinition): string {
  const [old, now] = [before.capabilities, after.capabilities];
  const flags = features.filter((each) => old[each] !== now[each]);
  return [
    isDeepStrictEqual(before.price, after.price)
      ? ''
      : `price: ${priceText(before.price)} → ${priceText(after.price)}`,
    old.contextTokens === now.contextTokens
      ? ''
      : `context: ${tokensText(old.contextTokens)} → ${tokensText(now.contextTokens)}`,
    old.maxOutputTokens === now.maxOutputTokens
      ? ''
      : `output: ${tokensText(old.maxOutputTokens)} → ${tokensText(now.maxOutputTokens)}`,
    ...flags.map((each) => `${each}: ${now[each] ? 'yes' : 'no'}`),
  ]
    .filter((part) => part !== '')
    .join(', ');
}
