// The engine behind the Gateway port: choose, ask in rounds, or say why nobody answered.
import { isPassingFault } from '../failure-classes.ts';
import type { Gateway, GatewayLoad, GatewayRequest, Spoken } from '../ports.ts';
import { isOutdated } from './consequences.ts';
import { KeyRotation } from './key-rotation.ts';
import type { GatewayParts } from './parts.ts';
import { goRound } from './rounds.ts';
import { Run } from './run.ts';
import { selectCandidates } from './select-candidates.ts';
import type { Engine } from './try-model.ts';
import { verdict } from './verdict.ts';

export function createGateway(parts: GatewayParts): Gateway & { load(): GatewayLoad } {
  const engine: Engine = { ...parts, rotation: new KeyRotation(), load: { unanswered: 0, waiting: 0 } };
  return { speak: (request) => speak(engine, request), load: () => ({ ...engine.load }) };
}

async function speak(engine: Engine, request: GatewayRequest): Promise<Spoken> {
  engine.admit?.(request.caller);
  const { keys, cooldowns, scores, resting } = engine;
  const landscape = { models: engine.models(), keys, cooldowns, scores, resting };
  const candidates = selectCandidates(request.ask, request.mayFallBack, landscape);
  const run = new Run(request, candidates, engine.clock);
  let spoken: Spoken | undefined;
  engine.load.unanswered++;
  try {
    spoken = await goRound(engine, run, request.maxRetries ?? engine.policy.maxRetries);
    if (spoken) return spoken;
    throw verdict(engine, run);
  } finally {
    engine.load.unanswered--;
    // A request counts once per model, by its last outcome there; the model that spoke has its say at the end.
    for (const { failure, candidate } of run.standings)
      if (failure && candidate.model !== spoken?.model && isPassingFault(failure.failureClass))
        if (!isOutdated(engine, candidate.model)) engine.resting.failed(candidate.model.id);
  }
}
