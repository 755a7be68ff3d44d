// State badge of a model.
import type { Model } from '../../../../src/api/models.ts';
import { Badge } from '@mantine/core';
import { Until, useNow } from '../../parts/time.tsx';
import { toneColor } from '../../theme.ts';

export function ModelState({ model }: { readonly model: Model }) {
  const now = useNow();
  if (!model.is_active) return <StateText tone="idle">disabled</StateText>;
  if (!model.is_configured) return <StateText tone="idle">no key</StateText>;
  if (model.available_at !== null && Date.parse(model.available_at) > now)
    return (
      <StateText tone="warning">
        cooling down, <Until at={model.available_at} over="now" />
      </StateText>
    );
  return <StateText tone="good">available</StateText>;
}

function StateText({
  tone,
  children,
}: {
  readonly tone: keyof typeof toneColor;
  readonly children: React.ReactNode;
}) {
  return (
    <Badge variant="light" color={toneColor[tone]} tt="none">
      {children}
    </Badge>
  );
}

/** Cause of the cooldown; null without one. */
export function coolingCause(model: Model): string | null {
  const [first] = model.cooldowns;
  if (first === undefined) return null;
  return first.reason === null ? first.cause : `${first.cause}: ${first.reason}`;
}

export const percent = (share: number): string => `${Math.round(share * 100)}%`;
export const seconds = (value: number): string =>
  value === 0 ? '–' : `${value.toFixed(value < 10 ? 2 : 0)} s`;
