// Does a model's definition mean another place than before?
import type { ModelDefinition } from '../ports.ts';

/** Then what was learned of the old place or key says nothing of the new one. */
export function endpointChanged(before: ModelDefinition, after: ModelDefinition): boolean {
  return (
    before.baseUrl !== after.baseUrl ||
    before.upstreamModel !== after.upstreamModel ||
    before.envVar !== after.envVar
  );
}
