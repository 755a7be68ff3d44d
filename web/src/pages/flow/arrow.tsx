// Arrow between two cards: horizontal on wide screens, vertical on narrow ones.
import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './flow-diagram.module.css';

export function Arrow({
  label,
  isBusy,
  isBack = false,
  isUp = false,
}: {
  readonly label: ReactNode;
  readonly isBusy: boolean;
  readonly isBack?: boolean;
  readonly isUp?: boolean;
}) {
  return (
    <div
      className={classes['arrow']}
      data-busy={isBusy || undefined}
      data-back={isBack || undefined}
      data-up={isUp || undefined}
    >
      <svg viewBox="0 0 48 12" aria-hidden className={classes['line-art']}>
        <path d="M0 6h42M36 1l6 5-6 5" fill="none" stroke="currentColor" strokeWidth="1.5" />
      </svg>
      {label === null ? null : (
        <Text size="xs" c="dimmed" ta="center">
          {label}
        </Text>
      )}
    </div>
  );
}
