// What a page shows when it has nothing to show yet, nothing at all, or cannot get it.
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
        <Text c="dimmed">Reading {what} …</Text>
      </Group>
    </Center>
  );
}

export interface EmptyProps {
  readonly title: string;
  /** What would bring something here. */
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
  // Nothing is broken: it is not there, and the sentence says what to do.
  const isCalm = isGone || (error instanceof ApiError && error.code === 'NOT_FOUND');
  const requestId = error instanceof ApiError ? error.requestId : null;
  return (
    <Alert
      color={isCalm ? 'gray' : 'red'}
      icon={isGone ? <IconPlugConnectedX /> : <IconAlertTriangle />}
      title={isGone ? 'The server does not answer' : `Cannot read ${what}`}
      role="alert"
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          {isGone
            ? `Cannot read ${what} until it is back. This page goes on by itself then.`
            : error instanceof Error
              ? error.message
              : String(error)}
        </Text>
        {requestId === null || isCalm ? null : (
          <Text size="xs" c="dimmed">
            Request {requestId}; the server's log has it.
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

/** One of the three above, or what `children` makes of the data. What was read before stays while it is read again. */
export function Shown<T>({
  what,
  title,
  query,
  isEmpty,
  empty,
  children,
}: {
  readonly what: string;
  /** Of a page that has its heading from the data: what it is called without. */
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

const back = (
  <Anchor component={Link} href="/">
    Back to the flow
  </Anchor>
);

export function NotFound() {
  return (
    <>
      <PageTitle>There is no such page</PageTitle>
      {back}
    </>
  );
}

/** Under the heading of a page that has one. */
export function NotFoundWithin() {
  return <Empty title="There is no such page">{back}</Empty>;
}

/** The page's heading, and what its tab is called. */
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
