// Title, sections, and loading, empty and error states of every page.
import { Alert, Anchor, Button, Center, Group, Loader, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { IconAlertTriangle, IconPlugConnectedX } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { ApiError } from '../api/client.ts';
import { Ago } from './time.tsx';

export function Loading({ what }: { readonly what: string }) {
  return (
    <Center mih={160} role="status" aria-live="polite">
      <Group gap="sm">
        <Loader size="sm" aria-hidden />
        <Text c="dimmed">Loading {what}…</Text>
      </Group>
    </Center>
  );
}

export interface EmptyProps {
  readonly title: string;
  /** How to get data here. */
  readonly children?: ReactNode;
}

export function Empty({ title, children }: EmptyProps) {
  return (
    <Center mih={160} p="md">
      <Stack gap={4} align="center" maw={520}>
        <Text fw={600}>{title}</Text>
        {children === undefined ? null : (
          <Text c="dimmed" ta="center" component="div" className="empty-text">
            {children}
          </Text>
        )}
      </Stack>
    </Center>
  );
}

export function Failed({
  what,
  error,
  retry,
}: {
  readonly what: string;
  readonly error: unknown;
  readonly retry?: () => void;
}) {
  const isUnreachable = error instanceof ApiError && error.kind === 'unreachable';
  // Not an error of the server: the resource does not exist, and the message says what to do.
  const isExpected = isUnreachable || (error instanceof ApiError && error.kind === 'not-found');
  const requestId = error instanceof ApiError ? error.requestId : null;
  return (
    <Alert
      color={isExpected ? 'gray' : 'red'}
      icon={isUnreachable ? <IconPlugConnectedX /> : <IconAlertTriangle />}
      title={isUnreachable ? 'The server is not responding' : `Could not load ${what}`}
      role="alert"
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          {isUnreachable
            ? `Could not load ${what}. This page reloads when the server is back.`
            : error instanceof Error
              ? error.message
              : String(error)}
        </Text>
        {requestId === null || isExpected ? null : (
          <Text size="xs" c="dimmed">
            Request {requestId}. Search for it in the server's log.
          </Text>
        )}
        {retry ? (
          <Button size="xs" variant="default" onClick={retry}>
            Try again
          </Button>
        ) : null}
      </Stack>
    </Alert>
  );
}

/** Loading, error or empty state, or `children` with the data. Keeps showing data while it is refetched. */
export function Shown<T>({
  what,
  title,
  query,
  isEmpty,
  empty,
  children,
}: {
  readonly what: string;
  /** Title while the page's own title, which comes from the data, is not loaded. */
  readonly title?: string;
  readonly query: UseQueryResult<T>;
  readonly isEmpty?: (data: T) => boolean;
  readonly empty?: ReactNode;
  readonly children: (data: T) => ReactNode;
}) {
  if (query.data === undefined)
    return query.isError ? (
      <>
        {title === undefined ? null : <PageTitle>{title}</PageTitle>}
        <Failed what={what} error={query.error} retry={() => void query.refetch()} />
      </>
    ) : (
      <Loading what={what} />
    );
  return (
    <>
      {query.isError ? <Outdated what={what} query={query} /> : null}
      {isEmpty?.(query.data) ? empty : children(query.data)}
    </>
  );
}

/** Alert above data that could not be refetched. While the server does not respond at all, the shell shows an alert. */
function Outdated({ what, query }: { readonly what: string; readonly query: UseQueryResult }) {
  const { error, dataUpdatedAt } = query;
  if (error === null || (error instanceof ApiError && error.kind === 'unreachable')) return null;
  return (
    <Alert color="red" title={`Could not refresh ${what}`} role="alert" p="xs" mb="sm">
      {error.message} Last updated <Ago at={new Date(dataUpdatedAt).toISOString()} />.
    </Alert>
  );
}

export interface SectionProps {
  readonly title: string;
  /** Level of the heading. */
  readonly order?: 2 | 3;
  readonly right?: ReactNode;
  readonly children: ReactNode;
}

export function Section({ title, order = 2, right, children }: SectionProps) {
  return (
    <section>
      <Group justify="space-between" mb="xs">
        <Title order={order} size={order === 2 ? 'h4' : 'h5'}>
          {title}
        </Title>
        {right}
      </Group>
      {children}
    </section>
  );
}

const back = (
  <Anchor component={Link} href="/">
    Back to Data flow
  </Anchor>
);

export function NotFound() {
  return (
    <>
      <PageTitle>Page not found</PageTitle>
      {back}
    </>
  );
}

/** Below the title of an existing page. */
export function NotFoundWithin() {
  return <Empty title="Page not found">{back}</Empty>;
}

/** The page's heading and document title. */
export function PageTitle({ children, right }: { readonly children: string; readonly right?: ReactNode }) {
  useDocumentTitle(`${children} · Headworks`);
  return (
    <Group justify="space-between" mb="md" gap="sm">
      <Title order={1} size="h2" style={{ overflowWrap: 'anywhere' }}>
        {children}
      </Title>
      {right}
    </Group>
  );
}
