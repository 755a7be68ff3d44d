// Where a model stands in the order in which models are asked, and why.
import { readAsk } from '../calling/index.ts';
import type { ModelExplanation, ModelView } from '../desk-ports.ts';
import type { Model } from '../ports.ts';
import type { Landscape } from '../routing/index.ts';
import { selectCandidates } from '../routing/index.ts';

/** For a plain request with `auto`; embedding models among the providers of the very same model. */
export function placeOf(
  model: Model,
  view: ModelView,
  landscape: Landscape,
): Pick<ModelExplanation, 'place' | 'placeReason'> {
  const never = (placeReason: string) => ({ place: null, placeReason });
  if (!view.isActive) return never('it is disabled.');
  if (!view.isConfigured)
    return never(`it has no key${view.envVar === null ? '' : `: ${view.envVar} is not set`}.`);
  if (view.availableAt !== null)
    return never(`it cools down until ${view.availableAt.toISOString()} (${causesOf(view)}).`);
  const isEmbedding = model.capabilities.embeddings;
  const body = isEmbedding
    ? { model: model.upstreamModel, input: 'x' }
    : { model: 'auto', messages: [{ role: 'user', content: 'x' }] };
  const ask = readAsk(isEmbedding ? 'embeddings' : 'chat', Buffer.from(JSON.stringify(body)));
  const order = selectCandidates(ask, true, landscape).map((candidate) => candidate.model);
  const index = order.findIndex(({ id }) => id === model.id);
  const above = order[index - 1];
  return { place: index + 1, placeReason: reasonOf(model, above, landscape) };
}

const causesOf = ({ cooldowns }: ModelView): string =>
  [...new Set(cooldowns.map(({ cause }) => cause))].join(', ');

function reasonOf(model: Model, above: Model | undefined, { scores, resting }: Landscape): string {
  const score = (of: Model) => scores.of(of.id).effectiveScore.toFixed(4);
  if (!above) return `no model that can be asked now has a higher score than its ${score(model)}.`;
  const isBehindForRest = resting.isResting(model.id) && !resting.isResting(above.id);
  return isBehindForRest
    ? `its last requests failed one after the other, so it is asked after all others for a while.`
    : `its score is ${score(model)}; before it comes ${above.name} with ${score(above)}.`;
}
