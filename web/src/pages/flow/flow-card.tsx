// One card of the diagram: figure, limit, last 30 minutes, degradations. Links to its page.
import { Progress, Text, UnstyledButton } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { StateBadge } from '../../components/state-badge.tsx';
import { fullness } from '../../theme.ts';
import classes from './flow-diagram.module.css';
import { MinuteBars, type MinuteBarsProps } from './minute-bars.tsx';
import { numberText } from '../../components/format.ts';
import { openOf, type Degraded } from './labels.ts';

export interface FlowCardProps {
  readonly name: string;
  readonly href: string;
  readonly value: number | string;
  readonly unit: string;
  readonly degraded?: Degraded;
  /** Something is wrong that `degraded` does not count. */
  readonly isFailing?: boolean;
  /** 0 to 1, of its limit. */
  readonly share?: number | null | undefined;
  readonly bars?: MinuteBarsProps;
  /** Queue, cooldowns and similar: one line each. */
  readonly children: ReactNode;
}

const maxLines = 3;

export function FlowCard({
  name,
  href,
  value,
  unit,
  degraded = [],
  isFailing = false,
  share = null,
  bars,
  children,
}: FlowCardProps) {
  const open = openOf(degraded);
  return (
    <UnstyledButton
      component={Link}
      href={href}
      className={classes['gate']}
      data-degraded={open > 0 || isFailing || undefined}
    >
      <span className={classes['head']}>
        <Text component="span" fw={600} size="sm">
          {name}
        </Text>
        {open > 0 ? (
          <span title="Open ledger entries">
            <StateBadge tone="warning">{open} open</StateBadge>
          </span>
        ) : null}
      </span>
      <span className={classes['figure']}>
        <Text component="span" fz={26} fw={700} lh={1.1}>
          {typeof value === 'number' ? numberText(value) : value}
        </Text>
        <Text component="span" size="xs" c="dimmed">
          {unit}
        </Text>
      </span>
      {share === null ? null : <Progress value={share * 100} size="sm" color={fullness(share)} aria-hidden />}
      {bars === undefined ? null : <MinuteBars {...bars} />}
      <Text component="span" size="xs" c="dimmed" className={classes['words']}>
        {children}
        {degraded.slice(0, maxLines).map((each) => (
          <Line key={each.kind}>
            {each.kind}: {each.open}
          </Line>
        ))}
        {degraded.length > maxLines ? <Line>and {degraded.length - maxLines} other kinds</Line> : null}
      </Text>
    </UnstyledButton>
  );
}

export function Line({ children }: { readonly children: ReactNode }) {
  return <span className={classes['line']}>{children}</span>;
}
