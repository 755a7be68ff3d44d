// Which keys may not be used now, as people see it: those that cool down, and those whose quota is used up by our count.
import type { Clock } from '../../core/index.ts';
import type { Cooldowns, ProviderKeys, Model, Cooldown, QuotaKeeper } from '../ports.ts';

export interface BlockedKeysDeps {
  readonly clock: Clock;
  readonly keys: ProviderKeys;
  readonly quotas: Pick<QuotaKeeper, 'usedUpUntil'>;
  readonly cooldowns: SeenCooldowns;
}

export interface SeenCooldowns extends Pick<Cooldowns, 'of'> {
  /** All of the model's that are not over. */
  ofModel(modelId: number): readonly Cooldown[];
}

/** A quota that is used up looks like a cooldown until it has room for a call again: cause and source are `quota`. */
export async function blockedKeys(models: readonly Model[], parts: BlockedKeysDeps): Promise<SeenCooldowns> {
  const { cooldowns, keys } = parts;
  const pairs = models.flatMap((model) => keys.keysOf(model).map(({ id }) => [model, id] as const));
  const looks = await Promise.all(pairs.map(([model, keyId]) => usedUp(model, keyId, parts)));
  const byModel = Map.groupBy(
    looks.filter((found) => found !== undefined),
    ({ modelId }) => modelId,
  );
  return {
    of: (modelId, keyId) =>
      laterOf(
        cooldowns.of(modelId, keyId),
        byModel.get(modelId)?.find((each) => each.keyId === keyId),
      ),
    ofModel: (modelId) => [...cooldowns.ofModel(modelId), ...(byModel.get(modelId) ?? [])],
  };
}

async function usedUp(
  model: Model,
  keyId: string,
  { clock, quotas }: BlockedKeysDeps,
): Promise<Cooldown | undefined> {
  const until = await quotas.usedUpUntil(model, keyId);
  if (until === null) return undefined;
  return {
    modelId: model.id,
    keyId,
    until,
    cause: 'quota',
    source: 'quota',
    reason: null,
    setAt: clock.now(),
  };
}

function laterOf(one: Cooldown | undefined, other: Cooldown | undefined) {
  if (!one || !other) return one ?? other;
  return other.until > one.until ? other : one;
}
