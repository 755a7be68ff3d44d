// The engine behind the Gateway port: choose, ask in rounds, or say why nobody answered.
import { isTransientModelFault } from '../failure-classes.ts';
import type { Gateway, GatewayLoad, GatewayRequest, CompletionResult } from '../ports.ts';
import { isOutdated } from './consequences.ts';
import { KeyRotation } from './key-rotation.ts';
import type { RouterDeps } from './parts.ts';
import { runRounds } from './rounds.ts';
import { Run } from './run.ts';
import { selectCandidates } from './select-candidates.ts';
import type { Engine } from './try-model.ts';
import { verdict } from './verdict.ts';

export function createRouter(parts: RouterDeps): Gateway & { load(): GatewayLoad } {
  const engine: Engine = { ...parts, rotation: new KeyRotation(), load: { unanswered: 0, waiting: 0 } };
  return { complete: (request) => complete(engine, request), load: () => ({ ...engine.load }) };
}

async function complete(engine: Engine, request: GatewayRequest): Promise<CompletionResult> {
  engine.admit?.(request.caller);
  const { keys, cooldowns, scores, resting } = engine;
  const snapshot = { models: engine.models(), keys, cooldowns, scores, resting };
  const candidates = selectCandidates(request.ask, request.allowFallback, snapshot);
  const run = new Run(request, candidates, engine.clock);
  let completion: CompletionResult | undefined;
  engine.load.unanswered++;
  try {
    completion = await runRounds(engine, run, request.maxRetries ?? engine.policy.maxRetries);
    if (completion) return completion;
    throw verdict(engine, run);
  } finally {
    engine.load.unanswered--;
    // A request counts once per model, by its last outcome there; the model that spoke has its say at the end.
    for (const { failure, candidate } of run.candidateStates)
      if (failure && candidate.model !== completion?.model && isTransientModelFault(failure.failureClass))
        if (!isOutdated(engine, candidate.model)) engine.resting.failed(candidate.model.id);
  }
}
