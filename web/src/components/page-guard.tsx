// Error boundary of one page: a failure to load or render does not take down the whole dashboard.
import { Alert, Button, Stack, Text, Title } from '@mantine/core';
import { Component, type ReactNode } from 'react';

interface PageGuardProps {
  /** A change resets the boundary. */
  readonly address: string;
  readonly children: ReactNode;
}

export class PageGuard extends Component<PageGuardProps, { readonly hasFailed: boolean }> {
  override readonly state = { hasFailed: false };

  static getDerivedStateFromError(): { readonly hasFailed: boolean } {
    return { hasFailed: true };
  }

  override componentDidUpdate({ address }: PageGuardProps): void {
    if (address !== this.props.address && this.state.hasFailed) this.setState({ hasFailed: false });
  }

  override render(): ReactNode {
    return this.state.hasFailed ? <PageError /> : this.props.children;
  }
}

/** Usual causes: the server was updated and the page's files are gone, or the server is down. */
function PageError() {
  return (
    <Stack align="flex-start">
      <Title order={1} size="h2">
        This page failed to load
      </Title>
      <Alert color="red" role="alert">
        <Text size="sm">
          Reload it if the server was updated. If the server is down, wait until it is back.
        </Text>
      </Alert>
      <Button variant="default" onClick={() => globalThis.location.reload()}>
        Reload page
      </Button>
    </Stack>
  );
}
