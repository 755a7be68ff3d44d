// Title, sections, and loading, empty and error states of every page.
import { Alert, Anchor, Button, Center, Group, Loader, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { IconAlertTriangle, IconPlugConnectedX } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { ApiError } from '../api/client.ts';

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
          <Text c="dimmed" ta="center" component="div">
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
  const isGone = error instanceof ApiError && error.kind === 'gone';
  // Not an error of the server: the resource does not exist, and the message says what to do.
  const isCalm = isGone || (error instanceof ApiError && error.code === 'NOT_FOUND');
  const requestId = error instanceof ApiError ? error.requestId : null;
  return (
    <Alert
      color={isCalm ? 'gray' : 'red'}
      icon={isGone ? <IconPlugConnectedX /> : <IconAlertTriangle />}
      title={isGone ? 'The server is not responding' : `Could not load ${what}`}
      role="alert"
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          {isGone
            ? `Could not load ${what}. This page reloads when the server is back.`
            : error instanceof Error
              ? error.message
              : String(error)}
        </Text>
        {requestId === null || isCalm ? null : (
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
  return isEmpty?.(query.data) ? <>{empty}</> : <>{children(query.data)}</>;
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
    Back to Flow
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
