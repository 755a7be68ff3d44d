// Around a page: what goes wrong while it is drawn or loaded costs that page, not the whole dashboard.
import { Alert, Button, Stack, Text, Title } from '@mantine/core';
import { Component, type ReactNode } from 'react';

interface PageGuardProps {
  /** Another one is another try. */
  readonly place: string;
  readonly children: ReactNode;
}

export class PageGuard extends Component<PageGuardProps, { readonly hasFailed: boolean }> {
  override readonly state = { hasFailed: false };

  static getDerivedStateFromError(): { readonly hasFailed: boolean } {
    return { hasFailed: true };
  }

  override componentDidUpdate({ place }: PageGuardProps): void {
    if (place !== this.props.place && this.state.hasFailed) this.setState({ hasFailed: false });
  }

  override render(): ReactNode {
    return this.state.hasFailed ? <Broken /> : this.props.children;
  }
}

/** Usually the server was updated and the files of the page that is open are gone, or it does not answer. */
function Broken() {
  return (
    <Stack align="flex-start">
      <Title order={1} size="h2">
        This page cannot be shown
      </Title>
      <Alert color="red" role="alert">
        <Text size="sm">
          It could not be loaded, or failed while it was drawn. After an update of the server, loading it
          again helps; while the server does not answer, wait until it does.
        </Text>
      </Alert>
      <Button variant="default" onClick={() => globalThis.location.reload()}>
        Load it again
      </Button>
    </Stack>
  );
}
