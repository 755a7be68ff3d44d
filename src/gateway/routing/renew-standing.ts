// A request may take minutes: what was disabled, removed or replaced meanwhile is not asked as it was.
import type { CompletionRequest } from '../ports.ts';
import { endpointChanged } from '../providers/index.ts';
import type { RoutingSnapshot } from './select-candidates.ts';
import { renewedCandidate } from './select-candidates.ts';
import type { CandidateState } from './standing.ts';

/** Before each try: as the model is defined now, or `out` when it may not be asked any more. */
export function refreshCandidate(
  standing: CandidateState,
  ask: CompletionRequest,
  { models, keys }: { readonly models: () => RoutingSnapshot['models'] } & Pick<RoutingSnapshot, 'keys'>,
): void {
  const before = standing.candidate;
  const known = models();
  if (known.includes(before.model)) return;
  const renewed = renewedCandidate(before, ask, { models: known, keys });
  if (!renewed) {
    standing.state = 'out';
    return;
  }
  standing.candidate = renewed;
  if (!endpointChanged(before.model, renewed.model)) return;
  // What happened at the old place says nothing of the new one; the tries stay counted.
  standing.state = 'unasked';
  standing.failure = undefined;
  standing.held = undefined;
}
