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
  const hidden = isNarrow && !isOpen ? sorted.length - 1 : 0;
  return (
    <>
      {sorted.slice(0, sorted.length - Math.max(0, hidden)).map((alert) => (
        <FiringAlert key={`${alert.name} ${alert.organization_id ?? ''}`} alert={alert} />
      ))}
      {hidden > 0 ? (
        <Button size="compact-sm" variant="default" onClick={() => setOpen(true)}>
          {hidden === 1 ? '1 more alert fires' : `${hidden} more alerts fire`}
        </Button>
      ) : null}
    </>
  );
}

function FiringAlert({ alert }: { readonly alert: Firing }) {
  const [, href, words] = places.find(([name]) => alert.name.startsWith(name)) ?? [];
  return (
    <Alert color={severityColors[alert.severity]} title={alert.name} role="alert" p="xs">
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
