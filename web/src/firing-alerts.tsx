// Firing alerts above every page, the most severe first, then the newest. Further ones are folded, so that the page stays
// visible.
import type { Alerts } from '../../src/api/limits.ts';
import { Alert, Anchor, Button, Text } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'wouter';
import { useIsNarrow } from './components/narrow.ts';
import { Ago } from './components/time.tsx';

type Firing = Alerts['alerts'][number];

const severities = ['critical', 'warning', 'info'] as const;
const severityColors = { critical: 'red', warning: 'orange', info: 'blue' } as const;

/** The page where the alert can be handled, by prefix of the alert's name. */
const alertPages: readonly (readonly [string, string, string])[] = [
  ['HeadworksKnowledgeReviewBacklog', '/knowledge/review', 'Open review'],
  ['HeadworksKnowledge', '/ledger', 'Open ledger'],
  ['HeadworksAdmission', '/organizations', 'Open organizations'],
  ['HeadworksModel', '/models', 'Open models'],
  ['HeadworksExtraction', '/extraction', 'Open extraction'],
  ['HeadworksLedger', '/ledger', 'Open ledger'],
  ['HeadworksRetention', '/ledger', 'Open ledger'],
];

/** How many are shown unfolded. */
const maxShown = { narrow: 1, wide: 3 } as const;

export function FiringAlerts({ alerts }: { readonly alerts: readonly Firing[] }) {
  const isNarrow = useIsNarrow();
  const [isOpen, setOpen] = useState(false);
  const sorted = alerts.toSorted(
    (a, b) =>
      severities.indexOf(a.severity) - severities.indexOf(b.severity) ||
      Date.parse(b.since) - Date.parse(a.since),
  );
  const others = Math.max(0, sorted.length - maxShown[isNarrow ? 'narrow' : 'wide']);
  return (
    <>
      {sorted.slice(0, isOpen ? sorted.length : sorted.length - others).map((alert) => (
        <FiringAlert key={`${alert.name} ${JSON.stringify(alert.labels)}`} alert={alert} />
      ))}
      {others > 0 ? (
        <Button size="compact-sm" variant="default" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Show fewer' : others === 1 ? 'Show 1 more alert' : `Show ${others} more alerts`}
        </Button>
      ) : null}
    </>
  );
}

function FiringAlert({ alert }: { readonly alert: Firing }) {
  const [, href, words] = alertPages.find(([name]) => alert.name.startsWith(name)) ?? [];
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
      <Text span size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
        <Ago at={alert.since} />
      </Text>
    </Alert>
  );
}
