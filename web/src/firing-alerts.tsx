// Alerts that fire, above every page: the gravest first. On a phone the others are behind a button, or no page would be left.
import { Alert, Anchor, Button, Text } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'wouter';
import type { AlertsAnswer } from '../../src/http/contract.ts';
import { useIsNarrow } from './parts/narrow.ts';
import { Ago } from './parts/time.tsx';

type Firing = AlertsAnswer['alerts'][number];

const severities = ['critical', 'warning', 'info'] as const;
const severityColors = { critical: 'red', warning: 'orange', info: 'blue' } as const;

/** Where something can be done about it, by the beginning of its name. */
const places: readonly (readonly [string, string, string])[] = [
  ['HeadworksKnowledgeReviewBacklog', '/knowledge/review', 'Review them'],
  ['HeadworksKnowledge', '/ledger', 'See the ledger'],
  ['HeadworksAdmission', '/tenants', 'See the tenants'],
];

export function FiringAlerts({ alerts }: { readonly alerts: readonly Firing[] }) {
  const isNarrow = useIsNarrow();
  const [isOpen, setOpen] = useState(false);
  const sorted = alerts.toSorted((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity));
  const others = isNarrow ? Math.max(0, sorted.length - 1) : 0;
  return (
    <>
      {sorted.slice(0, isOpen ? sorted.length : sorted.length - others).map((alert) => (
        <FiringAlert key={`${alert.name} ${alert.organization_id ?? ''}`} alert={alert} />
      ))}
      {others > 0 ? (
        <Button size="compact-sm" variant="default" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Only the gravest' : others === 1 ? '1 more alert fires' : `${others} more alerts fire`}
        </Button>
      ) : null}
    </>
  );
}

function FiringAlert({ alert }: { readonly alert: Firing }) {
  const [, href, words] = places.find(([name]) => alert.name.startsWith(name)) ?? [];
  return (
    <Alert
      color={severityColors[alert.severity]}
      title={alert.name}
      role="alert"
      p="xs"
      style={{ overflowWrap: 'anywhere' }}
    >
      {alert.message}{' '}
      {href === undefined ? null : (
        <Anchor component={Link} href={href} inherit c="inherit">
          {words}
        </Anchor>
      )}{' '}
      <Text span size="xs" c="dimmed">
        <Ago at={alert.since} />
      </Text>
    </Alert>
  );
}
