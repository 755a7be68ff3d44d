// Where a model stands in the order in which models are asked, and why.
import { parseRequest } from '../calling/index.ts';
import type { ModelExplanation, ModelView } from '../desk-ports.ts';
import type { Model } from '../ports.ts';
import { modelIdentity } from '../providers/index.ts';
import type { RoutingSnapshot } from '../routing/index.ts';
import { selectCandidates } from '../routing/index.ts';

/** For a plain request with `auto`; models for embeddings stand among the providers of the very same model. */
export function placeOf(
  model: Model,
  view: ModelView,
  snapshot: RoutingSnapshot,
): Pick<ModelExplanation, 'position' | 'positionReason'> {
  const never = (positionReason: string) => ({ position: null, positionReason });
  if (!view.isActive) return never('it is disabled.');
  if (!view.isConfigured) return never(`it has no key: ${view.needs ?? 'its variable'} must be set.`);
  if (view.availableAt !== null) return never(unavailable(view.availableAt.toISOString(), causesOf(view)));
  const order = orderFor(model, snapshot);
  const index = order.findIndex(({ id }) => id === model.id);
  return { position: index + 1, positionReason: reasonOf(order, index, snapshot) };
}

/** Never without the model itself: it is active, has a key and can do what is asked here. */
function orderFor(model: Model, snapshot: RoutingSnapshot): readonly Model[] {
  const isEmbedding = model.capabilities.embeddings;
  const body = { model: 'auto', input: 'x', messages: [{ role: 'user', content: 'x' }] };
  const ask = parseRequest(isEmbedding ? 'embeddings' : 'chat', Buffer.from(JSON.stringify(body)));
  const rivals = isEmbedding
    ? snapshot.models.filter(
        (each) => modelIdentity(each.upstreamModel) === modelIdentity(model.upstreamModel),
      )
    : snapshot.models;
  return selectCandidates(ask, true, { ...snapshot, models: rivals }).map((candidate) => candidate.model);
}

const unavailable = (until: string, causes: string): string =>
  causes === 'quota' ? `its quota is used up until ${until}.` : `it cools down until ${until} (${causes}).`;

const causesOf = ({ cooldowns }: ModelView): string =>
  [...new Set(cooldowns.map(({ cause }) => cause))].join(', ');

function reasonOf(order: readonly Model[], index: number, { scores, resting }: RoutingSnapshot): string {
  const scoreOf = (model: Model | undefined) => (model ? scores.of(model.id).effectiveScore : 0);
  const [model, above] = [order[index], order[index - 1]];
  const own = scoreOf(model).toFixed(4);
  if (!above)
    return order.some((each) => scoreOf(each) > scoreOf(model))
      ? `its score is ${own}; those with a higher one cool down, or failed several times in a row.`
      : `no model that could be asked has a higher score than its ${own}.`;
  const isBehindForRest = model && resting.isBackedOff(model.id) && !resting.isBackedOff(above.id);
  return isBehindForRest
    ? `its last requests failed one after the other, so it is asked after all others for a while.`
    : `its score is ${own}; before it comes ${above.name} with ${scoreOf(above).toFixed(4)}.`;
}
